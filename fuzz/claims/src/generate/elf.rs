//! ELF files that are mostly wrong.

use arbitrary::{Result, Unstructured};

/// Names on which reading depends.
const NAMES: &[&str] = &[
    ".text",
    ".plt",
    ".plt.sec",
    ".init",
    ".init_array",
    ".eh_frame",
    ".symtab",
    ".strtab",
    ".dynsym",
    ".dynstr",
    ".dynamic",
    ".rela.plt",
    ".rel.plt",
    ".got.plt",
    ".gnu.version",
    ".gnu.version_r",
    ".gnu.version_d",
    ".note.gnu.build-id",
    ".gnu_debuglink",
    ".gnu_debugaltlink",
    ".gnu_debugdata",
    ".debug_info",
    ".debug_abbrev",
    ".debug_line",
    ".debug_str",
    ".debug_aranges",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_line_str",
    ".zdebug_line",
];

/// The `sh_type` of sections by the beginnings of their names (elf(5)).
const TYPES: &[(&str, u32)] = &[
    (".symtab", 2),
    (".strtab", 3),
    (".dynstr", 3),
    (".rela", 4),
    (".dynamic", 6),
    (".note", 7),
    (".rel", 9),
    (".dynsym", 11),
    (".init_array", 14),
    (".gnu.version_d", 0x6fff_fffd),
    (".gnu.version_r", 0x6fff_fffe),
    (".gnu.version", 0x6fff_ffff),
    (".eh_frame", 0x7000_0001),
];

struct Section {
    name: usize,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
    entry: u64,
}

/// Writes numbers in the width of the file's class.
struct Writer {
    bytes: Vec<u8>,
    wide: bool,
}

impl Writer {
    fn half(&mut self, value: u16) {
        self.bytes.extend(value.to_le_bytes());
    }
    fn word(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }
    /// An address, offset or size.
    fn long(&mut self, value: u64) {
        if self.wide { self.bytes.extend(value.to_le_bytes()) } else { self.word(value as u32) }
    }
}

/// An ELF file. `data` chooses for every field whether its value is plausible.
pub fn file(data: &[u8]) -> Vec<u8> {
    write(&mut Unstructured::new(data)).unwrap_or_default()
}

fn write(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let wide: bool = u.arbitrary()?;
    let mut out = Writer { bytes: Vec::new(), wide };
    let mut names = vec![0];
    let mut sections = Vec::new();
    let mut content = Vec::new();
    let start = if wide { 64 } else { 52 };
    for _ in 0..u.int_in_range(0..=8)? {
        let name = *u.choose(NAMES)?;
        let body: Vec<u8> = u.arbitrary()?;
        let kind = TYPES.iter().find(|(start, _)| name.starts_with(start)).map_or(1, |(_, kind)| *kind);
        let offset = (start + content.len()) as u64;
        sections.push(Section {
            name: names.len(),
            kind: unusual(u, kind.into())? as u32,
            flags: unusual(u, if kind == 1 { 6 } else { 2 })?,
            address: unusual(u, 0x40_0000 + offset)?,
            offset: unusual(u, offset)?,
            size: unusual(u, body.len() as u64)?,
            link: u.int_in_range(0..=9)?,
            entry: unusual(u, if wide { 24 } else { 16 })?,
        });
        names.extend(name.bytes().chain([0]));
        content.extend(body);
    }
    let names_at = start + content.len();
    content.extend(&names);
    let segments = u.int_in_range(0..=3u16)?;
    let segments_at = start + content.len();
    let sections_at = segments_at + usize::from(segments) * if wide { 56 } else { 32 };
    header(u, &mut out, segments, (segments_at, sections_at), sections.len() as u16)?;
    out.bytes.extend(content);
    for _ in 0..segments {
        segment(u, &mut out, sections_at as u64)?;
    }
    let own = Section {
        name: 0,
        kind: 3,
        flags: 0,
        address: 0,
        offset: names_at as u64,
        size: names.len() as u64,
        link: 0,
        entry: 0,
    };
    let none = Section { name: 0, kind: 0, flags: 0, address: 0, offset: 0, size: 0, link: 0, entry: 0 };
    for section in [none].iter().chain(&sections).chain([&own]) {
        out.word(section.name as u32);
        out.word(section.kind);
        out.long(section.flags);
        out.long(section.address);
        out.long(section.offset);
        out.long(section.size);
        out.word(section.link);
        out.word(0);
        out.long(1);
        out.long(section.entry);
    }
    Ok(out.bytes)
}

fn header(
    u: &mut Unstructured<'_>,
    out: &mut Writer,
    segments: u16,
    (segments_at, sections_at): (usize, usize),
    sections: u16,
) -> Result<()> {
    out.bytes.extend(b"\x7fELF");
    out.bytes.extend([if out.wide { 2 } else { 1 }, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    out.half(u.int_in_range(1..=4)?);
    out.half(if out.wide || u.ratio(1, 8u8)? { 62 } else { 3 });
    out.word(1);
    let entry = unusual(u, 0x40_0040)?;
    out.long(entry);
    out.long(unusual(u, segments_at as u64)?);
    out.long(unusual(u, sections_at as u64)?);
    out.word(0);
    let sizes: [u16; 3] = if out.wide { [64, 56, 64] } else { [52, 32, 40] };
    out.half(sizes[0]);
    out.half(sizes[1]);
    out.half(unusual(u, segments.into())? as u16);
    out.half(sizes[2]);
    out.half(unusual(u, u64::from(sections) + 2)? as u16);
    out.half(unusual(u, u64::from(sections) + 1)? as u16);
    Ok(())
}

fn segment(u: &mut Unstructured<'_>, out: &mut Writer, size: u64) -> Result<()> {
    let kind = u.choose(&[1, 1, 1, 2, 3, 4, 0x6474_e550])?;
    let flags = u.int_in_range(0..=7)?;
    let (offset, address) = (unusual(u, 0)?, unusual(u, 0x40_0000)?);
    let (file, memory) = (unusual(u, size)?, unusual(u, size)?);
    out.word(*kind);
    if out.wide {
        out.word(flags);
    }
    for value in [offset, address, address, file, memory] {
        out.long(value);
    }
    if !out.wide {
        out.word(flags);
    }
    out.long(0x1000);
    Ok(())
}

/// Mostly `value`.
fn unusual(u: &mut Unstructured<'_>, value: u64) -> Result<u64> {
    Ok(match u.arbitrary::<u8>()? {
        0 => u.arbitrary()?,
        1 => u64::MAX - u64::from(u.arbitrary::<u8>()?),
        2 => value.wrapping_add(u.arbitrary::<u8>()?.into()),
        3 => value.wrapping_sub(u.arbitrary::<u8>()?.into()),
        4 => 1 << (u.arbitrary::<u8>()? & 63),
        _ => value,
    })
}
