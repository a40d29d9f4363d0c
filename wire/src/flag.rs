//! Flags of a message.

/// The next command is carried out only where this one was done.
pub const THEN: u16 = 1;
