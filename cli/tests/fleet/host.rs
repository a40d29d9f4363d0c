//! One host: ntrace, and a program that works on request.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::common::{ntrace, scratch};
use crate::http::get;

/// A running ntrace with its program.
pub(crate) struct Host {
    pub(crate) ntrace: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    messages: BufReader<ChildStderr>,
    file: PathBuf,
}

/// What is left of a host.
pub(crate) struct Ended {
    /// The table that ntrace wrote at the end.
    pub(crate) table: Value,
    /// What ntrace told.
    pub(crate) messages: String,
}

impl Host {
    /// Starts the program under ntrace with these arguments.
    pub(crate) fn start(arguments: &[&str], program: &Path) -> Host {
        Host::start_by(ntrace(), arguments, program)
    }

    /// As `start`, by a prepared command.
    pub(crate) fn start_by(mut command: Command, arguments: &[&str], program: &Path) -> Host {
        let file = scratch("fleet.json");
        command.args(arguments).args(["--format", "json", "-o"]).arg(&file).arg("--").arg(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut ntrace = command.spawn().expect("ntrace runs");
        let requests = ntrace.stdin.take();
        let answers = BufReader::new(ntrace.stdout.take().unwrap());
        let messages = BufReader::new(ntrace.stderr.take().unwrap());
        Host { ntrace, requests, answers, messages, file }
    }

    /// Where ntrace says that it serves metrics.
    pub(crate) fn address(&mut self) -> SocketAddr {
        let mut line = String::new();
        self.messages.read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("ntrace: metrics at http://").and_then(|rest| rest.strip_suffix("/metrics"));
        address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("no address: {line}"))
    }

    /// Writes a line to the program.
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.requests.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Has the program call a function so often. Returns how often it has called any.
    pub(crate) fn work(&mut self, function: &str, count: u64) -> u64 {
        self.tell(&format!("{function} {count}"));
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim().parse().unwrap_or_else(|_| panic!("the program answers {line:?}"))
    }

    /// Lets the program end.
    pub(crate) fn end(mut self) -> Ended {
        self.requests = None;
        let mut messages = String::new();
        self.messages.read_to_string(&mut messages).unwrap();
        let status = self.ntrace.wait().unwrap();
        assert_eq!(status.code(), Some(3), "the program's own status; {messages}");
        let text = std::fs::read_to_string(&self.file).unwrap();
        Ended { table: serde_json::from_str(&text).unwrap(), messages }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        let _ = self.ntrace.kill();
        let _ = self.ntrace.wait();
    }
}

/// The metrics that are served at an address, as lines of a name with labels, and a number.
pub(crate) fn scraped(address: SocketAddr) -> Vec<(String, f64)> {
    let (head, body) = get(address, "/metrics");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    let lines = body.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.into(), value.parse().unwrap()))
        .collect()
}

/// The sum of the hits that are served at an address.
pub(crate) fn hits(address: SocketAddr) -> f64 {
    scraped(address).iter().filter(|(name, _)| name.starts_with("ntrace_hits_total")).map(|(_, value)| value).sum()
}
