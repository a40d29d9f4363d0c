//! A browser without a window: Chromium, driven by the Chrome DevTools Protocol over two pipes (`--remote-debugging-pipe`).

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::pipe2;
use serde_json::{Value, json};

use crate::common::scratch;

/// The longest wait for an answer of the browser.
const PATIENCE: Duration = Duration::from_secs(60);
/// The descriptors that the browser reads and writes.
const ENDS: [i32; 2] = [3, 4];
/// Descriptors from here on are none of [`ENDS`].
const ABOVE: i32 = 10;
/// What the browser must not do: draw by a device that is not there, and ask the network for anything.
const OPTIONS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
];

/// A running browser with one page.
pub(crate) struct Browser {
    child: Child,
    requests: File,
    answers: File,
    /// What was read and is not handled yet.
    unread: Vec<u8>,
    last: u64,
    session: Option<String>,
    profile: PathBuf,
}

impl Browser {
    /// Starts the browser and opens a page. Returns `None` where there is no browser.
    pub(crate) fn open(url: &str) -> Option<Browser> {
        let profile = scratch("profile");
        let (theirs, requests) = pipe2(OFlag::O_CLOEXEC).unwrap();
        let (answers, theirs_too) = pipe2(OFlag::O_CLOEXEC).unwrap();
        let ends = [theirs, theirs_too].map(away);
        let numbers = ends.each_ref().map(AsRawFd::as_raw_fd);
        let mut command = Command::new("chromium");
        command.args(OPTIONS).arg(format!("--user-data-dir={}", profile.display())).arg("about:blank");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: the closure calls only dup2, which is async-signal-safe, with descriptors that are open.
        unsafe {
            command.pre_exec(move || {
                let done = numbers.iter().zip(ENDS).all(|(from, to)| libc::dup2(*from, to) == to);
                if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
            })
        };
        let child = command.spawn().ok()?;
        let (requests, answers) = (requests.into(), answers.into());
        let mut browser = Browser { child, requests, answers, unread: Vec::new(), last: 0, session: None, profile };
        let page = browser.call("Target.createTarget", json!({ "url": url }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": page, "flatten": true }));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        // A new page begins empty.
        browser.until("location.href != 'about:blank' && document.readyState == 'complete'");
        Some(browser)
    }

    /// What an expression of JavaScript is in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression of JavaScript holds in the page.
    pub(crate) fn until(&mut self, expression: &str) {
        let begin = Instant::now();
        while self.value(expression) != true {
            let text = || "document.documentElement.textContent";
            assert!(begin.elapsed() < PATIENCE, "{expression} does not hold: {}", self.value(text()));
        }
    }

    /// Asks the browser for something, and returns its answer.
    fn call(&mut self, method: &str, arguments: Value) -> Value {
        self.last += 1;
        let mut request = json!({ "id": self.last, "method": method, "params": arguments });
        if let Some(session) = &self.session {
            request["sessionId"] = session.as_str().into();
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).expect("the browser reads");
        loop {
            let mut answer = self.next();
            if answer["id"] == self.last {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }

    /// The next message. Each ends with a zero.
    fn next(&mut self) -> Value {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == 0) {
                let message: Vec<u8> = self.unread.drain(..=end).collect();
                return serde_json::from_slice(&message[..end]).expect("a message is JSON");
            }
            let mut wanted = [PollFd::new(self.answers.as_fd(), PollFlags::POLLIN)];
            let patience = PollTimeout::try_from(PATIENCE).unwrap();
            assert_ne!(poll(&mut wanted, patience).unwrap(), 0, "the browser does not answer");
            let mut bytes = [0; 1 << 16];
            let length = self.answers.read(&mut bytes).unwrap();
            assert_ne!(length, 0, "the browser has ended");
            self.unread.extend_from_slice(&bytes[..length]);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser's other processes end when it does.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// The same pipe by a number above [`ENDS`].
fn away(end: OwnedFd) -> OwnedFd {
    let number = fcntl(&end, FcntlArg::F_DUPFD_CLOEXEC(ABOVE)).unwrap();
    // SAFETY: the number is that of a new descriptor, which nothing else owns.
    unsafe { std::os::fd::FromRawFd::from_raw_fd(number) }
}
