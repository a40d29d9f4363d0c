//! Reach of slots.

/// Reach of a 32-bit displacement in bytes, less a margin for the sizes of slot and site.
pub const REACH: u64 = (1 << 31) - (1 << 20);
/// Alignment of mappings in bytes.
pub const PAGE: u64 = 4096;

/// Whether a slot anywhere in `start..end` reaches all of `low..=high` in 64-bit code; displacements of 32-bit code wrap at 4 GiB.
#[inline]
pub const fn reaches(start: u64, end: u64, low: u64, high: u64) -> bool {
    high.saturating_sub(start) <= REACH && end.saturating_sub(low) <= REACH
}
