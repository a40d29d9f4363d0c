//! The failure of a command: a message and an exit status.

use std::fmt;

/// The status for a wrong command line.
pub(crate) const USAGE: u8 = 2;
/// The status for a failure of ntrace itself. This and the next two are those of env(1) and timeout(1).
pub(crate) const OWN: u8 = 125;
/// The status for a program that exists and cannot be started or traced.
pub(crate) const CANNOT_RUN: u8 = 126;
/// The status for a program or process that does not exist.
pub(crate) const NOT_FOUND: u8 = 127;

/// A message of one line for standard error, and the exit status of ntrace.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit status.
    pub(crate) status: u8,
    message: String,
}

/// The result of a function of the command.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Returns a failure with the given exit status.
    pub(crate) fn new(status: u8, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into() }
    }

    /// Returns a failure of ntrace itself.
    pub(crate) fn own(message: impl Into<String>) -> Failure {
        Failure::new(OWN, message)
    }

    /// Returns the failure for an error of the session that traces.
    pub(crate) fn trace(error: ubp::Error) -> Failure {
        Failure::own(error.to_string())
    }

    /// Returns the failure for a wrong command line.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(USAGE, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
