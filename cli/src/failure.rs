//! How a run of the command ends when it cannot do what was asked.

use std::fmt;

/// The command line was wrong.
pub(crate) const USAGE: u8 = 2;
/// ntrace itself failed; the others are as in env(1) and timeout(1).
pub(crate) const OWN: u8 = 125;
/// The program was found but cannot be traced or run.
pub(crate) const CANNOT_RUN: u8 = 126;
/// The program or process was not found.
pub(crate) const NOT_FOUND: u8 = 127;

/// A message for standard error, one line, and the exit status that goes with it.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit status.
    pub(crate) status: u8,
    message: String,
}

/// What functions of the command return.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure with a status of its own.
    pub(crate) fn new(status: u8, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into() }
    }

    /// A failure of ntrace's own work.
    pub(crate) fn own(message: impl Into<String>) -> Failure {
        Failure::new(OWN, message)
    }

    /// A wrong command line.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(USAGE, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
