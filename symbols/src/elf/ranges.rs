//! The ranges of a file that contain only instructions.

use std::ops::Range;

use object::{Object, ObjectSection, SectionKind};

use super::file::Elf;
use super::frames::Functions;
use super::headers::Parsed;
use super::symbol::Kind;
use super::table::SymbolTable;
use super::{plt, reach};

/// Returns the ranges of code, ascending and without overlap: one range for each known first instruction.
///
/// Unwind information and sized symbols give functions; stubs, start code and end code are added, and the code that control flow reaches
/// from all these. Data between functions is in no range.
pub(super) fn code(elf: &Elf, symbols: &SymbolTable, by_exceptions: &Functions) -> Vec<Range<u64>> {
    let mut ranges = elf.with_file(sections).unwrap_or_default();
    ranges.extend_from_slice(by_exceptions.ranges());
    for symbol in symbols.iter() {
        if matches!(symbol.kind, Kind::Function | Kind::Indirect) && symbol.size > 0 {
            ranges.push(symbol.address..symbol.address.saturating_add(symbol.size));
        }
    }
    let known = cut(held(elf, ranges));
    let reached = reach::reached(elf, &known);
    cut(known.into_iter().chain(reached).collect())
}

/// Cuts ranges to the code that the file contains.
fn held(elf: &Elf, mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    for range in &mut ranges {
        let held = if elf.is_code(range.start) { elf.held_at(range.start) } else { 0 };
        range.end = range.end.min(range.start.saturating_add(held));
    }
    ranges.retain(|range| range.start < range.end);
    ranges
}

fn sections(file: &Parsed<'_>) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        let whole = plt::is_plt(name) || matches!(name, ".init" | ".fini");
        if whole && section.kind() == SectionKind::Text {
            ranges.push(section.address()..section.address().saturating_add(section.size()));
        }
    }
    ranges
}

/// Cuts overlapping ranges at every start, so that each start is the first byte of exactly one range.
fn cut(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut starts: Vec<u64> = ranges.iter().map(|range| range.start).collect();
    starts.dedup();
    let mut cut = Vec::with_capacity(starts.len());
    let mut covered = 0;
    let mut rest = ranges.into_iter().peekable();
    for (i, &start) in starts.iter().enumerate() {
        while let Some(range) = rest.next_if(|range| range.start == start) {
            covered = covered.max(range.end);
        }
        let next = starts.get(i + 1).copied().unwrap_or(u64::MAX);
        cut.push(start..covered.min(next));
    }
    cut
}

/// Returns the whole code sections. They serve for a file that does not describe its functions.
pub(super) fn text_sections(elf: &Elf) -> Vec<Range<u64>> {
    let ranges = elf.with_file(|file| {
        let text = file.sections().filter(|section| section.kind() == SectionKind::Text);
        text.map(|section| section.address()..section.address().saturating_add(section.size())).collect()
    });
    cut(held(elf, ranges.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_and_overlapping_ranges_are_cut_at_every_start() {
        assert_eq!(cut(vec![0..10, 4..6, 20..30, 25..40]), [0..4, 4..10, 20..25, 25..40]);
    }

    #[test]
    fn equal_starts_give_one_range_with_the_farther_end() {
        assert_eq!(cut(vec![8..12, 8..16, 20..24]), [8..16, 20..24]);
    }

    #[test]
    fn a_gap_between_ranges_is_in_no_range() {
        assert_eq!(cut(vec![20..30, 0..10]), [0..10, 20..30]);
    }
}
