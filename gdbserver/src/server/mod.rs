//! The server: a conversation with one client about the processes of a session.

mod answer;
mod breakpoints;
mod commands;
mod events;
mod host_io;
mod inferior;
mod launch;
mod link_map;
mod memory;
mod query;
mod registers;
mod resume;
mod signal_info;
mod stop;
mod supported;
mod world;
mod xfer;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Command;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ubp::{Options, Pid, Session, Tid};

use self::answer::Answer;
use self::host_io::HostIo;
use self::inferior::Inferior;
use self::launch::Launch;
use self::stop::Stop;
use self::supported::Client;
use crate::Error;
use crate::protocol::{Input, Link};

/// Whether threads stop together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// All threads stop with one. The client waits for a stop while they run.
    AllStop { is_running: bool },
    /// Each thread stops by itself, and a notification says so. `is_told`: the client has not confirmed the last one.
    NonStop { is_told: bool },
}

/// A server of the remote protocol, with the processes that it debugs.
pub struct Server {
    session: Session,
    inferiors: BTreeMap<Pid, Inferior>,
    /// Stops that the client does not know, or in non-stop mode has not confirmed.
    pending: VecDeque<Stop>,
    /// The threads that the client has let run.
    running: HashSet<Tid>,
    /// The thread that packets are about.
    selected: Option<(Pid, Tid)>,
    mode: Mode,
    client: Client,
    launch: Launch,
    host_io: HostIo,
    /// Text for the user's console.
    console: String,
    /// Whether the conversation goes on when no process is left.
    is_extended: bool,
    has_ended: bool,
}

impl Server {
    /// A server without processes.
    ///
    /// # Errors
    /// [`Error::Session`] if the calling thread has a session already.
    pub fn new() -> Result<Server, Error> {
        let mut options = Options::default();
        options.vforks = true;
        Ok(Server {
            session: Session::with_options(options)?,
            inferiors: BTreeMap::new(),
            pending: VecDeque::new(),
            running: HashSet::new(),
            selected: None,
            mode: Mode::AllStop { is_running: false },
            client: Client::default(),
            launch: Launch::default(),
            host_io: HostIo::default(),
            console: String::new(),
            is_extended: false,
            has_ended: false,
        })
    }

    /// The server that also lives without a process (`target extended-remote`): the client may start and attach to programs.
    pub fn extended(self) -> Server {
        Server { is_extended: true, ..self }
    }

    /// The server whose connection is the standard input and output of its process: programs get an empty standard input, and write to the
    /// standard error.
    pub fn on_standard_streams(mut self) -> Server {
        self.launch.is_silent = true;
        self
    }

    /// Starts a program, which is held at its first instruction.
    ///
    /// # Errors
    /// [`Error::Session`] if the program cannot be executed.
    pub fn spawn(&mut self, mut command: Command) -> Result<Pid, Error> {
        self.launch.remember(&command);
        self.launch.silence(&mut command);
        let pid = self.session.spawn(command)?;
        self.add(pid, false);
        Ok(pid)
    }

    /// Attaches to a running process, and holds its threads.
    ///
    /// # Errors
    /// [`Error::Session`] if the process does not exist or cannot be traced.
    pub fn attach(&mut self, pid: Pid) -> Result<Pid, Error> {
        let pid = self.session.attach(pid)?;
        self.add(pid, true);
        Ok(pid)
    }

    fn add(&mut self, pid: Pid, attached: bool) {
        // A process with a thread that cannot be stopped is held as far as it can be.
        let _ = self.session.stop(pid);
        let inferior = Inferior::new(&mut self.session, pid, attached);
        self.inferiors.insert(pid, inferior);
        self.selected = Some((pid, pid.leader()));
    }

    /// Talks with a client until it leaves. The processes that are left then run on by themselves, without breakpoints.
    ///
    /// # Errors
    /// [`Error::Connection`] if the connection fails; [`Error::Session`] if the kernel refuses what a debugger needs. The processes run on.
    pub fn serve(self, input: OwnedFd, output: OwnedFd) -> Result<(), Error> {
        self.converse(&mut Link::new(input, output), None)
    }

    /// As [`Server::serve`], until `stop` is readable or closed at its other end.
    ///
    /// # Errors
    /// The errors of [`Server::serve`].
    pub fn serve_unless(self, input: OwnedFd, output: OwnedFd, stop: BorrowedFd<'_>) -> Result<(), Error> {
        self.converse(&mut Link::new(input, output), Some(stop))
    }

    fn converse(mut self, link: &mut Link, stop: Option<BorrowedFd<'_>>) -> Result<(), Error> {
        loop {
            while let Some(input) = link.next()? {
                self.react(link, &input)?;
                if self.has_ended {
                    return Ok(());
                }
            }
            self.session_events(link)?;
            let ready = |descriptor| PollFd::new(descriptor, PollFlags::POLLIN);
            let mut waited = vec![ready(link.descriptor()), ready(self.session.as_fd())];
            waited.extend(stop.map(ready));
            match poll(&mut waited, PollTimeout::NONE) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(Error::Connection(error.into())),
            }
            let is_ready = |at: usize| waited.get(at).and_then(PollFd::any).unwrap_or(false);
            if is_ready(2) || is_ready(0) && !link.fill()? {
                return Ok(());
            }
        }
    }

    /// Answers a packet, or an interrupt.
    fn react(&mut self, link: &mut Link, input: &Input) -> Result<(), Error> {
        let Input::Packet(packet) = input else {
            return self.interrupt();
        };
        let answer = self.answer(packet);
        self.has_ended |= answer == Answer::Last;
        if let Some(packet) = answer.packet(self.client.words) {
            link.send(&packet)?;
        }
        // The acknowledgement of this very packet is still wanted.
        link.acknowledges = !self.client.is_reliable;
        Ok(())
    }

    /// Takes what has happened, and tells the client.
    fn session_events(&mut self, link: &mut Link) -> Result<(), Error> {
        self.take_events()?;
        match self.mode {
            Mode::AllStop { is_running: true } => {
                if !self.console.is_empty() {
                    let text = std::mem::take(&mut self.console);
                    link.send(format!("O{}", crate::protocol::hex::encode(text.as_bytes())).as_bytes())?;
                }
                if self.pending.is_empty() {
                    return Ok(());
                }
                self.mode = Mode::AllStop { is_running: false };
                self.freeze();
                self.take_events()?;
                if let Some(stop) = self.pending.pop_front() {
                    self.note_told(&stop);
                    link.send(stop.text().as_bytes())?;
                }
            }
            Mode::NonStop { is_told: false } => {
                if let Some(stop) = self.pending.front().cloned() {
                    self.mode = Mode::NonStop { is_told: true };
                    self.note_told(&stop);
                    link.notify(format!("Stop:{}", stop.text()).as_bytes())?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The client knows of a stop.
    fn note_told(&mut self, stop: &Stop) {
        self.running.remove(&stop.tid);
        if !stop.is_end() && matches!(self.mode, Mode::AllStop { .. }) {
            self.selected = Some((stop.pid, stop.tid));
        }
    }

    /// The client asks to stop the program.
    fn interrupt(&mut self) -> Result<(), Error> {
        if self.mode != (Mode::AllStop { is_running: true }) {
            return Ok(());
        }
        self.freeze();
        self.take_events()?;
        if self.pending.is_empty() {
            let thread = self
                .selected
                .filter(|(pid, _)| self.inferiors.contains_key(pid))
                .or_else(|| self.threads().first().copied());
            if let Some((pid, tid)) = thread {
                self.pending.push_back(Stop { pid, tid, kind: stop::StopKind::Interrupted });
            }
        }
        Ok(())
    }

    /// Shows text of agent expressions.
    fn show(&mut self, text: &str) {
        self.console.push_str(text);
    }

    /// The threads that the client sees.
    fn threads(&self) -> Vec<(Pid, Tid)> {
        let seen = self.inferiors.iter().filter(|(_, inferior)| !inferior.leaving);
        let processes = seen.filter_map(|(&pid, _)| self.session.process(pid));
        processes.flat_map(|process| process.threads().map(move |tid| (process.pid(), tid))).collect()
    }

    /// Whether the client looks at a process all of whose threads wait.
    fn is_frozen(&self, pid: Pid) -> bool {
        let is_seen = self.inferiors.get(&pid).is_some_and(|inferior| !inferior.leaving);
        is_seen && self.mode == (Mode::AllStop { is_running: false })
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Connection(error)
    }
}

impl From<ubp::Error> for Error {
    fn from(error: ubp::Error) -> Error {
        Error::Session(error)
    }
}
