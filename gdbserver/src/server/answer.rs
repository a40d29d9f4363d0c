//! Answers to packets.

/// What the client gets for a packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Ok,
    /// An error by its number in the protocol (GDB manual, "Errno Values").
    Error(u8),
    /// An error in words, for clients that understand them.
    Wrong(String),
    Text(String),
    Bytes(Vec<u8>),
    /// The server does not know the packet.
    Unknown,
    /// The answer is a stop that follows later, or none.
    Later,
    /// As [`Answer::Ok`]; the conversation ends then.
    Last,
}

/// Not permitted.
pub(crate) const EPERM: u8 = 1;
/// Memory cannot be accessed.
pub(crate) const EFAULT: u8 = 14;
/// The packet is malformed, or names what is not there.
pub(crate) const EINVAL: u8 = 22;

impl Answer {
    pub(crate) fn text(text: impl Into<String>) -> Answer {
        Answer::Text(text.into())
    }

    /// [`Answer::Ok`], or the error with its words.
    pub(crate) fn of<T>(result: ubp::Result<T>) -> Answer {
        match result {
            Ok(_) => Answer::Ok,
            Err(error) => Answer::Wrong(error.to_string()),
        }
    }

    /// The bytes of the packet; `None`: no packet. `words`: the client understands errors in words.
    pub(crate) fn packet(self, words: bool) -> Option<Vec<u8>> {
        Some(match self {
            Answer::Ok | Answer::Last => b"OK".to_vec(),
            Answer::Error(number) => format!("E{number:02x}").into_bytes(),
            Answer::Wrong(text) if words => format!("E.{text}").into_bytes(),
            Answer::Wrong(_) => format!("E{EINVAL:02x}").into_bytes(),
            Answer::Text(text) => text.into_bytes(),
            Answer::Bytes(bytes) => bytes,
            Answer::Unknown => Vec::new(),
            Answer::Later => return None,
        })
    }
}
