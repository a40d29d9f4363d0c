//! Hits that are counted and nothing else, of threads that pass the site by a jump to its slot.
//!
//! The tracer leaves the kernel's report of such a stop where it is: the kernel drops it when the thread continues. So nothing has to be
//! prepared for a tracer that is killed behind the wait ([`rewind`](super::rewind)), and a request that fails because the thread runs takes
//! the place of a wait.

use super::arch;
use super::space::BySlot;
use super::space::page::Handled;
use super::sys::{self, is_gone};
use super::thread::{Goal, Hold, Run, State, Thread};
use super::tracees::{Debuggee, Tracees};
use crate::arch::BEHIND;
use crate::{Result, Tid};

/// What [`pass_plain_hit`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The thread was at such a hit, and runs again.
    Passed,
    /// The thread runs, or has ended.
    Running,
    /// The thread has another report.
    Other,
}

/// When the tracer looks for such hits before it takes a report. Where reports are others it looks seldom, because each look is a system call.
#[derive(Debug, Default)]
pub(super) struct PlainHits {
    /// The event loop waits for a report, and nobody else does.
    pub(super) may_pass: bool,
    /// The number of other reports since the last such hit.
    others: u32,
}

/// The number of other reports that may come between two such hits.
const MOST_OTHERS: u32 = 4;
/// Where more come, the tracer looks before one report in this number.
const SELDOM: u32 = 16;

impl PlainHits {
    /// Whether the tracer looks before it takes the next report.
    pub(super) fn are_likely(&mut self) -> bool {
        if self.others > MOST_OTHERS {
            self.others = self.others.wrapping_add(1);
        }
        self.may_pass && (self.others <= MOST_OTHERS || self.others % SELDOM == 0)
    }

    /// Notes what a look has found.
    pub(super) fn note(&mut self, found: Found) {
        match found {
            Found::Passed => self.others = 0,
            Found::Running => {}
            Found::Other => self.others = self.others % (1 << 16) + 1,
        }
    }
}

/// Counts the hit that a thread has stopped for, and lets the thread continue, if that is all that the hit needs. Otherwise the thread stays as it is,
/// with its report.
pub(super) fn pass_plain_hit(tracees: &mut Tracees, tid: Tid) -> Result<Found> {
    let info = match sys::siginfo(tid) {
        Ok(info) => info,
        Err(error) if is_gone(&error) => return Ok(Found::Running),
        // A group-stop has no information.
        Err(_) => return Ok(Found::Other),
    };
    if info.signal() != libc::SIGTRAP || !arch::is_breakpoint(&info) {
        return Ok(Found::Other);
    }
    // What cannot be read is asked for once more by those who take the report.
    let has_calls = tracees.space_at(tid)?.has_calls;
    let Ok((pc, traced)) = pc_and_trace(tid, has_calls) else { return Ok(Found::Other) };
    let site = pc.wrapping_sub(BEHIND);
    let Some(passed) = tracees.space_at(tid)?.plain_hit(site) else { return Ok(Found::Other) };
    if passed.calls && (!has_calls || traced || arch::has_shadow_stack(tid)) {
        return Ok(Found::Other);
    }
    if !sys::signal_mask(tid).is_ok_and(|mask| !sys::had_blocked(mask, Handled::Trap.signal())) {
        return Ok(Found::Other);
    }
    if tracees.outlives_tracer(tid) {
        // If the tracer is killed now, the handler in the debuggee gets the signal, wherever the thread is by then.
        let mut named = info;
        named.set_address(site);
        if sys::set_siginfo(tid, &named).is_err() {
            return Ok(Found::Other);
        }
    }
    if arch::set_pc(tid, passed.address).is_err() {
        return Ok(Found::Other);
    }
    match sys::cont(tid, 0) {
        Ok(()) => {}
        // The thread has ended, which is another report.
        Err(error) if is_gone(&error) => {}
        Err(_) => {
            sys::insist(|| arch::set_pc(tid, pc))?;
            return Ok(Found::Other);
        }
    }
    let pid = tracees.thread(tid)?.pid;
    let space = tracees.space_of_mut(pid)?;
    space.count_once(site);
    let epoch = space.epoch;
    let thread = tracees.thread_mut(tid)?;
    thread.seen = epoch;
    thread.traced_at = None;
    Ok(Found::Passed)
}

/// The pc of a stopped thread and, by the same request where that is asked for, whether the program single-steps itself.
fn pc_and_trace(tid: Tid, asked: bool) -> Result<(u64, bool)> {
    if !asked {
        return Ok((arch::pc(tid)?, false));
    }
    let registers = arch::read(tid)?;
    Ok((crate::arch::pc(&registers), arch::traces(&registers)))
}

/// Whether the code of a slot does for a stopped thread what the instruction does.
pub(super) fn can_pass_by(tid: Tid, slot: BySlot) -> Result<bool> {
    Ok(!slot.calls || !arch::has_shadow_stack(tid) && !arch::traces(&arch::read(tid)?))
}

/// Whether a stop of the thread may be a hit that needs nothing but a count: nobody waits for the thread, and it runs freely.
pub(super) fn may_pass_plain_hits(tracees: &Tracees, tid: Tid) -> bool {
    let Some(thread) = tracees.threads.get(&tid) else { return false };
    let Some(debuggee) = tracees.debuggees.get(&thread.pid) else { return false };
    // Other threads may have taken the report.
    !tracees.options.others_wait && !tracees.watching && runs_freely(thread) && has_settled(tracees, debuggee)
}

fn runs_freely(thread: &Thread) -> bool {
    let is_asked = thread.pins > 0 || thread.hold != Hold::Not || thread.interruption.for_user || thread.due.is_some();
    let stops_elsewhere = thread.loading || thread.calls.traced || thread.handlers.is_any();
    let has_past = thread.rewound.is_some() || thread.step_of_killed || thread.owns_trap_flag;
    matches!((thread.state, thread.run, thread.goal), (State::Running, Run::Free, Goal::None))
        && !is_asked
        && !stops_elsewhere
        && !has_past
        && thread.slot.deferred.is_empty()
        && thread.slot.scratch.is_none()
}

/// Whether a process has what it needs if the tracer is killed. On arm64 nobody moves the pc before a wait.
fn has_settled(tracees: &Tracees, debuggee: &Debuggee) -> bool {
    if debuggee.silent || debuggee.exit_kill {
        return !debuggee.silent;
    }
    let has_page = tracees.spaces.get(&debuggee.space).is_some_and(|space| space.trap_handler.is_some());
    BEHIND > 0 && (!has_page || !debuggee.actions.is_any_lacking())
}
