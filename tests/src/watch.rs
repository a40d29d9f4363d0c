//! The end of a test that hangs.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The variable with the most seconds that this test program may take before it is killed. `cargo xtask` sets it in virtual machines.
const MOST_SECONDS: &str = "NTRACE_MOST_SECONDS";

/// Ends this process, and names the test, shortly before the whole program would be killed, unless it is dropped before.
///
/// A test that waits for a process which waits in the kernel for ever can neither be failed nor left in another way.
#[must_use]
pub struct Watch(#[expect(dead_code, reason = "its end is what the watching thread waits for")] Sender<()>);

impl Watch {
    /// Begins to watch a test.
    pub fn begin(test: &'static str) -> Watch {
        let (running, ended) = channel();
        if let Some(most) = std::env::var(MOST_SECONDS).ok().and_then(|most| most.parse::<u64>().ok()) {
            let most = Duration::from_secs(most * 9 / 10);
            std::thread::spawn(move || {
                if ended.recv_timeout(most) == Err(RecvTimeoutError::Timeout) {
                    // Written past the harness, which keeps a test's output until the test ends.
                    let _ = writeln!(std::io::stderr().lock(), "{test} did not end within {} s", most.as_secs());
                    std::process::abort();
                }
            });
        }
        Watch(running)
    }
}
