//! What stops the program without a breakpoint of the user's: signals, and exceptions that a language throws.

use std::collections::HashSet;

use nix::libc;
use serde_json::{Value, json};
use ubp::{SignalInfo, Tid};

use super::stop::{Reason, Stop};

/// What can stop the program: the protocol's name, the user's, and whether it does unless the user says otherwise.
pub(super) const FILTERS: [(&str, &str, bool); 4] = [
    ("fatal", "Signals that end programs", true),
    ("signals", "All other signals", false),
    ("throw", "C++: throw", false),
    ("panic", "Rust: panic", false),
];

/// Signals that tell of a mistake of the program (signal(7)).
const FATAL: [i32; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
    libc::SIGSYS,
    libc::SIGTRAP,
    libc::SIGQUIT,
];

/// A function that a language's run-time calls to throw an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thrower {
    /// The filter that the user chooses.
    pub(super) filter: &'static str,
    pub(super) function: &'static str,
    /// The exception in the user's words.
    pub(super) words: &'static str,
}

pub(super) const THROWERS: [Thrower; 2] = [
    Thrower { filter: "throw", function: "__cxa_throw", words: "C++ exception thrown" },
    Thrower { filter: "panic", function: "rust_panic", words: "Rust panic" },
];

/// What stops the program.
#[derive(Debug)]
pub(super) struct Exceptions {
    pub(super) chosen: HashSet<String>,
    /// Whether `SIGTERM` passes: the client asked for the end.
    passes_termination: bool,
    /// The thread that an exception stopped last, and its description.
    pub(super) last: Option<(Tid, String)>,
}

impl Default for Exceptions {
    fn default() -> Exceptions {
        let chosen = FILTERS.iter().filter(|(.., is_chosen)| *is_chosen).map(|(name, ..)| (*name).into());
        Exceptions { chosen: chosen.collect(), passes_termination: false, last: None }
    }
}

impl Exceptions {
    /// The description of a signal that stops the program.
    pub(super) fn signal(&self, info: &SignalInfo) -> Option<String> {
        let number = info.signal.0;
        let filter = if FATAL.contains(&number) { "fatal" } else { "signals" };
        if number == libc::SIGTERM && self.passes_termination || !self.chosen.contains(filter) {
            return None;
        }
        Some(format!("signal {}", info.signal))
    }

    pub(super) fn pass_termination(&mut self) {
        self.passes_termination = true;
    }

    pub(super) fn note_stop(&mut self, stop: &Stop) {
        self.last = match &stop.reason {
            Reason::Exception(text) => Some((stop.tid, text.clone())),
            _ => None,
        };
    }
}

/// What the client offers to its user.
pub(super) fn filters() -> Value {
    let filter =
        |(name, label, is_chosen): (&str, &str, bool)| json!({ "filter": name, "label": label, "default": is_chosen });
    FILTERS.map(filter).into_iter().collect()
}
