//! How far slots reach.

/// How far `b` reaches, less what a slot and its site take.
pub const REACH: u64 = (128 << 20) - (1 << 20);
/// The largest page that the kernel can be built with: what mappings begin at multiples of.
pub const PAGE: u64 = 64 << 10;

/// Whether a slot anywhere in `start..end` reaches all of `low..=high`.
#[inline]
pub const fn reaches(start: u64, end: u64, low: u64, high: u64) -> bool {
    high.saturating_sub(start) <= REACH && end.saturating_sub(low) <= REACH
}
