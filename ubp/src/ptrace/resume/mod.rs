//! Lets stopped threads continue. Only `remote` and what is built on it run a thread for other reasons.

mod deliver;
mod run;

use self::deliver::{deliver, put_for_signal};
use self::run::{leave_syscall, run_one_instruction, run_thread};
use super::event_stop::let_trap_come;
use super::goal::{end_goal, ends_goal};
use super::stops::Next;
use super::stops::breakpoint::{on_site, step_past_jump};
use super::stops::pass::pass;
use super::stops::stepped::on_stepped;
use super::sys::{self, unless_gone};
use super::thread::{Goal, Stop};
use super::{Tracer, arch};
use crate::{EventKind, Result, Signal, Tid};

impl Tracer {
    /// Applies a decision about a stopped thread.
    pub(super) fn apply(&mut self, tid: Tid, next: Next) -> Result<()> {
        let mut next = next;
        loop {
            let Tracer { tracees, reports, events, .. } = self;
            next = match next {
                Next::Stay => return Ok(()),
                Next::Hold(kind) => {
                    if ends_goal(&kind) {
                        end_goal(tracees, tid);
                    }
                    return events.hold(tracees, tid, kind);
                }
                Next::Signal(_) if tracees.options.signals && !tracees.is_silent(tid) => {
                    let info = tracees.thread(tid)?.signal_info();
                    info.map_or(Next::GoOn, |info| Next::Hold(EventKind::Signal(info)))
                }
                Next::GoOn | Next::Signal(_) => {
                    let signal = tracees.thread(tid)?.signal();
                    self.go_on_with(tid, signal)?
                }
                Next::GoOnWithChild(child) => {
                    self.unpin_and_go_on(child)?;
                    Next::GoOn
                }
                Next::Pass(slot) => pass(tracees, tid, slot)?,
                Next::Stepped => on_stepped(tracees, tid)?,
                Next::Arrive(slot, site) => on_site(self, tid, slot, site)?,
                Next::Run(signal) => return run_thread(tracees, reports, tid, signal),
                Next::Step => return run_one_instruction(tracees, tid),
                Next::TrapFirst => return let_trap_come(tracees, tid),
                Next::LeaveCall(due) => return leave_syscall(tracees, tid, due),
                Next::Detach => return sys::detach(tid, 0),
            };
        }
    }

    /// Lets a stopped thread continue, unless somebody needs it stopped; it gets the signal that it is stopped by.
    pub(super) fn go_on(&mut self, tid: Tid) -> Result<()> {
        self.apply(tid, Next::GoOn)
    }

    /// Ends the use of a pinned thread and lets it continue.
    pub(super) fn unpin_and_go_on(&mut self, tid: Tid) -> Result<()> {
        let Some(thread) = self.tracees.threads.get_mut(&tid) else { return Ok(()) };
        thread.unpin();
        unless_gone(self.go_on(tid))
    }

    /// Decides how a thread continues that gets a signal of the user's choice, or none.
    pub(super) fn go_on_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<Next> {
        let Tracer { tracees, reports, .. } = self;
        let thread = tracees.thread(tid)?;
        if thread.is_held() || thread.pins > 0 {
            return Ok(Next::Stay);
        }
        let Some(stop) = thread.stop() else { return Ok(Next::Stay) };
        if thread.goal == Goal::Stepped && signal.is_none() {
            return Ok(Next::Stepped);
        }
        match (stop, signal) {
            (Stop::Signal(info) | Stop::Moved(info), Some(signal)) if info.signal() == signal.0 => {
                deliver(tracees, reports, tid, info, matches!(stop, Stop::Moved(_)))
            }
            (Stop::Signal(_) | Stop::Trap, Some(signal)) => {
                put_for_signal(tracees, tid, signal)?;
                Ok(Next::Run(signal.0))
            }
            (_, Some(signal)) => {
                sys::send(thread.pid.0, tid, signal.0)?;
                self.past_reported(tid)
            }
            (_, None) => self.past_reported(tid),
        }
    }

    /// Sends a thread past the breakpoint that it was reported at, or on from where it is.
    fn past_reported(&mut self, tid: Tid) -> Result<Next> {
        let thread = self.tracees.thread_mut(tid)?;
        // A single step through the code of a jump would end in that code.
        let steps = thread.goal.is_step() || thread.armed.is_passing();
        let Some(at) = thread.reported_at.take() else {
            return if steps { step_past_jump(&mut self.tracees, tid) } else { Ok(Next::Run(0)) };
        };
        let slot = if arch::pc(tid)? == at { self.tracees.space_at(tid)?.sites.get(&at).copied() } else { None };
        Ok(slot.map_or(Next::Run(0), Next::Pass))
    }
}
