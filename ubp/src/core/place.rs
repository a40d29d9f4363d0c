//! Where in a debuggee's address space an arena can lie.

/// The lowest address that may be mapped (vm.mmap_min_addr is at most this by default).
const LOWEST: u64 = 0x1_0000;
/// Room left behind the heap, which grows up, and below a stack, which grows down.
pub(crate) const GROWTH: u64 = 1 << 30;

/// What a part of the address space is to its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Stays as it is.
    Fixed,
    /// Grows up.
    Heap,
    /// Grows down.
    Stack,
}

/// A part of the address space that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// First byte.
    pub start: u64,
    /// Behind the last byte.
    pub end: u64,
    /// What it is to its neighbours.
    pub usage: Use,
}

/// In each gap between `areas`, which are sorted, the address nearest to the code at `low..=high` for a mapping of `size` bytes,
/// a whole number of pages of `page` bytes. A page is left free on both sides. Addresses end before `end`.
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
        // What is mapped may end within such a page: processors have several sizes.
        let first = bottom.saturating_add(if below == Use::Heap { GROWTH } else { page } + page - 1) & !(page - 1);
        let last = top.saturating_sub(if usage == Use::Stack { GROWTH } else { page });
        bottom = bottom.max(behind);
        below = usage;
        let last_start = last.checked_sub(size).filter(|&start| start >= first)?;
        // As near to the code as the gap allows.
        let wanted = if first > high { first } else { last_start.min(low) };
        let start = wanted.max(first).min(last_start) & !(page - 1);
        (start >= first).then_some(start)
    })
}
