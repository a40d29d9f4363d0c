//! The end of a test that hangs.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The most seconds that a test may take: three times what the longest one takes in an emulated machine, and less than a test program may.
const MOST_SECONDS: u64 = 400;

/// Ends this process, and names the test, unless it is dropped in time. It watches nothing in a soak test of full length.
///
/// A test that waits for a process which waits in the kernel for ever can neither be failed nor left in another way.
#[must_use]
pub struct Watch(#[expect(dead_code, reason = "its end is what the watching thread waits for")] Sender<()>);

impl Watch {
    /// Begins to watch a test.
    pub fn begin(test: &'static str) -> Watch {
        let (running, ended) = channel();
        if std::env::var_os("NTRACE_SOAK").is_none() {
            std::thread::spawn(move || {
                if ended.recv_timeout(Duration::from_secs(MOST_SECONDS)) == Err(RecvTimeoutError::Timeout) {
                    // Written past the harness, which keeps a test's output until the test ends.
                    let _ = writeln!(std::io::stderr().lock(), "{test} did not end within {MOST_SECONDS} s");
                    std::process::abort();
                }
            });
        }
        Watch(running)
    }
}
