//! Writes to text in which threads run.

/// The alignment of written pieces of text. The kernel copies an aligned piece by aligned stores, and each instruction changes at
/// once; the stores of an unaligned piece may change an instruction byte by byte (Arm ARM B2.2.1; arch/arm64/lib/memcpy.S).
pub(in crate::ptrace) const GRANULE: u64 = 16;
