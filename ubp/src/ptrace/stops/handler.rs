//! A thread at the first instruction of a signal handler.

use stepping::Progress;

use super::super::arch;
use super::super::sys;
use super::super::thread::{Interrupted, Run, Stop};
use super::super::tracees::Tracees;
use crate::{Result, Signal, Tid};

/// Handles the step into a signal handler. Where the program handles `SIGTRAP`, the tracer unblocks that signal: at a breakpoint
/// the kernel would reset the program's action otherwise.
pub(super) fn on_handler_entry(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    tracees.set_stop(tid, Stop::Event)?;
    let run = std::mem::replace(&mut tracees.thread_mut(tid)?.run, Run::Free);
    let Run::IntoHandler { unblock_trap, frame_below } = run else { return Ok(()) };
    if let Some(sp) = frame_below {
        correct_frame(tracees, tid, sp)?;
    }
    if unblock_trap {
        let mask = sys::signal_mask(tid)?;
        sys::set_signal_mask(tid, mask & !Signal(libc::SIGTRAP).bit())?;
    }
    Ok(())
}

/// Puts the original address into the handler's frame. The signal interrupted a system call in a slot, and the kernel has decided
/// how the call continues. `sp` is the stack pointer before.
fn correct_frame(tracees: &mut Tracees, tid: Tid, sp: u64) -> Result<()> {
    let Some(at) = arch::frame_pc(&arch::read(tid)?) else { return Ok(()) };
    let space = tracees.space_at(tid)?;
    let place = space.memory.read_word(at, 8).and_then(|pc| space.place(pc));
    let Some((slot, place)) = place else { return Ok(()) };
    space.memory.write(at, &place.pc.to_le_bytes());
    let site = space.entry(slot).map(|entry| entry.site);
    if let Some(site) = site.filter(|_| place.progress == Progress::Before) {
        tracees.thread_mut(tid)?.handlers.interrupt(Interrupted { site, sp });
    }
    Ok(())
}
