//! How text is written while threads run in it.

/// What pieces of text begin and end at multiples of. The kernel copies such ones by aligned stores, by which every instruction
/// changes at once; unaligned ones may change it byte by byte (Arm ARM B2.2.1; arch/arm64/lib/memcpy.S).
pub(in crate::ptrace) const GRANULE: u64 = 16;
