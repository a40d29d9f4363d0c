//! Free addresses for an arena in a debuggee's address space.

/// The lowest address for an arena (the default of vm.mmap_min_addr is at most this).
pub(crate) const LOWEST: u64 = 0x1_0000;
/// Bytes left free above the heap, which grows up, and below a stack, which grows down.
pub(crate) const GROWTH: u64 = 1 << 30;

/// How a part of the address space may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Does not grow.
    Fixed,
    /// Grows up.
    Heap,
    /// Grows down.
    Stack,
}

/// A part of the address space that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// First byte.
    pub start: u64,
    /// First byte after the area.
    pub end: u64,
    /// How the area may grow.
    pub usage: Use,
}

/// For each gap between `areas` that is large enough, the address nearest to the code at `low..=high` for a mapping of `size` bytes.
///
/// `areas` are sorted by address, `end` is the end of the address space, and `size` is a multiple of `page`, the page size in bytes. At
/// least one page is left free on each side.
pub fn places(
    areas: impl Iterator<Item = Area>,
    end: u64,
    page: u64,
    size: u64,
    low: u64,
    high: u64,
) -> impl Iterator<Item = u64> {
    let mut bottom = LOWEST;
    let mut below = Use::Fixed;
    areas.chain([Area { start: end, end, usage: Use::Fixed }]).filter_map(move |Area { start, end: behind, usage }| {
        let top = start.min(end);
        // The area below may end inside such a page, because the kernel's page size may be smaller.
        let first = bottom.saturating_add(if below == Use::Heap { GROWTH } else { page } + page - 1) & !(page - 1);
        let last = top.saturating_sub(if usage == Use::Stack { GROWTH } else { page });
        bottom = bottom.max(behind);
        below = usage;
        let last_start = last.checked_sub(size).filter(|&start| start >= first)?;
        // The address in the gap that is nearest to the code.
        let wanted = if first > high { first } else { last_start.min(low) };
        let start = wanted.max(first).min(last_start) & !(page - 1);
        (start >= first).then_some(start)
    })
}
