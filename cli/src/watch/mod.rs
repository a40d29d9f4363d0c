//! Follows a program and its children from breakpoint to breakpoint.

mod attach;
mod confirm;
mod control;
mod plan;
mod plant;
mod proc;
mod start;
mod tracers;

use std::collections::HashMap;
use std::time::Duration;

use ubp::{Event, EventKind, Pid, Session, Tid};

pub(crate) use self::attach::{check as check_process, record_failure};
pub(crate) use self::control::{Control, Notice, send};
use self::plant::Planter;
pub(crate) use self::plant::Refused;
pub(crate) use self::start::{command, not_traced, start, start_failure};
use crate::failure::{Failure, Result};
use crate::output::tell;
use crate::process::Space;

/// Events that are handled before orders are looked for.
const BATCH: usize = 256;

/// What is done with hits.
pub(crate) trait Sink {
    /// A thread is held at a location.
    fn hit(&mut self, session: &mut Session, space: &mut Space, event: &Event, address: u64) -> Result<()>;
    /// Nothing happens for the moment.
    fn idle(&mut self, session: &Session, spaces: &HashMap<Pid, Space>) -> Result<()>;
    /// Modules were unmapped or replaced ([`Space::gone`]).
    fn unloaded(&mut self, session: &Session, space: &Space);
    /// A process made another, which has copies of its breakpoints.
    fn forked(&mut self, parent: Pid, child: Pid);
    /// A process is about to lose its breakpoints: it ended, runs another program, or is let go.
    fn ended(&mut self, session: &Session, space: &mut Space);
    /// How long to wait for something to happen before [`Sink::idle`] is called again.
    fn tick(&self) -> Option<Duration>;
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The program exited with this status.
    Exited(i32),
    /// The program was killed by this signal.
    Killed(i32),
    /// The program was let go and runs on.
    Detached,
}

/// A program that is followed.
pub(crate) struct Watch {
    session: Session,
    planter: Planter,
    spaces: HashMap<Pid, Space>,
    /// The program itself, whose end is ntrace's.
    first: Pid,
    end: Option<End>,
    /// It was started by ntrace.
    spawned: bool,
    /// Ctrl-C was pressed.
    interrupted: bool,
    /// It was told to stop before it began.
    called_off: bool,
    control: Control,
}

impl Watch {
    /// Runs to the end of the program and of all its children, or until told to stop.
    ///
    /// # Errors
    /// The debuggee is let go, and runs on without breakpoints.
    pub(crate) fn run(&mut self, sink: &mut impl Sink) -> Result<End> {
        let done = self.follow(sink);
        self.detach(sink);
        self.planter.tell_refused();
        done?;
        let mut missing = self.planter.missing();
        // A run that could not have found anything has failed.
        let last = if missing.len() == self.planter.wanted.locations.len() { missing.pop() } else { None };
        for what in &missing {
            tell(what);
        }
        if let Some(what) = last {
            return Err(Failure::own(what));
        }
        Ok(self.end.unwrap_or(End::Detached))
    }

    /// The instructions that carry no breakpoint, though they were wanted with all others.
    pub(crate) fn refused(&self) -> Vec<Refused> {
        self.planter.refused().cloned().collect()
    }

    fn follow(&mut self, sink: &mut impl Sink) -> Result<()> {
        while !self.called_off {
            for _ in 0..BATCH {
                let Some(event) = self.session.poll().map_err(trace_failure)? else { break };
                self.handle(&event, sink)?;
            }
            if self.session.processes().next().is_none() {
                return Ok(());
            }
            sink.idle(&self.session, &self.spaces)?;
            let notice = self.control.wait(&self.session, sink.tick())?;
            if notice.is_some_and(|notice| self.obey(notice)) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether to stop.
    fn obey(&mut self, notice: Notice) -> bool {
        let running = self.spawned && self.end.is_none();
        match notice {
            Notice::Gone => true,
            Notice::Signal { .. } if !running => true,
            // The terminal sent it to the program, too; who presses again wants ntrace to end.
            Notice::Signal { from_terminal: true, .. } => std::mem::replace(&mut self.interrupted, true),
            Notice::Signal { number, .. } => {
                control::send(self.first, number);
                false
            }
        }
    }

    fn handle(&mut self, event: &Event, sink: &mut impl Sink) -> Result<()> {
        match self.react(event, sink) {
            Err(Trouble::Trace(error)) if is_end(&error) => Ok(()),
            Err(Trouble::Trace(error)) => Err(trace_failure(error)),
            Err(Trouble::Own(failure)) => Err(failure),
            Ok(()) => Ok(()),
        }
    }

    fn react(&mut self, event: &Event, sink: &mut impl Sink) -> std::result::Result<(), Trouble> {
        let Watch { session, planter, spaces, .. } = self;
        let space = spaces.entry(event.pid).or_insert_with(|| Space::new(event.pid));
        match event.kind {
            EventKind::Hit(id) => match space.roles.get(&id).cloned() {
                Some(role) => planter.own_hit(session, space, event.tid, id, role)?,
                None => {
                    if let Some(address) = session.breakpoint(event.pid, id).map(|b| b.address().0) {
                        sink.hit(session, space, event, address)?;
                    }
                }
            },
            EventKind::Exec => {
                sink.ended(session, space);
                *space = Space::new(event.pid);
                planter.update(session, space, None)?;
                planter.watch_entry(session, space)?;
            }
            EventKind::Loaded => {
                let fresh = planter.look(session, space)?;
                if !space.gone.is_empty() {
                    sink.unloaded(session, space);
                    planter.clear(session, space)?;
                }
                planter.plant_in(session, space, &fresh, None)?;
            }
            EventKind::Forked { child } => {
                sink.forked(event.pid, child);
                let copy = space.fork(child);
                spaces.insert(child, copy);
                session.resume(child.leader())?;
            }
            EventKind::Exited(_) | EventKind::Killed(_) => {
                sink.ended(session, space);
                spaces.remove(&event.pid);
                if event.pid == self.first {
                    self.end = Some(match event.kind {
                        EventKind::Killed(signal) => End::Killed(signal.0),
                        EventKind::Exited(status) => End::Exited(status),
                        _ => End::Detached,
                    });
                }
            }
            _ => {}
        }
        if event.is_held() {
            self.session.resume(event.tid)?;
        }
        Ok(())
    }

    /// Lets all processes go.
    fn detach(&mut self, sink: &mut impl Sink) {
        let pids: Vec<Pid> = self.session.processes().map(ubp::Process::pid).collect();
        for pid in pids {
            if let Some(space) = self.spaces.get_mut(&pid) {
                sink.ended(&self.session, space);
            }
            if let Err(error) = self.session.detach(pid)
                && !is_end(&error)
            {
                tell(format_args!("letting process {pid} go: {error}"));
            }
        }
    }

    /// After a failure: waits for the program that ntrace started and let go, as a shell would.
    pub(crate) fn finish(self, end: Result<End>) -> Result<End> {
        let child = (self.spawned && self.end.is_none()).then_some(self.first);
        self.session.leave();
        if let (Err(failure), Some(pid)) = (&end, child) {
            tell(format_args!("{failure}; the program runs on without breakpoints"));
            let _ = nix::sys::wait::waitpid(nix::unistd::Pid::from_raw(pid.0), None);
            return Ok(End::Exited(i32::from(failure.status)));
        }
        end
    }
}

/// What can go wrong at an event.
enum Trouble {
    Trace(ubp::Error),
    Own(Failure),
}

impl From<ubp::Error> for Trouble {
    fn from(error: ubp::Error) -> Trouble {
        Trouble::Trace(error)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Trouble {
        Trouble::Own(failure)
    }
}

/// Whether it only means that a thread or process ended meanwhile (another thread exited the process, or it was killed).
fn is_end(error: &ubp::Error) -> bool {
    matches!(error, ubp::Error::NoSuchProcess(_) | ubp::Error::NoSuchThread(_) | ubp::Error::NotHeld(_))
}

fn trace_failure(error: ubp::Error) -> Failure {
    Failure::own(error.to_string())
}

/// The thread that an [`EventKind::Interrupted`] names.
fn interrupted(event: &Event) -> Option<Tid> {
    matches!(event.kind, EventKind::Interrupted).then_some(event.tid)
}
