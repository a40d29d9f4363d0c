//! A request in a thread of its own: newer versions of the library call back only while a server sends the file.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};

use super::client::{Client, Step};

/// The longest time between two looks whether the request goes on.
const LOOK: Duration = Duration::from_millis(100);

/// What the thread tells.
enum Told {
    Step(Step),
    Done(Result<PathBuf, Errno>, Client),
}

/// Asks for the debug file with a build ID. `goes_on` is called with each step, and at least ten times a second. When it says no, the thread is
/// left alone with the client, and `None` is returned. It ends with the library's own wait, or with the process.
pub(super) fn make(
    mut client: Client,
    build_id: Vec<u8>,
    mut goes_on: impl FnMut(&Step) -> bool,
) -> Option<(Result<PathBuf, Errno>, Client)> {
    let (told, news) = channel();
    let mut before = SigSet::empty();
    // The thread takes no signal.
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut before)).ok()?;
    let thread = Builder::new().name("debuginfod".into()).spawn(move || {
        // Nobody receives when the request was given up.
        let found = client.find(&build_id, &mut |step| told.send(Told::Step(step)).is_ok());
        let _ = told.send(Told::Done(found, client));
    });
    // A mask that was in force is valid.
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    thread.ok()?;
    let mut last = Step::default();
    loop {
        match news.recv_timeout(LOOK) {
            Ok(Told::Done(found, client)) => return Some((found, client)),
            Ok(Told::Step(step)) => last = step,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
        if !goes_on(&last) {
            return None;
        }
    }
}
