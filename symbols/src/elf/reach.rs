//! Finds code that neither unwind information nor symbols describe, by following control flow from known code.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::thread;

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
    let known = Known { ranges: known, sections: &sections };
    let mut flood = Flood { elf, mode, known, found: BTreeMap::new(), work: Vec::new() };
    flood.work = elf.with_file(|file| starts(elf, file)).unwrap_or_default();
    let (targets, ends) = known.leave(elf, mode);
    flood.work.extend(targets);
    ends.into_iter().for_each(|end| flood.pad(end));
    while let Some(start) = flood.work.pop() {
        if flood.is_new(start) {
            let walk = flood.follow(start);
            flood.work.extend(walk.targets);
            if walk.end > start {
                flood.found.insert(start, walk.end);
            }
        }
    }
    flood.found.into_iter().map(|(start, end)| start..end).collect()
}

/// The code that is known at the beginning.
#[derive(Clone, Copy)]
struct Known<'a> {
    ranges: &'a [Range<u64>],
    /// The sections with code.
    sections: &'a [Range<u64>],
}

/// The least number of known ranges for a thread.
const PART: usize = 1024;

impl Known<'_> {
    /// Whether an address is in a code section and in no known range.
    fn is_outside(&self, address: u64) -> bool {
        self.sections.iter().any(|section| section.contains(&address)) && {
            let behind = self.ranges.partition_point(|range| range.start <= address);
            !self.ranges[..behind].last().is_some_and(|range| range.contains(&address))
        }
    }

    /// The targets outside of branches in known code, and the ends of the ranges behind which control continues. Threads share the work.
    fn leave(&self, elf: &Elf, mode: Mode) -> (Vec<u64>, Vec<u64>) {
        let code = |range: &Range<u64>| (range.clone(), elf.bytes_at(range.start).unwrap_or_default());
        let code: Vec<(Range<u64>, &[u8])> = self.ranges.iter().map(code).collect();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let parts = || code.chunks(code.len().div_ceil(threads).max(PART));
        let mut found: Vec<(Vec<u64>, Vec<u64>)> = parts().map(|_| Default::default()).collect();
        thread::scope(|scope| {
            let mut parts = parts().zip(&mut found);
            let own = parts.next();
            for (part, found) in parts {
                scope.spawn(|| *found = self.leave_part(part, mode));
            }
            if let Some((part, found)) = own {
                *found = self.leave_part(part, mode);
            }
        });
        let (targets, ends): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        (targets.concat(), ends.concat())
    }

    fn leave_part(&self, part: &[(Range<u64>, &[u8])], mode: Mode) -> (Vec<u64>, Vec<u64>) {
        let (mut targets, mut ends) = (Vec::new(), Vec::new());
        for (range, bytes) in part {
            let mut walk = Walk::from(range.start);
            // Most branches stay in their function.
            walk.along(bytes, range.end, mode, |target| !range.contains(&target) && self.is_outside(target));
            targets.append(&mut walk.targets);
            if walk.falls_through && walk.end == range.end {
                ends.push(range.end);
            }
        }
        (targets, ends)
    }
}

/// A sequence of instructions.
struct Walk {
    /// The address behind it, and whether control continues there.
    end: u64,
    falls_through: bool,
    /// The targets of its branches to new code.
    targets: Vec<u64>,
}

impl Walk {
    fn from(start: u64) -> Walk {
        Walk { end: start, falls_through: true, targets: Vec::new() }
    }

    /// Takes the instructions up to `limit`. `bytes` are the code from its end on.
    fn along(&mut self, bytes: &[u8], limit: u64, mode: Mode, is_new: impl Fn(u64) -> bool) {
        let mut rest = bytes;
        while self.end < limit {
            let Some(step) = self.step(rest, mode, &is_new) else { break };
            rest = rest.get(step..).unwrap_or_default();
        }
    }

    /// Takes the next instruction, and returns its length.
    fn step(&mut self, rest: &[u8], mode: Mode, is_new: impl Fn(u64) -> bool) -> Option<usize> {
        let step = code::step(rest, self.end, mode)?;
        self.end += step.len as u64;
        self.falls_through =
            !matches!(step.flow, Flow::Jump | Flow::Return | Flow::Far | Flow::Faulting | Flow::Privileged);
        self.targets.extend(step.target.filter(|&target| is_new(target)));
        Some(step.len)
    }
}

struct Flood<'a> {
    elf: &'a Elf,
    mode: Mode,
    known: Known<'a>,
    /// The ends of the ranges that were found, by start.
    found: BTreeMap<u64, u64>,
    work: Vec<u64>,
}

impl Flood<'_> {
    /// Whether an address is in a code section and in no range so far.
    fn is_new(&self, address: u64) -> bool {
        self.known.is_outside(address)
            && self.found.range(..=address).next_back().is_none_or(|(_, &end)| address >= end)
    }

    /// Returns the start of the next range after `address`.
    fn next_start(&self, address: u64) -> u64 {
        let known = self.known.ranges;
        let known = known.get(known.partition_point(|range| range.start <= address));
        let found = self.found.range((Bound::Excluded(address), Bound::Unbounded)).next();
        known.map_or(u64::MAX, |range| range.start).min(found.map_or(u64::MAX, |(&start, _)| start))
    }

    /// The instructions from `start` to the next range or to the first one behind which control does not continue.
    fn follow(&self, start: u64) -> Walk {
        let (mut walk, limit) = (Walk::from(start), self.next_start(start));
        while walk.end < limit && walk.falls_through {
            let rest = self.elf.bytes_at(walk.end).unwrap_or_default();
            if walk.step(rest, self.mode, |target| self.is_new(target)).is_none() {
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
