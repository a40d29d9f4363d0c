//! A session of the kernel module with the process that runs the test.

use crossing::channel::{self, Channel};
use wire::{Failure, Status};

/// No process may attach itself: a child does it on the same channel, and tells the number by its status.
pub(crate) fn attach_by_another(channel: &mut Channel) -> Result<u64, Failure> {
    let process = std::process::id();
    // SAFETY: the child only writes and reads, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let debuggee = channel::attach(channel, process).ok().and_then(|number| i32::try_from(number).ok());
        // SAFETY: it ends the child.
        unsafe { libc::_exit(debuggee.unwrap_or(0)) };
    }
    let mut status = 0;
    // SAFETY: the child is this process' and nobody else waits for it.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    match libc::WEXITSTATUS(status) as u64 {
        debuggee if libc::WIFEXITED(status) && debuggee != 0 => Ok(debuggee),
        _ => Err(Failure::new(Status::Denied, process.into())),
    }
}
