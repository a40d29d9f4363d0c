use core::fmt;

/// Why words are no message, or not the one of their code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A message says that it has so many words: fewer than its head, or more than a message may have.
    Length(u32),
    /// Nobody declares this code.
    Code(u16),
    /// The message has so many words of fields, and its code declares so many fields.
    Fields {
        /// Fields that are declared.
        declared: usize,
        /// Words behind the head.
        words: usize,
    },
    /// The blobs, with their lengths added, do not fill the rest of the message.
    Blobs {
        /// Bytes that the lengths add up to.
        bytes: u64,
        /// Words that are there for them.
        words: usize,
    },
    /// A reply has no such status.
    Status(u64),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Length(words) => write!(f, "a message cannot have {words} words"),
            Error::Code(code) => write!(f, "no message has the code {code:#x}"),
            Error::Fields { declared, words } => {
                write!(f, "{declared} fields are declared, and {words} words are there for them")
            }
            Error::Blobs { bytes, words } => write!(f, "blobs of {bytes} bytes do not fill {words} words"),
            Error::Status(status) => write!(f, "no status has the number {status}"),
        }
    }
}

impl core::error::Error for Error {}
