//! Unwind information: the functions that it describes, and the section that only debuggers read.

use std::ops::Range;
use std::sync::Arc;

use gimli::{BaseAddresses, CieOrFde, DebugFrame, EhFrame, EndianSlice, LittleEndian, UnwindOffset, UnwindSection};
use object::{Object, ObjectSection};

use super::contents::contents;
use super::file::Elf;
use super::headers::{Arch, Parsed, parse};
use crate::files::Source;

/// The functions that a section describes, by their address ranges, ascending.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    ranges: Vec<Range<u64>>,
    /// The offset of the entry of each.
    offsets: Vec<usize>,
}

impl Functions {
    fn new(mut all: Vec<(Range<u64>, usize)>) -> Functions {
        all.sort_by_key(|(range, _)| range.start);
        let (ranges, offsets) = all.into_iter().unzip();
        Functions { ranges, offsets }
    }

    /// Whether a function contains an address in the file.
    pub(crate) fn hold(&self, address: u64) -> bool {
        self.entry(address).is_some()
    }

    /// The offset of the entry in the section that describes an address in the file.
    pub(super) fn entry(&self, address: u64) -> Option<usize> {
        let last = self.ranges.partition_point(|range| range.start <= address).checked_sub(1)?;
        self.ranges.get(last).filter(|range| range.contains(&address))?;
        self.offsets.get(last).copied()
    }

    /// The ranges of all functions.
    pub(super) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }
}

/// The section `.eh_frame` of a file.
#[derive(Debug, Default)]
pub(super) struct ExceptionFrames {
    pub(super) data: Arc<[u8]>,
    pub(super) bases: BaseAddresses,
    pub(super) functions: Functions,
}

impl ExceptionFrames {
    pub(super) fn load(elf: &Elf) -> ExceptionFrames {
        elf.with_file(|file| in_eh_frame(elf, file)).flatten().unwrap_or_default()
    }
}

/// The section `.debug_frame` of a file or of its debug file.
#[derive(Debug)]
pub(crate) struct DebugFrames {
    /// The bytes of the section.
    pub(crate) data: Arc<[u8]>,
    /// The functions that the section describes.
    pub(crate) functions: Functions,
}

impl DebugFrames {
    /// Reads the section of the file, or of its debug file, which `debug` returns.
    pub(super) fn load<'a>(elf: &Elf, debug: impl FnOnce() -> Option<&'a Source>) -> Option<DebugFrames> {
        let find = |source: &Source, file: &Parsed<'_>| {
            file.section_by_name(".debug_frame").map(|section| contents(source, &section))
        };
        let own = elf.with_file(|file| find(elf.source(), file)).flatten();
        let apart = || debug().and_then(|source| find(source, &parse(source).ok()?));
        let data = own.or_else(apart).filter(|data| !data.is_empty())?;
        let mut section = DebugFrame::new(&data, LittleEndian);
        section.set_address_size(width(elf.arch()));
        let functions = described(&section, &BaseAddresses::default());
        Some(DebugFrames { data, functions })
    }
}

fn in_eh_frame(elf: &Elf, file: &Parsed<'_>) -> Option<ExceptionFrames> {
    let section = file.section_by_name(".eh_frame")?;
    let data = contents(elf.source(), &section);
    let mut bases = BaseAddresses::default().set_eh_frame(section.address());
    if let Some(text) = file.section_by_name(".text") {
        bases = bases.set_text(text.address());
    }
    let mut frames = EhFrame::new(&data, LittleEndian);
    frames.set_address_size(width(elf.arch()));
    let functions = described(&frames, &bases);
    Some(ExceptionFrames { data, bases, functions })
}

/// The size of an address in bytes.
pub(super) fn width(arch: Arch) -> u8 {
    if arch == Arch::I386 { 4 } else { 8 }
}

/// Returns the functions that a section describes.
fn described<'data, S>(section: &S, bases: &BaseAddresses) -> Functions
where
    S: UnwindSection<EndianSlice<'data, LittleEndian>>,
    S::Offset: UnwindOffset<usize>,
{
    let mut all = Vec::new();
    let mut entries = section.entries(bases);
    // A malformed entry ends the list. The entries before it are kept.
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        if let Ok(fde) = partial.parse(|section, bases, offset| section.cie_from_offset(bases, offset)) {
            let start = fde.initial_address();
            // The entry of a signal trampoline begins one byte early, since unwinders look up the address before the return address.
            let code = start.saturating_add(u64::from(fde.is_signal_trampoline()));
            all.push((code..start.saturating_add(fde.len()), fde.offset()));
        }
    }
    Functions::new(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_contains_its_first_byte_and_not_the_byte_after_its_last() {
        let functions = Functions::new(vec![(0x20..0x28, 1), (0x10..0x20, 0), (0x40..0x50, 2)]);
        let held: Vec<u64> =
            [0xf, 0x10, 0x1f, 0x27, 0x28, 0x3f, 0x4f, 0x50].into_iter().filter(|at| functions.hold(*at)).collect();
        assert_eq!(held, [0x10, 0x1f, 0x27, 0x4f]);
        assert_eq!((functions.entry(0x1f), functions.entry(0x27)), (Some(0), Some(1)));
    }
}
