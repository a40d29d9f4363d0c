//! What vectors know of the instruction that starts at a byte: one byte with its length and the prefixes with which the length holds.
//!
//! A state without [`PLAIN`] tells nothing of the instruction as it stands; one without any of the four bits tells nothing at all.

/// The length in bytes, up to 15.
pub(super) const LENGTH: u8 = 0x0f;
/// The bytes are an instruction, also behind a segment override.
pub(super) const PLAIN: u8 = 0x80;
/// Behind 66 they are one, whose length [`SHRINKS`] can change.
pub(super) const WITH_66: u8 = 0x10;
/// Behind F3 they are one.
pub(super) const WITH_F3: u8 = 0x20;
/// Behind F2 they are one.
pub(super) const WITH_F2: u8 = 0x40;
/// All of these bits.
pub(super) const PREFIXES: u8 = PLAIN | WITH_66 | WITH_F3 | WITH_F2;

/// In the byte of sizes: what 66 takes away from the immediate, without REX.W. The bit is that number.
pub(super) const SHRINKS: u8 = 2;
/// In the byte of sizes: what REX.W adds to the immediate. The bit is that number.
pub(super) const GROWS: u8 = 4;
