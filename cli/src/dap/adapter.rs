//! The state of a debug adapter.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use ubp::{Options, Pid, Session, Signal, Tid};
use ubp_symbols::Images;
use ubp_symbols::files::Fetch;

use super::breakpoints::Wanted;
use super::exceptions::Exceptions;
use super::pipe::Pipe;
use super::program::Program;
use super::refusal::Refusal;
use super::shown::Shown;
use super::start_options::Start;
use super::step::Step;
use super::stop::Stop;
use super::watches::Watches;
use crate::failure::{Failure, Result};
use crate::heritage::Heritage;

/// A debugger, with the programs that it debugs.
pub(crate) struct Adapter {
    pub(super) session: Session,
    pub(super) images: Images,
    pub(super) heritage: Heritage,
    pub(super) programs: BTreeMap<Pid, Program>,
    pub(super) start: Start,
    pub(super) wanted: Wanted,
    pub(super) exceptions: Exceptions,
    pub(super) watches: Watches,
    /// Stops that the client does not know yet.
    pub(super) pending: VecDeque<Stop>,
    /// Whether threads run, as far as the client knows.
    pub(super) is_running: bool,
    /// The threads that step.
    pub(super) steps: HashMap<Tid, Step>,
    /// Signals that arrived while the client looks at the stopped program, and that it does not want to see.
    pub(super) owed: HashMap<Tid, Signal>,
    /// What the client knows of the stopped threads.
    pub(super) shown: Shown,
    /// Events for the client, behind the answer to its request.
    pub(super) outbox: Vec<Value>,
    /// What programs write.
    pub(super) pipes: Vec<Pipe>,
    /// The clock of events when the adapter began.
    pub(super) began: Duration,
    pub(super) has_ended: bool,
}

impl Adapter {
    /// A debugger without programs. `fetch` brings debug files that this machine does not have.
    ///
    /// # Errors
    /// The calling thread cannot trace.
    pub(crate) fn new(heritage: Heritage, fetch: Option<Fetch>) -> Result<Adapter> {
        let mut options = Options::default();
        options.vforks = true;
        let mut images = Images::default();
        fetch.into_iter().for_each(|fetch| images.fetch_by(fetch));
        let began = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
        Ok(Adapter {
            session: Session::with_options(options).map_err(Failure::trace)?,
            images,
            heritage,
            programs: BTreeMap::new(),
            start: Start::default(),
            wanted: Wanted::default(),
            exceptions: Exceptions::default(),
            watches: Watches::default(),
            pending: VecDeque::new(),
            is_running: false,
            steps: HashMap::new(),
            owed: HashMap::new(),
            shown: Shown::default(),
            outbox: Vec::new(),
            pipes: Vec::new(),
            began: began.map_err(|error| Failure::own(format!("clock_gettime: {error}")))?,
            has_ended: false,
        })
    }

    /// Queues an event for the client.
    pub(super) fn tell(&mut self, name: &str, body: Value) {
        self.outbox.push(json!({ "type": "event", "event": name, "body": body }));
    }

    /// Shows a line on the client's console.
    pub(super) fn say(&mut self, text: &str) {
        self.tell("output", json!({ "category": "console", "output": format!("{text}\n") }));
    }

    /// The threads that the client sees.
    pub(super) fn all_threads(&self) -> Vec<(Pid, Tid)> {
        let seen = self.programs.iter().filter(|(_, program)| !program.is_leaving);
        let processes = seen.filter_map(|(&pid, _)| self.session.process(pid));
        processes.flat_map(|process| process.threads().map(move |tid| (process.pid(), tid))).collect()
    }

    /// The process of a thread that the client names.
    pub(super) fn process_of(&self, thread: i64) -> Result<(Pid, Tid), Refusal> {
        let tid = i32::try_from(thread).map(Tid).map_err(|_| Refusal::new(format!("there is no thread {thread}")))?;
        let all = self.all_threads();
        all.into_iter()
            .find(|(_, known)| *known == tid)
            .ok_or_else(|| Refusal::new(format!("there is no thread {thread}")))
    }
}
