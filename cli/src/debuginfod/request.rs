//! A request in a thread of its own: newer versions of the library call back only while a server sends the file.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use nix::errno::Errno;

use super::client::{Client, Step};
use crate::thread;

/// The longest time between two questions whether the request goes on.
const LOOK: Duration = Duration::from_millis(100);

/// A message of the thread.
enum Told {
    Step(Step),
    Done(Result<PathBuf, Errno>, Client),
}

/// Asks for the debug file with a build ID. Returns the answer and the client.
///
/// `goes_on` is called at each step of the request, and at least ten times a second. When it returns `false`, the request is given up: `None` is
/// returned at once, and the thread keeps the client until the library returns, or the process ends.
pub(super) fn make(
    mut client: Client,
    build_id: Vec<u8>,
    mut goes_on: impl FnMut(&Step) -> bool,
) -> Option<(Result<PathBuf, Errno>, Client)> {
    let (told, news) = channel();
    let ask = move || {
        // A send fails when the request was given up, which ends the library's wait at its next step.
        let found = client.find(&build_id, &mut |step| told.send(Told::Step(step)).is_ok());
        let _ = told.send(Told::Done(found, client));
    };
    thread::spawn("debuginfod", ask).ok()?;
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
