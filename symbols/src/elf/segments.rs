//! The segments of a file.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use object::{Object, ObjectSection, ObjectSegment, SegmentFlags, elf};

use super::headers::Parsed;
use crate::files::Source;

/// A part of a file that is mapped.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Segment {
    /// The address in the file.
    pub address: u64,
    /// The size in memory in bytes.
    pub size: u64,
    /// The offsets in the file.
    pub file: Range<u64>,
    /// Whether the segment contains code.
    pub execute: bool,
    /// The bytes in the file. They are read when they are first needed.
    pub(super) contents: OnceCell<Arc<[u8]>>,
}

/// Returns the loaded segments. An object file has none, and its code sections are returned.
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

/// Returns a segment whose addresses do not overflow and whose size in the file is at most its size in memory.
fn held(address: u64, size: u64, start: u64, in_file: u64, execute: bool) -> Segment {
    let size = size.min(u64::MAX - address);
    let file = start..start.saturating_add(in_file.min(size));
    Segment { address, size, file, execute, contents: OnceCell::new() }
}

impl Segment {
    /// The number of bytes of the segment that the file contains.
    pub(super) fn held(&self, source: &Source) -> u64 {
        self.file.end.min(source.size()).saturating_sub(self.file.start)
    }
}
