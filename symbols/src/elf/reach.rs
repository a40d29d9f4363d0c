//! Finds code that neither unwind information nor symbols describe, by following control flow from known code.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};

use insn::Flow;
use object::{Object, ObjectSection, RelocationTarget, SectionKind};

use super::contents::{contents, words};
use super::file::Elf;
use super::headers::{Arch, Parsed};
use crate::code::{self, Insn, Mode};

/// Returns the ranges outside of `known` that control flow reaches: from the entry point, from the start and end functions, from direct
/// branches in `known`, and from `known` through padding. `known` is sorted and has no overlap.
pub(crate) fn reached(elf: &Elf, known: &[Range<u64>]) -> Vec<Range<u64>> {
    let sections = elf.with_file(text).unwrap_or_default();
    let mode = elf.arch().mode(code::vendor()).lenient();
    let mut flood = Flood { elf, mode, known, sections, found: BTreeMap::new(), work: Vec::new() };
    flood.work = elf.with_file(|file| starts(elf, file)).unwrap_or_default();
    for range in known {
        let walk = flood.follow(range.start, range.end);
        if walk.falls_through && walk.end == range.end {
            flood.pad(range.end);
        }
    }
    while let Some(start) = flood.work.pop() {
        if flood.is_new(start) {
            let end = flood.follow(start, flood.next_start(start)).end;
            if end > start {
                flood.found.insert(start, end);
            }
        }
    }
    flood.found.into_iter().map(|(start, end)| start..end).collect()
}

struct Flood<'a> {
    elf: &'a Elf,
    mode: Mode,
    known: &'a [Range<u64>],
    sections: Vec<Range<u64>>,
    /// The ends of the ranges that were found, by start.
    found: BTreeMap<u64, u64>,
    work: Vec<u64>,
}

/// The end of a sequence of instructions, and whether control continues there.
struct Walk {
    end: u64,
    falls_through: bool,
}

impl Flood<'_> {
    /// Whether an address is in a code section and in no range so far.
    fn is_new(&self, address: u64) -> bool {
        self.sections.iter().any(|section| section.contains(&address))
            && self.range_of(address).is_none()
            && self.found.range(..=address).next_back().is_none_or(|(_, &end)| address >= end)
    }

    fn range_of(&self, address: u64) -> Option<&Range<u64>> {
        let behind = self.known.partition_point(|range| range.start <= address);
        self.known[..behind].last().filter(|range| range.contains(&address))
    }

    /// Returns the start of the next range after `address`.
    fn next_start(&self, address: u64) -> u64 {
        let known = self.known.get(self.known.partition_point(|range| range.start <= address));
        let found = self.found.range((Bound::Excluded(address), Bound::Unbounded)).next();
        known.map_or(u64::MAX, |range| range.start).min(found.map_or(u64::MAX, |(&start, _)| start))
    }

    /// Notes the branch targets from `start` to `limit`. If `start` is in no known range, the sequence ends with control flow.
    fn follow(&mut self, start: u64, limit: u64) -> Walk {
        let ends_with_flow = self.range_of(start).is_none();
        let mut walk = Walk { end: start, falls_through: false };
        while walk.end < limit {
            let Some(insn) = self.decode(walk.end) else { break };
            walk.end += insn.len as u64;
            walk.falls_through =
                !matches!(insn.flow, Flow::Jump | Flow::Return | Flow::Far | Flow::Faulting | Flow::Privileged);
            if let Some(target) = insn.target.filter(|&target| self.is_new(target)) {
                self.work.push(target);
            }
            if ends_with_flow && !walk.falls_through {
                break;
            }
        }
        walk
    }

    /// Adds the bytes from `start` to the next range, if all of them are padding.
    fn pad(&mut self, start: u64) {
        let limit = self.next_start(start);
        let mut pc = start;
        while pc < limit {
            let Some(insn) = self.decode(pc).filter(|insn| insn.is_padding) else { break };
            pc += insn.len as u64;
        }
        if pc == limit && start < limit {
            self.found.insert(start, limit);
        }
    }

    fn decode(&self, pc: u64) -> Option<Insn> {
        code::decode(self.elf.bytes_at(pc)?, pc, self.mode)
    }
}

fn text(file: &Parsed<'_>) -> Vec<Range<u64>> {
    let text = file.sections().filter(|section| section.kind() == SectionKind::Text);
    text.map(|section| section.address()..section.address().saturating_add(section.size())).collect()
}

/// Returns the entry point, and the functions in the arrays of start and end functions.
fn starts(elf: &Elf, file: &Parsed<'_>) -> Vec<u64> {
    let mut starts = vec![file.entry()];
    let is_array = |name: &str| matches!(name, ".preinit_array" | ".init_array" | ".fini_array");
    let arrays: Vec<_> = file.sections().filter(|section| section.name().is_ok_and(is_array)).collect();
    for array in &arrays {
        let data = contents(elf.source(), array);
        match elf.arch() {
            Arch::X86_64 | Arch::Arm64 => {
                let words = data.chunks_exact(8).filter_map(|word| word.first_chunk());
                starts.extend(words.map(|word| u64::from_le_bytes(*word)))
            }
            Arch::I386 => starts.extend(words(&data).map(u64::from)),
        }
    }
    for (offset, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let holds = |array: &object::Section<'_, '_, _>| offset.wrapping_sub(array.address()) < array.size();
        if relocation.target() == RelocationTarget::Absolute && arrays.iter().any(holds) {
            starts.push(relocation.addend() as u64);
        }
    }
    starts
}
