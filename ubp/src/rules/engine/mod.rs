//! Carries rules out.

mod act;
mod arm;
mod sums;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub use self::sums::Reading;
use self::sums::Sums;
use super::group::Membership;
use super::occurrence::Occurrence;
use super::reader::Reader;
use super::rule::{On, RuleSet};
use super::vocabulary::Kind;
use crate::core::Seen;
use crate::{Address, BreakpointId, Error, Event, EventKind, InsertError, Pid, Result, Session, Syscalls, Tid};

/// A set of rules that is carried out for a session, where its events arise: in the tracer.
///
/// [`Rules::wait`] waits for an event and carries the rules out. A program with an event loop of its own calls [`Rules::react`] for each event.
///
/// ```no_run
/// use ubp::rules::{Action, Filter, Group, Kind, Members, On, Payload, Rule, RuleSet, Rules};
/// use ubp::{Command, Options, Session};
///
/// # fn main() -> ubp::Result<()> {
/// let group = Group { name: "all".into(), members: Members::All };
/// let rule = Rule::new("ends", "all", On::Kind(Kind::Exited)).act(Action::Record(Payload::default()));
/// let set = RuleSet { groups: vec![group], rules: vec![rule], ..RuleSet::default() };
/// let mut session = Session::with_options(set.options(Options::default()))?;
/// let mut rules = Rules::new(set)?;
/// let pid = session.spawn(Command::new("/bin/true"))?;
/// rules.adopt(&mut session, pid)?;
/// session.resume(pid.leader())?;
/// while let Some(reaction) = rules.wait(&mut session)? {
///     for occurrence in reaction.occurrences {
///         println!("{} {:?}", occurrence.sequence, occurrence.kind);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Rules {
    set: Arc<RuleSet>,
    /// The numbers of the rules, the most constrained first.
    order: Vec<usize>,
    names: Vec<Arc<str>>,
    /// What each rule has seen.
    seen: Vec<Seen>,
    sums: Vec<Sums>,
    membership: Membership,
    processes: HashMap<Pid, Known>,
    /// The threads that rules hold.
    held: HashSet<(Pid, Tid)>,
    sequence: u64,
}

/// What is known of a process.
#[derive(Clone, Debug, Default)]
struct Known {
    executable: Vec<u8>,
    /// The breakpoints, each with the number of its rule.
    breakpoints: HashMap<BreakpointId, (usize, Address)>,
    /// The rules whose breakpoints are wanted.
    armed: HashSet<usize>,
    /// The addresses of named places.
    found: HashMap<String, Vec<Address>>,
    /// The system calls that were requested.
    requested: Option<Syscalls>,
}

/// What the rules did on an event.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Reaction {
    /// What rules recorded.
    pub occurrences: Vec<Occurrence>,
    /// A rule holds the event's thread: do not resume it.
    pub hold: bool,
    /// A rule detached from the event's process: there is nothing to resume.
    pub detached: bool,
    /// A rule asks the session's user to look at once.
    pub wake: bool,
    /// Breakpoints and watchpoints that rules could not set.
    pub refused: Vec<Refused>,
}

/// What a rule could not set.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refused {
    /// A breakpoint.
    Breakpoint(InsertError),
    /// A watchpoint.
    Watch(Error),
}

impl Rules {
    /// Rules that have seen nothing.
    ///
    /// # Errors
    /// [`Error::Rules`] if the set means nothing or exceeds a bound.
    pub fn new(set: RuleSet) -> Result<Rules> {
        set.check().map_err(Error::Rules)?;
        Ok(Rules {
            order: set.order(),
            names: set.rules.iter().map(|rule| rule.name.as_str().into()).collect(),
            seen: vec![Seen::default(); set.rules.len()],
            sums: set.aggregates.iter().map(Sums::new).collect(),
            set: Arc::new(set),
            membership: Membership::default(),
            processes: HashMap::new(),
            held: HashSet::new(),
            sequence: 0,
        })
    }

    /// The set of rules.
    pub fn set(&self) -> &RuleSet {
        &self.set
    }

    /// Waits for an event, carries the rules out, and resumes the threads that no rule holds, a new process's first thread too. `None`: no
    /// debuggee is left.
    ///
    /// # Errors
    /// The errors of [`Session::wait`] and [`Rules::react`].
    pub fn wait(&mut self, session: &mut Session) -> Result<Option<Reaction>> {
        let Some(event) = session.wait()? else { return Ok(None) };
        let reaction = self.react(session, &event)?;
        if let EventKind::Forked { child } = event.kind {
            unless_gone(session.resume(child.leader()))?;
        }
        if event.is_held() && !reaction.hold && !reaction.detached {
            unless_gone(session.resume(event.tid))?;
        }
        Ok(Some(reaction))
    }

    /// Carries the rules out for an event of the session. The caller resumes the thread afterwards, unless the reaction says that a rule
    /// holds it.
    ///
    /// # Errors
    /// A system call failed for a reason other than the end of a debuggee; [`Error::Unsupported`] if the session's mechanism does not have what a
    /// rule needs.
    pub fn react(&mut self, session: &mut Session, event: &Event) -> Result<Reaction> {
        let mut reaction = Reaction::default();
        self.held.remove(&(event.pid, event.tid));
        match &event.kind {
            EventKind::Exec | EventKind::Followed(_) => self.executed(session, event.pid, &mut reaction)?,
            EventKind::Forked { child } => self.forked(session, event.pid, *child, &mut reaction)?,
            EventKind::Loaded(modules) => self.loaded(session, event.pid, modules, &mut reaction)?,
            EventKind::Unloaded(modules) => self.unloaded(session, event.pid, modules)?,
            _ => {}
        }
        if let Some(kind) = Kind::of(&event.kind) {
            self.apply(session, event, kind, &mut reaction)?;
        }
        match event.kind {
            EventKind::ThreadExited => {
                self.membership.forget_thread(event.pid, event.tid);
            }
            EventKind::Exited(_) | EventKind::Killed(_) => self.forget(event.pid),
            _ => {}
        }
        Ok(reaction)
    }

    /// Whether a breakpoint of a process is one that a rule inserted.
    pub fn owns(&self, pid: Pid, id: BreakpointId) -> bool {
        self.processes.get(&pid).is_some_and(|known| known.breakpoints.contains_key(&id))
    }

    /// What an aggregate holds; `None` if there is none of that name.
    pub fn aggregate(&self, name: &str) -> Option<Reading> {
        self.sums.get(self.aggregate_number(name)?).map(Sums::read)
    }

    /// As [`Rules::aggregate`], and the aggregate holds nothing afterwards: each occurrence is in one reading.
    pub fn take_aggregate(&mut self, name: &str) -> Option<Reading> {
        let number = self.aggregate_number(name)?;
        self.sums.get_mut(number).map(Sums::take)
    }

    fn aggregate_number(&self, name: &str) -> Option<usize> {
        self.set.aggregates.iter().position(|aggregate| aggregate.name == name)
    }

    fn group_number(&self, name: &str) -> Option<usize> {
        self.set.groups.iter().position(|group| group.name == name)
    }

    /// Whether a thread is in the group of a name.
    fn is_in_group(&self, name: &str, pid: Pid, tid: Tid) -> bool {
        let executable = self.processes.get(&pid).map_or(&[][..], |known| &known.executable);
        let number = self.group_number(name);
        let group = number.and_then(|number| Some((number, self.set.groups.get(number)?)));
        group.is_some_and(|(number, group)| self.membership.contains(number, &group.members, pid, tid, executable))
    }

    /// Lets the most constrained rules act that take an event.
    fn apply(&mut self, session: &mut Session, event: &Event, kind: Kind, reaction: &mut Reaction) -> Result<()> {
        let set = Arc::clone(&self.set);
        for at in 0..self.order.len() {
            let number = self.order.get(at).copied().unwrap_or_default();
            let Some(rule) = set.rules.get(number) else { continue };
            if rule.on.kind() != kind || !self.is_about(number, &rule.on, event) {
                continue;
            }
            if !self.is_in_group(&rule.group, event.pid, event.tid) {
                continue;
            }
            let executable = self.processes.get(&event.pid).map_or(&[][..], |known| &known.executable);
            let mut reader = Reader::new(session, event);
            if rule.filter.holds(event.pid, event.tid, executable, &mut reader) != Some(true) {
                continue;
            }
            let admitted = self.seen.get_mut(number).is_some_and(|seen| rule.limits.admit(seen, event.time));
            if admitted {
                self.act(session, event, number, rule, reaction)?;
            }
            if !rule.pass || reaction.detached {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether a rule whose kind of events it is is about an event.
    fn is_about(&self, number: usize, on: &On, event: &Event) -> bool {
        match (on, &event.kind) {
            (On::Breakpoint(_), EventKind::Hit(hit)) => self.processes.get(&event.pid).is_some_and(|known| {
                let is_own = |id| known.breakpoints.get(&id).is_some_and(|(rule, _)| *rule == number);
                hit.breakpoints().any(|(id, _)| is_own(id))
            }),
            (On::SyscallEntered(arch, calls), EventKind::SyscallEntered(call)) => {
                call.arch == *arch && calls.contains(call.number)
            }
            (On::SyscallReturned(arch, calls), EventKind::SyscallReturned(returned)) => {
                returned.arch == *arch && calls.contains(returned.number)
            }
            (On::Kind(_), _) => true,
            _ => false,
        }
    }

    fn forget(&mut self, pid: Pid) {
        self.membership.forget_process(pid);
        self.processes.remove(&pid);
        self.held.retain(|(process, _)| *process != pid);
    }
}

/// A success also where the thread or process is gone.
fn unless_gone(result: Result<()>) -> Result<()> {
    match result {
        Err(Error::NoSuchThread(_) | Error::NoSuchProcess(_) | Error::NotHeld(_)) => Ok(()),
        other => other,
    }
}
