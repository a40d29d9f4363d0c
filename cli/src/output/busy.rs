//! A line on the terminal while ntrace does something that takes long.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::live::{Live, TICK};
use crate::thread;

/// Work that takes less time is not shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// The texts of the work in progress, outermost first. The line shows the last one.
static WORK: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Shows work that takes long.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience {
    /// The process group of this job; `None`: nothing is shown.
    group: Option<i32>,
}

/// Work in progress, which one thread of a process does. The line goes when the outermost work is done.
pub(crate) struct Busy {
    /// The number of works around this one.
    depth: usize,
    /// The outermost work has the line.
    _line: Option<Line>,
}

/// A line that a second thread draws until this is dropped.
struct Line {
    /// The second thread waits for the end of this channel.
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Patience {
    /// For the job with the process group `group`. Without a terminal nothing is ever shown.
    pub(crate) fn new(group: i32) -> Patience {
        Patience { group: Live::new(group).map(|_| group) }
    }

    /// Notes that work begins, which may be a part of other work. `text` makes the line that describes the work.
    pub(crate) fn begin(self, text: impl FnOnce() -> String) -> Option<Busy> {
        let group = self.group?;
        let text = text();
        let depth = {
            let mut work = work();
            work.push(text);
            work.len() - 1
        };
        let mut live = None;
        let draw = move || {
            live = live.take().or_else(|| Live::new(group));
            if let (Some(live), Some(text)) = (&mut live, work().last()) {
                live.show(text);
            }
        };
        Some(Busy { depth, _line: if depth == 0 { Line::new(PATIENCE, draw) } else { None } })
    }
}

fn work() -> MutexGuard<'static, Vec<String>> {
    WORK.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Busy {
    /// Describes the work by another text.
    pub(crate) fn say(&self, text: String) {
        if let Some(known) = work().get_mut(self.depth) {
            *known = text;
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        work().truncate(self.depth);
    }
}

impl Line {
    /// Calls `draw` repeatedly once a time is over, in a thread of its own. `None`: there can be no thread.
    fn new(after: Duration, mut draw: impl FnMut() + Send + 'static) -> Option<Line> {
        let (done, end) = channel::<()>();
        let thread = thread::spawn("progress", move || {
            let mut wait = after;
            while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                draw();
                wait = TICK;
            }
        });
        Some(Line { done: Some(done), thread: Some(thread.ok()?) })
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.done = None;
        // The thread ends as soon as it sees the end of the channel.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_shown_until_it_ends_if_it_takes_long() {
        let (drawn, seen) = channel();
        let busy = Line::new(Duration::ZERO, move || _ = drawn.send(())).unwrap();
        assert_eq!((seen.recv(), seen.recv()), (Ok(()), Ok(())));
        drop(busy);
        // The thread, which has the other end, is gone.
        assert!(seen.iter().count() < 1000);
    }

    #[test]
    fn short_work_is_not_shown() {
        let (drawn, seen) = channel::<()>();
        drop(Line::new(Duration::from_secs(3600), move || _ = drawn.send(())));
        assert_eq!(seen.iter().count(), 0);
    }
}
