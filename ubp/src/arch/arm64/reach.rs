//! Reach of slots.

/// Reach of `b` in bytes, less a margin for the sizes of slot and site.
pub const REACH: u64 = (128 << 20) - (1 << 20);
/// Alignment of mappings in bytes: the largest page size that the kernel can be built with.
pub const PAGE: u64 = 64 << 10;

/// Whether a slot anywhere in `start..end` reaches all of `low..=high`.
#[inline]
pub const fn reaches(start: u64, end: u64, low: u64, high: u64) -> bool {
    high.saturating_sub(start) <= REACH && end.saturating_sub(low) <= REACH
}
