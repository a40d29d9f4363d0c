//! Threads of ntrace's own beside the one that traces.

use std::io;
use std::thread::{Builder, JoinHandle};

use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};

/// Starts a thread that takes no signal.
///
/// # Errors
/// The kernel gives no thread.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let mut before = SigSet::empty();
    pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut before))?;
    let thread = Builder::new().name(name.into()).spawn(work);
    // A mask that was in force is valid.
    let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    thread
}
