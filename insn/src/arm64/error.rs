use core::fmt;

/// Why a word is not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum ErrorKind {
    /// The word is unallocated, or UNDEFINED because of its fields.
    Undefined,
}

/// A word that is not an instruction, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// The word.
    pub word: u32,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ErrorKind::Undefined => write!(f, "undefined: {:#010x}", self.word),
        }
    }
}

impl core::error::Error for Error {}
