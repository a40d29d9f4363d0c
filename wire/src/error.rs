use core::fmt;

/// Why a message could not be written. `E` is the error of its [`Sink`](crate::Sink).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError<E> {
    /// The message would have more than [`MOST_WORDS`](crate::MOST_WORDS) words. Nothing was written.
    TooLong,
    /// The sink did not take the bytes. It may have taken the first of them.
    Sink(E),
}

impl<E> EncodeError<E> {
    /// The sink's error, if it is one.
    pub fn into_sink(self) -> Option<E> {
        match self {
            EncodeError::TooLong => None,
            EncodeError::Sink(error) => Some(error),
        }
    }
}

impl<E: fmt::Display> fmt::Display for EncodeError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::TooLong => f.write_str("the message would have more words than a message may have"),
            EncodeError::Sink(error) => write!(f, "the bytes of the message were not taken: {error}"),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for EncodeError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            EncodeError::TooLong => None,
            EncodeError::Sink(error) => Some(error),
        }
    }
}

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
    /// A blob does not consist of whole records.
    Records {
        /// Length of the blob in bytes.
        bytes: usize,
        /// Length of a record in bytes.
        record: usize,
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
            Error::Records { bytes, record } => {
                write!(f, "a blob of {bytes} bytes does not consist of records of {record} bytes")
            }
            Error::Status(status) => write!(f, "no status has the number {status}"),
        }
    }
}

impl core::error::Error for Error {}
