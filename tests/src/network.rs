//! Networks of single threads.

use std::io;

/// Moves the calling thread into a network of its own, which has no address yet. Processes that it starts belong there, too. The network ends with
/// them and the thread.
///
/// # Errors
/// Only root may have one.
pub fn leave() -> io::Result<()> {
    // SAFETY: the call concerns the thread's network alone.
    match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
