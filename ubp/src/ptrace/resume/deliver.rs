//! The delivery of a signal to a thread that is at a site or in a slot.

use stepping::Progress;

use super::super::arch;
use super::super::breakpoints::trap_handler::{stands_for_default, withdraw};
use super::super::reports::Reports;
use super::super::resend::resend;
use super::super::slot;
use super::super::space::page::Handled;
use super::super::status::{Disposition, Status};
use super::super::stops::Next;
use super::super::stops::signal::can_finish_first;
use super::super::sys::SigInfo;
use super::super::thread::{Interrupted, Run, Stop};
use super::super::tracees::{Action, Tracees};
use crate::arch::{pc as pc_of, sp as sp_of};
use crate::{Result, Signal, Tid};

/// Delivers a signal. `moved`: the stop that could deliver it is gone.
pub(super) fn deliver(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    info: SigInfo,
    moved: bool,
) -> Result<Next> {
    if moved {
        return deliver_later(tracees, tid, info);
    }
    let pid = tracees.thread(tid)?.pid;
    if let Some(signal) = Handled::of(info.signal()) {
        if stands_for_default(tracees, pid, signal)? {
            // The signal is the program's. Without our handler it has the effect that the program expects.
            withdraw(tracees, reports, tid, pid, signal)?;
            if matches!(tracees.thread(tid)?.stop(), Some(Stop::Moved(_))) {
                return deliver_later(tracees, tid, info);
            }
        }
    }
    let status = put_for_signal(tracees, tid, Signal(info.signal()))?;
    let ours = tracees.debuggee(pid)?.actions[Handled::Trap] == Action::Ours;
    let caught = |signal| status.disposition(Signal(signal)) == Disposition::Caught;
    if !ours && caught(libc::SIGTRAP) && caught(info.signal()) {
        enter_handler(tracees, tid, true, None)?;
    }
    Ok(Next::Run(info.signal()))
}

/// Makes the thread stop at the first instruction of the handler.
fn enter_handler(tracees: &mut Tracees, tid: Tid, unblocks: bool, sp: Option<u64>) -> Result<()> {
    let thread = tracees.thread_mut(tid)?;
    let (unblock_trap, frame_below) = match thread.run {
        Run::IntoHandler { unblock_trap, frame_below } => (unblock_trap || unblocks, sp.or(frame_below)),
        _ => (unblocks, sp),
    };
    thread.run = Run::IntoHandler { unblock_trap, frame_below };
    Ok(())
}

fn deliver_later(tracees: &mut Tracees, tid: Tid, info: SigInfo) -> Result<Next> {
    resend(tracees, tid, info)?;
    tracees.set_stop(tid, Stop::Event)?;
    Ok(Next::Run(0))
}

/// Puts the thread where a handler of the signal may see it, and where the kernel decides about the restart of a system call.
/// Returns the thread's status.
pub(super) fn put_for_signal(tracees: &mut Tracees, tid: Tid, signal: Signal) -> Result<Status> {
    let status = Status::read(tid)?;
    let mut registers = arch::read(tid)?;
    let thread = tracees.thread(tid)?;
    let at = thread.reported_at.filter(|&at| at == pc_of(&registers));
    let space = tracees.space_of(thread.pid)?;
    let place = space.place(pc_of(&registers));
    let interrupted = arch::returned_eintr(&registers, &space.memory);
    if place.is_none() && at.is_none() && !interrupted {
        return Ok(status);
    }
    let disposition = status.disposition(signal);
    match disposition {
        // Without the tracer such a signal would not have woken the thread.
        Disposition::Ignored if interrupted => {
            arch::restart(tid, &mut registers, thread.interruption.call)?;
            arch::write(tid, &registers)?;
            return Ok(status);
        }
        Disposition::Ignored | Disposition::Stops => return Ok(status),
        Disposition::Caught | Disposition::Fatal => {}
    }
    if let Some((slot, place)) = &place {
        let decided_in_place = arch::DECIDED_IN_PLACE && place.progress == Progress::Before;
        if decided_in_place && disposition == Disposition::Caught && !can_finish_first(space, *slot) {
            enter_handler(tracees, tid, false, Some(sp_of(&registers)))?;
            return Ok(status);
        }
    }
    let again = match &place {
        Some((slot, place)) => {
            let comes_back = place.progress == Progress::Before || arch::asks_for_restart(&registers);
            let site = space.entry(*slot).map(|entry| entry.site);
            slot::translate(&mut registers, place, thread.slot.scratch);
            arch::write(tid, &registers)?;
            tracees.thread_mut(tid)?.end_slot();
            site.filter(|_| comes_back)
        }
        None => at,
    };
    let thread = tracees.thread_mut(tid)?;
    thread.reported_at = None;
    if let (Some(site), Disposition::Caught) = (again, disposition) {
        thread.handlers.interrupt(Interrupted { site, sp: sp_of(&registers) });
    }
    Ok(status)
}
