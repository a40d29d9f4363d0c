use core::fmt;

/// Why bytes are not a message, or a message does not fit its declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The length in words is less than the header's, or more than [`MOST_WORDS`](crate::MOST_WORDS).
    Length(u32),
    /// No declaration has this code.
    Code(u16),
    /// The message has fewer words than its code declares fields.
    Fields {
        /// Number of declared fields.
        declared: usize,
        /// Number of words after the header.
        words: usize,
    },
    /// The lengths of the blobs do not add up to the rest of the message.
    Blobs {
        /// Sum of the lengths in bytes.
        bytes: u64,
        /// Number of words after the fields.
        words: usize,
    },
    /// The status in a reply has an unknown number.
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
