//! Takes breakpoints and storage out of an address space and detaches its threads, which are stopped.

use super::super::arch;
use super::super::breakpoints::arenas::unmap_arenas;
use super::super::breakpoints::jump_memory::unmap_jumps;
use super::super::breakpoints::trap_handler::{is_handler_running, unmap_page, withdraw_everywhere};
use super::super::reports::Reports;
use super::super::resend::resend;
use super::super::space::mapping_at;
use super::super::sys::{self, insist, unless_gone};
use super::super::thread::Stop;
use super::super::tracees::Tracees;
use super::requeue::requeue_signals;
use crate::process::read_maps;
use crate::{Address, Error, NoJump, Pid, Result, Tid};

/// Detaches a process, and those that share its memory. Threads that could not be stopped are detached later. Whatever goes
/// wrong with one thread, none stays stopped; the result is the first error.
pub(in crate::ptrace) fn release_process(tracees: &mut Tracees, reports: &mut Reports, pid: Pid) -> Result<()> {
    let Ok(space) = tracees.debuggee(pid).map(|debuggee| debuggee.space) else { return Ok(()) };
    let pids = tracees.processes_in(space);
    let mut outcome = Ok(());
    let is_stopped = |tid: &Tid| tracees.threads.get(tid).is_some_and(|thread| thread.stop().is_some());
    let (stopped, stuck): (Vec<Tid>, Vec<Tid>) = tracees.threads_in(space).into_iter().partition(is_stopped);
    for &tid in &stopped {
        if tracees.watching {
            outcome = outcome.and(unless_gone(tracees.disarm(tid)));
        }
        outcome = outcome.and(unless_gone(put_to_original_place(tracees, tid)));
    }
    outcome = outcome.and(unless_gone(insist(|| restore_code(tracees, pid))));
    // A thread that could not be brought out of a slot still needs the storage.
    if outcome.is_ok() && stuck.is_empty() {
        outcome = unless_gone(withdraw_everywhere(tracees, reports, space));
    }
    if outcome.is_ok() && stuck.is_empty() && !is_handler_running(tracees, space) {
        outcome = unless_gone(unmap_jumps(tracees, reports, pid));
        outcome = outcome.and(unless_gone(unmap_arenas(tracees, reports, pid)));
        outcome = outcome.and(unless_gone(unmap_page(tracees, reports, space)));
    }
    for tid in stopped {
        outcome = outcome.and(unless_gone(detach_thread(tracees, reports, tid)));
    }
    stuck.into_iter().for_each(|tid| reports.detach_later(tracees, tid));
    for pid in pids {
        reports.drop_reports_of_process(tracees, pid);
        tracees.remove_process(pid);
    }
    outcome
}

/// Moves a stopped thread to where it would be without breakpoints.
fn put_to_original_place(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    if let Some((saved, _)) = tracees.thread(tid)?.step().and_then(|step| step.probe) {
        arch::write(tid, &saved)?;
        tracees.thread_mut(tid)?.end_slot();
    }
    tracees.leave_slot(tid)?;
    for info in std::mem::take(&mut tracees.thread_mut(tid)?.slot.deferred) {
        resend(tracees, tid, info)?;
    }
    Ok(())
}

/// Removes all breakpoint instructions from the process' memory.
fn restore_code(tracees: &mut Tracees, pid: Pid) -> Result<()> {
    let maps = read_maps(pid)?;
    let space = tracees.space_of_mut(pid)?;
    let heads: Vec<u64> = space.jumps.sites().collect();
    let jumped = space.remove_jumps(&maps, &heads, NoJump::Asked);
    let sites: Vec<u64> = space.sites.keys().copied().collect();
    match jumped.or(space.disarm(&maps, &sites)) {
        // The storage stays, so that the handler of `SIGTRAP` passes threads there.
        Some(site) if mapping_at(&read_maps(pid)?, site).is_some() => {
            Err(Error::Memory { pid, address: Address(site) })
        }
        _ => Ok(()),
    }
}

fn detach_thread(tracees: &mut Tracees, reports: &mut Reports, tid: Tid) -> Result<()> {
    requeue_signals(tracees, reports, tid)?;
    match tracees.thread(tid)?.stop() {
        Some(Stop::Signal(info)) => sys::detach(tid, info.signal()),
        _ => sys::detach(tid, 0),
    }
}
