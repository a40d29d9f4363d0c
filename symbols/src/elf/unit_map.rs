//! The units of debug information by the addresses of their code, as `.debug_aranges` lists them (DWARF 5, 6.1.2).

use std::ops::Range;

use gimli::{DebugInfo, Dwarf, Reader as _, Section as _};

use crate::reader::Reader;

/// The largest number of ranges that are kept.
const MOST: usize = 1 << 20;

/// Ranges of code, ascending, each with the place of its unit in `.debug_info`.
#[derive(Debug)]
pub(super) struct UnitMap(Vec<(Range<u64>, usize)>);

impl UnitMap {
    /// Reads the list. `None`: it is malformed. `is_code`: ranges elsewhere are those of functions that the linker dropped.
    pub(super) fn load(dwarf: &Dwarf<Reader>, is_code: impl Fn(u64) -> bool) -> Option<UnitMap> {
        let mut all = Vec::new();
        let mut headers = dwarf.debug_aranges.headers();
        while let Some(header) = headers.next().ok()? {
            let mut entries = header.entries();
            while let Some(entry) = entries.next().ok()? {
                let (start, end) = (entry.address(), entry.address().checked_add(entry.length())?);
                if start < end && is_code(start) {
                    all.push((start..end, header.debug_info_offset().0));
                }
                if all.len() > MOST {
                    return None;
                }
            }
        }
        all.sort_unstable_by_key(|(range, unit)| (range.start, range.end, *unit));
        all.dedup();
        Some(UnitMap(apart(all)))
    }

    /// The place of the unit with the code at an address. `None`: the list does not tell.
    pub(super) fn holding(&self, address: u64) -> Option<usize> {
        let last = self.0.partition_point(|(range, _)| range.start <= address).checked_sub(1)?;
        self.0.get(last).filter(|(range, _)| range.contains(&address)).map(|(_, unit)| *unit)
    }
}

/// The ranges that overlap no other one. Code that several units have, of which the linker kept one copy, belongs to all of them for the list.
fn apart(all: Vec<(Range<u64>, usize)>) -> Vec<(Range<u64>, usize)> {
    let starts: Vec<u64> = all.iter().skip(1).map(|(range, _)| range.start).chain([u64::MAX]).collect();
    let mut before = 0;
    let is_apart = |((range, unit), next): ((Range<u64>, usize), u64)| {
        let is_apart = before <= range.start && range.end <= next;
        before = before.max(range.end);
        is_apart.then_some((range, unit))
    };
    all.into_iter().zip(starts).filter_map(is_apart).collect()
}

/// The debug information of the unit at a place in `.debug_info` alone, as far as its lines need it.
pub(super) fn alone(dwarf: &Dwarf<Reader>, unit: usize) -> gimli::Result<Dwarf<Reader>> {
    let header = dwarf.debug_info.header_from_offset(gimli::DebugInfoOffset(unit))?;
    let mut bytes = dwarf.debug_info.reader().clone();
    bytes.skip(unit)?;
    bytes.truncate(header.length_including_self())?;
    Ok(Dwarf {
        debug_info: DebugInfo::from(bytes),
        debug_abbrev: dwarf.debug_abbrev.clone(),
        debug_addr: dwarf.debug_addr.clone(),
        debug_line: dwarf.debug_line.clone(),
        debug_line_str: dwarf.debug_line_str.clone(),
        debug_str: dwarf.debug_str.clone(),
        debug_str_offsets: dwarf.debug_str_offsets.clone(),
        ranges: dwarf.ranges.clone(),
        ..empty()
    })
}

/// Debug information without any section.
fn empty() -> Dwarf<Reader> {
    let none = || Reader::whole(Default::default());
    let loaded: Result<Dwarf<Reader>, std::convert::Infallible> = Dwarf::load(|_| Ok(none()));
    match loaded {
        Ok(dwarf) => dwarf,
        Err(never) => match never {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_two_units_claim_is_that_of_neither() {
        let map =
            UnitMap(apart(vec![(0x10..0x20, 1), (0x20..0x30, 1), (0x20..0x30, 2), (0x28..0x29, 3), (0x30..0x40, 2)]));
        let units = [0xf, 0x10, 0x1f, 0x20, 0x28, 0x2f, 0x30, 0x3f, 0x40].map(|address| map.holding(address));
        assert_eq!(units, [None, Some(1), Some(1), None, None, None, Some(2), Some(2), None]);
    }
}
