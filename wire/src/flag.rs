//! Flags of messages, as bits.

/// The next command is carried out only if this one succeeds.
pub const THEN: u16 = 1;
