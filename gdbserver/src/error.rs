//! Why a server ended.

use std::{fmt, io};

/// Why a server could not begin, or ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The connection to the client failed.
    Connection(io::Error),
    /// The session failed.
    Session(ubp::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Connection(error) => write!(f, "the connection to the debugger failed: {error}"),
            Error::Session(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Connection(error) => Some(error),
            Error::Session(error) => Some(error),
        }
    }
}
