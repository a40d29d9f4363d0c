//! Parts of a value that are not there: a compiler may keep some members of a structure alone.

use std::ops::Range;

use crate::types::{Shape, Type};

/// Bytes of a value that are not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    /// The offsets of the bytes in the value.
    pub(crate) range: Range<u64>,
    /// Why they are not there, as [`Data::Unknown`](super::Data::Unknown) says it.
    pub(crate) reason: &'static str,
}

/// The holes of the part of a value that has `size` bytes from `offset` on. Holes do not overlap.
pub(super) fn within(holes: &[Hole], offset: u64, size: u64) -> Vec<Hole> {
    let end = offset.saturating_add(size);
    let cut = |Hole { range, reason }: &Hole| {
        let (start, end) = (range.start.max(offset), range.end.min(end));
        (start < end).then(|| Hole { range: start - offset..end - offset, reason })
    };
    holes.iter().filter_map(cut).collect()
}

/// Why a value with these holes cannot be told. `None`: it can, or some of its parts can.
pub(super) fn reason(kind: &Type, holes: &[Hole]) -> Option<&'static str> {
    let first = holes.first()?;
    let has_parts = match &kind.shape {
        Shape::Structure(structure) => !structure.members.is_empty(),
        Shape::Array { .. } | Shape::Variants { .. } => true,
        _ => false,
    };
    let absent: u64 = holes.iter().map(|hole| hole.range.end - hole.range.start).sum();
    (!has_parts || absent >= kind.size).then_some(first.reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_holes_that_lie_in_it() {
        let hole = |range| Hole { range, reason: "optimized out" };
        let holes = [hole(0..4), hole(6..20)];
        assert_eq!(within(&holes, 0, 4), [hole(0..4)]);
        assert_eq!(within(&holes, 4, 2), []);
        assert_eq!(within(&holes, 2, 8), [hole(0..2), hole(4..8)]);
        assert_eq!(within(&holes, 19, u64::MAX), [hole(0..1)]);
    }
}
