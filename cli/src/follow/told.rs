//! Messages that are printed once, although each program that a process executes causes them again.

use std::collections::HashSet;
use std::fmt::Display;

use crate::output::tell;

/// The messages that were printed, by key.
#[derive(Debug, Default)]
pub(super) struct Told(HashSet<String>);

impl Told {
    /// Prints a message, unless a message with the key was printed before.
    pub(super) fn tell_once(&mut self, key: impl Into<String>, message: impl Display) {
        if self.0.insert(key.into()) {
            tell(message);
        }
    }

    /// Whether a message with the key was printed.
    pub(super) fn contains(&self, key: &str) -> bool {
        self.0.contains(key)
    }
}
