//! The wait for a file: the line that shows its progress, and the conditions that end it.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use super::client::Step;
use crate::door::is_ready;
use crate::output::{Busy, Patience, shown, tell};

/// The time without a byte after which a request ends, unless the environment has another one (debuginfod_find_debuginfo(3)).
const LIMIT: Duration = Duration::from_secs(90);
/// A shorter wait is not told of where no terminal shows it.
const UNTOLD: Duration = Duration::from_secs(1);

/// Why a request ended before its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The user ends ntrace.
    Stopped,
    /// No byte came in this time.
    Silent(Duration),
}

/// The time without a byte after which a request ends, by the text of the variable for it. `None`: there is no limit.
pub(super) fn limit(text: Option<&str>) -> Option<Duration> {
    match text.and_then(|text| text.trim().parse::<i64>().ok()) {
        None => Some(LIMIT),
        Some(seconds) => u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs),
    }
}

/// A wait for one file.
pub(super) struct Wait<'a> {
    what: String,
    limit: Option<Duration>,
    stop: Option<&'a File>,
    began: Instant,
    /// The time at which the last byte came.
    moved: Instant,
    /// The number of bytes that had come at the last step.
    done: u64,
    busy: Option<Busy>,
    told: bool,
    end: Option<End>,
}

impl<'a> Wait<'a> {
    /// A wait for the debug information of the file at a path.
    pub(super) fn new(path: &Path, limit: Option<Duration>, patience: Patience, stop: Option<&'a File>) -> Wait<'a> {
        // A terminal cuts a long line: what ends the wait stands before what may be long.
        let name = shown(path.file_name().unwrap_or(path.as_os_str()));
        let (what, now) = (format!("fetching debug information (Ctrl-C ends ntrace): {name}"), Instant::now());
        let busy = patience.begin(|| what.clone());
        Wait { what, limit, stop, began: now, moved: now, done: 0, told: busy.is_some(), busy, end: None }
    }

    /// Whether the user ends ntrace.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| is_ready(stop.as_fd()))
    }

    /// Why the request was ended.
    pub(super) fn end(&self) -> Option<End> {
        self.end
    }

    /// Shows a step, and says whether the request goes on.
    pub(super) fn goes_on(&mut self, step: &Step) -> bool {
        let now = Instant::now();
        // While no server sends the file, the number grows by one with each call.
        if step.done != self.done.saturating_add(1) && step.done != self.done {
            self.moved = now;
        }
        self.done = step.done;
        let text = || format!("{}{}", self.what, progress(step));
        if let Some(busy) = &self.busy {
            busy.say(text());
        } else if !self.told && now.duration_since(self.began) >= UNTOLD {
            tell(text());
            self.told = true;
        }
        if self.is_stopped() {
            self.end = Some(End::Stopped);
        } else if let Some(limit) = self.limit.filter(|limit| now.duration_since(self.moved) >= *limit) {
            self.end = Some(End::Silent(limit));
        }
        self.end.is_none()
    }
}

/// From where how much has come.
fn progress(step: &Step) -> String {
    let server = step.url.as_deref().map(|url| format!(" from {}", server(url))).unwrap_or_default();
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    match step.all {
        0 => server,
        all => format!("{server}, {:.1} of {:.1} MB", megabytes(step.done), megabytes(all)),
    }
}

/// The part of an address that names the server, without a user's name and password.
pub(super) fn server(url: &str) -> &str {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or(host);
    host.rsplit_once('@').map_or(host, |(_, host)| host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_that_of_the_environment_and_zero_or_less_is_none() {
        let seconds = |text| limit(text).map(|limit| limit.as_secs());
        assert_eq!([None, Some(""), Some("7"), Some(" 3 ")].map(seconds), [Some(90), Some(90), Some(7), Some(3)]);
        assert_eq!([Some("0"), Some("-1")].map(seconds), [None, None]);
    }

    #[test]
    fn a_server_is_told_without_password() {
        assert_eq!(server("https://me:secret@debuginfod.example/buildid/12/debuginfo"), "debuginfod.example");
        assert_eq!(server("http://[::1]:8002/x"), "[::1]:8002");
    }

    #[test]
    fn a_request_ends_when_no_byte_comes_and_goes_on_while_bytes_come() {
        let step = |done, all| Step { done, all, url: None };
        let wait = |limit| Wait::new(Path::new("/bin/true"), limit, Patience::default(), None);
        let mut silent = wait(Some(Duration::ZERO));
        assert!(!silent.goes_on(&step(1, 0)), "a call without a byte");
        assert_eq!(silent.end(), Some(End::Silent(Duration::ZERO)));
        let mut endless = wait(None);
        assert!(endless.goes_on(&step(1, 0)) && endless.goes_on(&step(2, 0)));
        let mut steady = wait(Some(Duration::from_secs(3600)));
        let before = steady.moved;
        assert!(steady.goes_on(&step(1, 0)) && steady.moved == before);
        assert!(steady.goes_on(&step(4096, 0)) && steady.moved > before);
    }
}
