//! Handles the events of a program and its children until they end or ntrace is asked to stop.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ubp::rules::{Occurrence, Reaction, Reading, Summary, Values};
use ubp::{BreakpointId, Event, EventKind, Mechanism, Pid, Session};

use super::covered::Covered;
use super::inserter::{Inserter, Refused};
use super::ruling::Ruling;
use super::summing::{Summed, summed};
use crate::failure::{Failure, OWN, Result};
use crate::filter::{Rest, Verdict};
use crate::output::{Cost, tell};
use crate::process::Space;
use crate::worker::{self, Control, End, Notice, Woken};

/// The number of events that are handled before the follower looks for notices of the front.
const BATCH: usize = 256;

/// A thread that is held at a breakpoint.
pub(crate) struct Arrival<'a> {
    pub(crate) event: &'a Event,
    pub(crate) address: u64,
    /// The breakpoint. An event may have several.
    pub(crate) id: BreakpointId,
    /// What the result of the function has to satisfy.
    pub(crate) rest: Option<Rest>,
}

/// What a command does with the events of the program.
pub(crate) trait Sink {
    /// A thread is held at a breakpoint that is none of ntrace's own.
    fn hit(&mut self, session: &mut Session, space: &mut Space, arrival: &Arrival<'_>) -> Result<()>;
    /// A hit was recorded; the thread runs on. Only commands whose breakpoints record have such hits.
    fn recorded(&mut self, _: &mut Space, _: &ubp::Record) -> Result<()> {
        Ok(())
    }
    /// Hits were summed up; their threads run on. Only commands with [`Sums`](super::Sums) have such hits.
    fn summed(&mut self, _: &mut Space, _: &Summed<'_>) {}
    /// Hits were summed up whose location is unknown, because there were too many rows.
    fn summed_others(&mut self, _: &Values) {}
    /// An event is about to be handled that is no hit.
    fn event(&mut self, _: &mut Session, _: &mut Space, _: &Event) -> Result<()> {
        Ok(())
    }
    /// A rule recorded an event.
    fn occurred(&mut self, _: &mut Space, _: &Occurrence) -> Result<()> {
        Ok(())
    }
    /// No event is pending.
    fn idle(&mut self, session: &Session, spaces: &HashMap<Pid, Space>) -> Result<()>;
    /// Modules were unmapped or replaced ([`Modules::gone`](ubp_symbols::Modules::gone)).
    fn unloaded(&mut self, session: &Session, space: &Space);
    /// The thread of an event forked a process, which has copies of the breakpoints.
    fn forked(&mut self, event: &Event, child: Pid);
    /// An event was handled, and its thread goes on if it is held.
    fn resuming(&mut self, _: &Event) {}
    /// A process is about to lose its breakpoints: it ended, it executed another program, or ntrace detaches.
    fn ended(&mut self, session: &Session, space: &mut Space);
    /// The longest time between two calls of [`Sink::idle`]. `None` is no limit.
    fn tick(&self) -> Option<Duration>;
    /// Whether the command has all that it wants.
    fn is_done(&self) -> bool {
        false
    }
}

/// A program that ntrace follows, with its children.
pub(crate) struct Follower {
    pub(super) session: Session,
    pub(super) inserter: Inserter,
    pub(super) spaces: HashMap<Pid, Space>,
    pub(super) control: Control,
    /// The rules of a file.
    pub(super) ruling: Option<Ruling>,
    /// Recorded hits are taken only when a process ends, or executes another program.
    pub(super) takes_late: bool,
    /// Whether processes that begin later are followed.
    pub(super) follows: bool,
    /// Whether any process was attached to or followed.
    pub(super) has_met: bool,
    /// The program itself. Its end determines ntrace's exit status.
    pub(super) first: Pid,
    /// Whether ntrace was asked to stop before the program continued.
    pub(super) cancelled: bool,
    /// When to stop.
    pub(super) deadline: Option<Instant>,
    /// Whether the command has all that it wants, or its time is over.
    is_over: bool,
    /// How the program ended.
    end: Option<End>,
    /// Whether ntrace started the program.
    spawned: bool,
    /// Whether the user pressed Ctrl-C once.
    interrupted: bool,
}

impl Follower {
    /// Returns a follower of a program that is not running yet.
    pub(super) fn new(session: Session, inserter: Inserter, control: Control, spawned: bool) -> Follower {
        Follower {
            session,
            inserter,
            spaces: HashMap::new(),
            control,
            ruling: None,
            takes_late: false,
            follows: false,
            has_met: false,
            first: Pid(0),
            cancelled: false,
            deadline: None,
            is_over: false,
            end: None,
            spawned,
            interrupted: false,
        }
    }

    /// Follows the program and its children until they end or ntrace is asked to stop.
    ///
    /// # Errors
    /// Tracing failed. The follower has detached, and the program continues without breakpoints.
    pub(crate) fn run(&mut self, sink: &mut impl Sink) -> Result<End> {
        let done = self.follow(sink);
        self.detach(sink);
        self.inserter.tell_refused();
        self.inserter.sieve.tell_others();
        done?;
        if self.follows && !self.has_met {
            return Err(Failure::own("nothing was executed that --follow names"));
        }
        let mut missing = self.inserter.missing();
        missing.extend(self.inserter.watches.missing());
        self.ruling.iter().flat_map(Ruling::missing).for_each(tell);
        // A run in which no location was found has failed.
        let wanted = self.inserter.wanted.locations.len() + self.inserter.watches.len();
        let last = if missing.len() == wanted { missing.pop() } else { None };
        for what in &missing {
            tell(what);
        }
        if let Some(what) = last {
            return Err(Failure::own(what));
        }
        if let Some(failure) = self.inserter.sieve.failure(OWN) {
            return Err(failure);
        }
        self.inserter.gate.finish()?;
        Ok(self.end.unwrap_or(End::Detached))
    }

    /// The instructions without a breakpoint among those that `--every-instruction` asked for.
    pub(crate) fn refused(&self) -> Vec<Refused> {
        self.inserter.refused().cloned().collect()
    }

    /// The blocks that the user asked for, and those that were executed.
    pub(crate) fn covered(&self) -> &Covered {
        &self.inserter.covered
    }

    /// What is known of the time that hits cost the program.
    pub(crate) fn cost(&self) -> Cost {
        let held = self.session.mechanism() == Mechanism::Ptrace && !self.inserter.has_jumped;
        if held { Cost::Held } else { Cost::Unknown }
    }

    /// The number of hits that code did not record, or overwrote.
    pub(crate) fn lost_records(&self) -> u64 {
        self.session.lost_records()
    }

    /// The aggregates of the rules.
    pub(crate) fn readings(&self) -> Vec<(Summary, Reading)> {
        self.ruling.as_ref().map_or_else(Vec::new, Ruling::readings)
    }

    fn follow(&mut self, sink: &mut impl Sink) -> Result<()> {
        while !self.cancelled {
            for _ in 0..BATCH {
                let Some(event) = self.session.poll().map_err(Failure::trace)? else { break };
                self.handle(&event, sink)?;
                if sink.is_done() || self.inserter.gate.is_over() {
                    self.is_over = true;
                    return Ok(());
                }
            }
            if self.session.processes().next().is_none() && !self.follows {
                return Ok(());
            }
            if !self.takes_late {
                self.take_records(sink)?;
            }
            self.take_sums(sink, false)?;
            if self.inserter.gate.is_open() {
                sink.idle(&self.session, &self.spaces)?;
            }
            let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            self.is_over = sink.is_done() || self.inserter.gate.is_over() || left.is_some_and(|left| left.is_zero());
            if self.is_over {
                return Ok(());
            }
            match self.control.wait(&mut self.session, sink.tick().into_iter().chain(left).min())? {
                Woken::Event(event) => self.handle(&event, sink)?,
                Woken::Notice(notice) if self.must_stop(notice) => return Ok(()),
                Woken::Notice(_) | Woken::Nothing => {}
            }
        }
        Ok(())
    }

    /// Whether a notice asks to stop. Passes other signals to the program.
    fn must_stop(&mut self, notice: Notice) -> bool {
        let running = self.spawned && self.end.is_none();
        match notice {
            Notice::Gone => true,
            Notice::Signal { .. } if !running => true,
            // The terminal sent the signal to the program too. A second key press means that ntrace must stop.
            Notice::Signal { from_terminal: true, .. } => std::mem::replace(&mut self.interrupted, true),
            Notice::Signal { number, .. } => {
                worker::send(self.first, number);
                false
            }
        }
    }

    /// Passes the hits that were recorded so far to the command.
    fn take_records(&mut self, sink: &mut impl Sink) -> Result<()> {
        if self.inserter.records() {
            for record in self.session.take_records() {
                let space = self.spaces.entry(record.pid).or_insert_with(|| Space::new(record.pid));
                let Inserter { gate, sieve, .. } = &mut self.inserter;
                if gate.is_open() && sieve.is_sampled(record.pid, record.address.0) {
                    sink.recorded(space, &record)?;
                }
            }
        }
        Ok(())
    }

    /// Passes the hits that were summed up so far to the command. `asked`: something else asks for it than the time that has passed.
    fn take_sums(&mut self, sink: &mut impl Sink, asked: bool) -> Result<()> {
        if let Some(summing) = self.inserter.summing.as_mut().filter(|summing| asked || summing.is_due()) {
            let taken = summing.take(&mut self.session).map_err(Failure::trace)?;
            for (pid, summed) in taken.rows.iter().filter_map(|(key, values)| summed(key, values)) {
                let space = self.spaces.entry(pid).or_insert_with(|| Space::new(pid));
                sink.summed(space, &summed);
            }
            taken.other.iter().for_each(|values| sink.summed_others(values));
        }
        Ok(())
    }

    fn handle(&mut self, event: &Event, sink: &mut impl Sink) -> Result<()> {
        // The hits before the event, while it is known what their addresses mean.
        let is_last = matches!(event.kind, EventKind::Exec | EventKind::Exited(_) | EventKind::Killed(_));
        if is_last || !self.takes_late {
            self.take_records(sink)?;
        }
        self.take_sums(sink, is_last || matches!(event.kind, EventKind::Unloaded(_)))?;
        match self.react(event, sink) {
            Err(Trouble::Trace(error)) if is_end(&error) => Ok(()),
            Err(Trouble::Trace(error)) => Err(Failure::trace(error)),
            Err(Trouble::Own(failure)) => Err(failure),
            Ok(()) => Ok(()),
        }
    }

    fn react(&mut self, event: &Event, sink: &mut impl Sink) -> std::result::Result<(), Trouble> {
        let Follower { session, inserter, spaces, ruling, first, is_over, has_met, .. } = self;
        let space = spaces.entry(event.pid).or_insert_with(|| Space::new(event.pid));
        let owned = ruling.as_ref().map_or_else(Vec::new, |ruling| ruling.owned(event));
        let reaction = match ruling {
            Some(ruling) => ruling.react(session, event)?,
            None => Reaction::default(),
        };
        for occurrence in &reaction.occurrences {
            sink.occurred(space, occurrence)?;
        }
        if reaction.detached {
            leave(inserter, session, space, sink);
            spaces.remove(&event.pid);
            // A program that ntrace started is waited for.
            *is_over |= event.pid == *first;
            return Ok(());
        }
        if !matches!(event.kind, EventKind::Hit(_)) {
            sink.event(session, space, event)?;
        }
        match event.kind {
            EventKind::Hit(ref hit) => {
                for (id, count) in hit.breakpoints().filter(|(id, _)| !owned.contains(id)) {
                    match space.roles.get(&id).cloned() {
                        Some(role) => inserter.internal_hit(session, space, event.tid, id, role)?,
                        None if session.breakpoint(event.pid, id).is_some() => {
                            let address = hit.address().0;
                            let is_open = inserter.gate.is_open();
                            let mut judge = || inserter.sieve.judge(session, space, event, address, (id, count));
                            let rest = match if is_open { judge() } else { Verdict::Unwanted } {
                                Verdict::Unwanted => continue,
                                Verdict::Wanted => None,
                                Verdict::Later(rest) => Some(rest),
                            };
                            sink.hit(session, space, &Arrival { event, address, id, rest })?;
                        }
                        None => {}
                    }
                }
            }
            EventKind::Followed(_) => {
                *has_met = true;
                *space = Space::new(event.pid);
                inserter.update(session, space, None)?;
                inserter.break_at_entry(session, space)?;
                if let Some(ruling) = ruling {
                    ruling.find_all(session, space)?;
                }
            }
            EventKind::NotFollowed(_) => {
                tell(format_args!(
                    "process {} is not traced: there are too many processes, or too little memory",
                    event.pid
                ));
                spaces.remove(&event.pid);
            }
            EventKind::Exec => {
                leave(inserter, session, space, sink);
                inserter.sieve.forget(event.pid);
                *space = Space::new(event.pid);
                inserter.update(session, space, None)?;
                inserter.break_at_entry(session, space)?;
                if let Some(ruling) = ruling {
                    ruling.find_all(session, space)?;
                }
            }
            EventKind::Loaded(_) | EventKind::Unloaded(_) => {
                let new = inserter.read_modules(session, space)?;
                if !space.modules.gone().is_empty() {
                    inserter.gate.settle(session, space);
                    inserter.covered.note(session, space);
                    sink.unloaded(session, space);
                    inserter.remove_gone(session, space)?;
                }
                inserter.insert_in_modules(session, space, &new, None)?;
                if let Some(ruling) = ruling {
                    ruling.find(session, space, &new)?;
                }
            }
            EventKind::Forked { child } => {
                sink.forked(event, child);
                inserter.sieve.forked(event.pid, child);
                let copy = space.fork(child, session.shares_memory(event.pid, child));
                spaces.insert(child, copy);
                session.resume(child.leader())?;
            }
            EventKind::Exited(_) | EventKind::Killed(_) => {
                leave(inserter, session, space, sink);
                inserter.sieve.forget(event.pid);
                inserter.covered.forget(event.pid);
                spaces.remove(&event.pid);
                self.note_end(event);
            }
            _ => {}
        }
        self.inserter.gate.open(&self.session, self.spaces.values_mut());
        sink.resuming(event);
        // A thread at a location of `--until` continues when its breakpoints are gone, so that it adds no hits.
        if event.is_held() && !reaction.hold && !self.inserter.gate.is_over() {
            self.session.resume(event.tid)?;
        }
        if reaction.wake {
            sink.idle(&self.session, &self.spaces)?;
        }
        Ok(())
    }

    /// Notes how the program ended, if the event is its end.
    fn note_end(&mut self, event: &Event) {
        match event.kind {
            _ if event.pid != self.first => {}
            EventKind::Killed(signal) => self.end = Some(End::Killed(signal.0)),
            EventKind::Exited(status) => self.end = Some(End::Exited(status)),
            _ => {}
        }
    }

    /// Detaches from all processes.
    fn detach(&mut self, sink: &mut impl Sink) {
        let pids: Vec<Pid> = self.session.processes().map(ubp::Process::pid).collect();
        for &pid in &pids {
            if let Some(space) = self.spaces.get_mut(&pid) {
                leave(&mut self.inserter, &self.session, space, sink);
                space.semaphores.lower();
            }
            match self.session.detach(pid) {
                Err(error) if !is_end(&error) => tell(format_args!("detaching from process {pid}: {error}")),
                _ => {}
            }
            if let Err(failure) = self.take_records(sink) {
                tell(failure);
            }
        }
        if let Err(failure) = self.take_sums(sink, true) {
            tell(failure);
        }
        // The session took the exit status of a process from the kernel when it learned of the end, so that the event alone has it.
        while let Ok(Some(event)) = self.session.poll() {
            if matches!(event.kind, EventKind::Exited(_) | EventKind::Killed(_)) && !pids.contains(&event.pid) {
                if let Some(space) = self.spaces.get_mut(&event.pid) {
                    self.inserter.note_jumps(&self.session, space);
                    self.inserter.covered.note(&self.session, space);
                    sink.ended(&self.session, space);
                }
            }
            self.note_end(&event);
        }
    }

    /// Ends the session. Where ntrace detached from the program that it started, without being asked to, waits for the program, as a shell
    /// would.
    pub(crate) fn finish(self, end: Result<End>) -> Result<End> {
        let Follower { session, mut control, first, is_over, .. } = self;
        let child = (self.spawned && self.end.is_none()).then_some(first);
        session.leave();
        match (&end, child) {
            (Err(failure), Some(pid)) => {
                tell(format_args!("{failure}; the program continues without breakpoints"));
                control.await_program(pid);
                Ok(End::Exited(i32::from(failure.status)))
            }
            (Ok(_), Some(pid)) if is_over => Ok(control.await_program(pid)),
            _ => end,
        }
    }
}

/// An error of the handling of an event.
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

/// Takes the results of a process that ends, or that executes another program.
fn leave(inserter: &mut Inserter, session: &Session, space: &mut Space, sink: &mut impl Sink) {
    inserter.gate.settle(session, space);
    inserter.note_jumps(session, space);
    inserter.covered.note(session, space);
    sink.ended(session, space);
}

/// Whether an error only means that the thread or process ended: another thread exited the process, or a signal killed it.
fn is_end(error: &ubp::Error) -> bool {
    matches!(error, ubp::Error::NoSuchProcess(_) | ubp::Error::NoSuchThread(_) | ubp::Error::NotHeld(_))
}
