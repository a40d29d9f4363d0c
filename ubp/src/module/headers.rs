//! ELF headers and notes in memory (elf(5)).

use super::build_id::BuildId;
use crate::memory::Read;

/// The largest distance of the first segment's contents from the start of its file, and the alignment of segments, in bytes: the smallest page.
pub(super) const PAGE: u64 = 4096;
/// The most program headers that are read. Linkers write a dozen.
const MOST_HEADERS: usize = 256;
/// The most bytes that are read of one segment of notes.
const MOST_NOTES: usize = 4096;
/// The most segments of notes that are read.
const MOST_NOTE_SEGMENTS: usize = 16;

const MAGIC: [u8; 4] = *b"\x7fELF";
const ELFCLASS32: u8 = 1;
const ELFCLASS64: u8 = 2;
const ELFDATA2LSB: u8 = 1;
const PT_LOAD: u64 = 1;
const PT_NOTE: u64 = 4;
const NT_GNU_BUILD_ID: u64 = 3;

/// Offsets and sizes of fields, in bytes, for an ELF class. The width of addresses and offsets is `width`.
struct Layout {
    width: usize,
    /// The size of the file's header.
    header: usize,
    /// `e_phoff`, `e_phentsize` and `e_phnum` in the file's header.
    table: usize,
    entry_size: usize,
    count: usize,
    /// The size of a program header, and its fields. `p_type` is at 0.
    entry: usize,
    offset: usize,
    address: usize,
    in_file: usize,
    in_memory: usize,
    align: usize,
}

const NARROW: Layout = Layout {
    width: 4,
    header: 52,
    table: 28,
    entry_size: 42,
    count: 44,
    entry: 32,
    offset: 4,
    address: 8,
    in_file: 16,
    in_memory: 20,
    align: 28,
};

const WIDE: Layout = Layout {
    width: 8,
    header: 64,
    table: 32,
    entry_size: 54,
    count: 56,
    entry: 56,
    offset: 8,
    address: 16,
    in_file: 32,
    in_memory: 40,
    align: 48,
};

/// A segment that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    /// The offset in the file.
    pub(super) offset: u64,
    /// The address in the file's own numbering.
    pub(super) address: u64,
    /// The size in memory.
    pub(super) size: u64,
}

/// A segment of notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// The address in the file's own numbering.
    pub(super) address: u64,
    /// The size in bytes.
    size: u64,
    /// The alignment of the notes: 4 or 8.
    align: usize,
}

/// What the headers of a file state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Headers {
    /// Addresses have 32 bits.
    pub(super) narrow: bool,
    pub(super) loads: Vec<Load>,
    pub(super) notes: Vec<Note>,
}

impl Headers {
    /// Reads the headers of a file that begins at an address. `None` if memory holds no ELF header of a little-endian file there, or not all
    /// program headers.
    pub(super) fn read(at: u64, read: &Read<'_>) -> Option<Headers> {
        let mut start = [0; 64];
        let got = read(at, &mut start);
        let start = start.get(..got)?;
        if !start.starts_with(&MAGIC) || start.get(5) != Some(&ELFDATA2LSB) {
            return None;
        }
        let layout = match *start.get(4)? {
            ELFCLASS32 => &NARROW,
            ELFCLASS64 => &WIDE,
            _ => return None,
        };
        let start = start.get(..layout.header)?;
        let table = number(start, layout.table, layout.width)?;
        let entry_size = number(start, layout.entry_size, 2)? as usize;
        let count = number(start, layout.count, 2)? as usize;
        if entry_size < layout.entry || count > MOST_HEADERS {
            return None;
        }
        let mut bytes = vec![0; entry_size.checked_mul(count)?];
        if read(at.wrapping_add(table), &mut bytes) != bytes.len() {
            return None;
        }
        let mut headers = Headers { narrow: layout.width == 4, ..Headers::default() };
        for entry in bytes.chunks_exact(entry_size) {
            let word = |at| number(entry, at, layout.width);
            let (offset, address) = (word(layout.offset)?, word(layout.address)?);
            match number(entry, 0, 4)? {
                PT_LOAD => headers.loads.push(Load { offset, address, size: word(layout.in_memory)? }),
                PT_NOTE if headers.notes.len() < MOST_NOTE_SEGMENTS => {
                    let align = if word(layout.align)? == 8 { 8 } else { 4 };
                    headers.notes.push(Note { address, size: word(layout.in_file)?, align });
                }
                _ => {}
            }
        }
        Some(headers)
    }
}

/// Returns the build ID in a segment of notes that is at `address` in memory.
pub(super) fn build_id(address: u64, note: &Note, read: &Read<'_>) -> Option<BuildId> {
    let mut bytes = vec![0; usize::try_from(note.size).unwrap_or(MOST_NOTES).min(MOST_NOTES)];
    let got = read(address, &mut bytes);
    let mut rest = bytes.get(..got)?;
    loop {
        // Each note: the sizes of its name and its contents, its type, and both, padded.
        let [name, contents, kind] = [0, 4, 8].map(|at| number(rest, at, 4));
        let (name, contents, kind) = (name? as usize, contents? as usize, kind?);
        let behind_name = 12usize.checked_add(name)?.checked_next_multiple_of(note.align)?;
        let end = behind_name.checked_add(contents)?;
        if kind == NT_GNU_BUILD_ID && rest.get(12..12usize.checked_add(name)?)? == b"GNU\0" {
            return BuildId::new(rest.get(behind_name..end)?);
        }
        rest = rest.get(end.checked_next_multiple_of(note.align)?..)?;
    }
}

/// The number at an offset, least significant byte first.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}
