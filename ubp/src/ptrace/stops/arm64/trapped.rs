//! Faults of jumps. No trampoline stops threads.

use super::Next;
use crate::ptrace::arch;
use crate::ptrace::reports::Reports;
use crate::ptrace::sys::SigInfo;
use crate::ptrace::tracees::Tracees;
use crate::{Result, Tid};

/// Counts an arrival at a jump by an indirect branch beside a landing pad (BTI). The branch at the site faults as the program's instruction would, and
/// the signal is the program's.
pub(super) fn on_trapped(tracees: &mut Tracees, _: &mut Reports, tid: Tid, info: &SigInfo) -> Result<Option<Next>> {
    if info.signal() == libc::SIGILL && info.is_synchronous() {
        let (pc, pid) = (arch::pc(tid)?, tracees.thread(tid)?.pid);
        let space = tracees.space_of_mut(pid)?;
        if space.jumps.get(pc).is_some() && space.is_armed(pc) {
            space.count_once(pc);
        }
    }
    Ok(None)
}
