//! What of a file is mapped.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use object::{Object, ObjectSection, ObjectSegment, SegmentFlags, elf};

use super::image::Parsed;
use crate::files::Source;

/// A part of the file that is mapped.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Address in the file's own numbering.
    pub(crate) address: u64,
    /// Bytes in memory.
    pub(crate) size: u64,
    /// Where in the file.
    pub(crate) file: Range<u64>,
    /// Holds code.
    pub(crate) execute: bool,
    /// What the file holds of it, once it was asked for.
    pub(super) contents: OnceCell<Arc<[u8]>>,
}

/// The loaded segments; the code sections of a file that has none (an object file).
pub(super) fn segments(file: &Parsed<'_>) -> Vec<Segment> {
    let load = |segment: object::Segment<'_, '_, _>| {
        let (start, size) = segment.file_range();
        let execute = match segment.flags() {
            SegmentFlags::Elf { p_flags, .. } => p_flags & elf::PF_X != 0,
            _ => false,
        };
        held(segment.address(), segment.size(), start, size, execute)
    };
    let segments: Vec<Segment> = file.segments().map(load).collect();
    if !segments.is_empty() {
        return segments;
    }
    let code = |section: object::Section<'_, '_, _>| {
        let (start, size) = section.file_range()?;
        let execute = section.kind() == object::SectionKind::Text;
        execute.then(|| held(section.address(), size, start, size, execute))
    };
    file.sections().filter_map(code).collect()
}

/// A segment of which no address is too large, and the file holds no more than there is in memory.
fn held(address: u64, size: u64, start: u64, in_file: u64, execute: bool) -> Segment {
    let size = size.min(u64::MAX - address);
    let file = start..start.saturating_add(in_file.min(size));
    Segment { address, size, file, execute, contents: OnceCell::new() }
}

impl Segment {
    /// How many of its bytes the file holds.
    pub(super) fn held(&self, source: &Source) -> u64 {
        self.file.end.min(source.size()).saturating_sub(self.file.start)
    }
}
