//! The addresses of the functions of a unit.

use std::collections::HashMap;
use std::ops::Range;

/// The functions of a unit by their addresses in the file. A function is the place of its entry in the unit.
#[derive(Debug, Default)]
pub(super) struct Extents {
    /// By the first address.
    pub(super) by_start: HashMap<u64, usize>,
    /// All ranges, in the order of the entries.
    pub(super) ranges: Vec<(Range<u64>, usize)>,
}

impl Extents {
    /// The innermost function that contains an address.
    pub(super) fn holding(&self, address: u64) -> Option<usize> {
        let holding = self.ranges.iter().filter(|(range, _)| range.contains(&address));
        holding.min_by_key(|(range, _)| range.end - range.start).map(|(_, at)| *at)
    }
}
