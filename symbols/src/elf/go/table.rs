//! The table of functions that Go's runtime reads (`.gopclntab`; Go's src/debug/gosym/pclntab.go and `pcHeader` in src/runtime/symtab.go).

use std::sync::Arc;

use object::{Object, ObjectSection};

use crate::elf::contents::contents;
use crate::elf::file::Elf;
use crate::elf::headers::Parsed;

/// The longest name that is read, in bytes.
const LONGEST: usize = 1 << 16;

/// The version of a table, which determines its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Go 1.16 and 1.17: entries are addresses.
    Addresses,
    /// Go 1.18 and later: entries are 32-bit offsets from the first code.
    Offsets,
}

/// The first word of a table of each version.
const VERSIONS: &[(u32, Version)] =
    &[(0xffff_fffa, Version::Addresses), (0xffff_fff0, Version::Offsets), (0xffff_fff1, Version::Offsets)];

/// The table of a program.
pub(super) struct Table {
    pub(super) data: Arc<[u8]>,
    version: Version,
    /// The size of an address in bytes.
    width: usize,
    /// The address to which entries are relative.
    text: u64,
}

impl Table {
    pub(super) fn find(elf: &Elf, file: &Parsed<'_>) -> Option<Table> {
        let section = file.sections().find(|section| section.name().is_ok_and(|name| name.ends_with(".gopclntab")))?;
        let data = contents(elf.source(), &section);
        let magic = u32::from_le_bytes(*data.first_chunk()?);
        let (_, version) = *VERSIONS.iter().find(|(known, _)| *known == magic)?;
        let width = usize::from(*data.get(7)?);
        let mut table = Table { data, version, width, text: 0 };
        if !matches!(width, 4 | 8) {
            return None;
        }
        if version == Version::Offsets {
            // In a position-independent program the loader writes the address. Newer linkers leave it out.
            let field = section.address().wrapping_add(8 + 2 * width as u64);
            let relocated = || {
                let mut all = file.dynamic_relocations()?;
                all.find(|(at, _)| *at == field).map(|(_, relocation)| relocation.addend() as u64)
            };
            let text = || file.section_by_name(".text").map(|section| section.address());
            table.text = table.header(2).filter(|address| *address != 0).or_else(relocated).or_else(text)?;
        }
        Some(table)
    }

    pub(super) fn number(&self, at: usize, width: usize) -> Option<u64> {
        let bytes = self.data.get(at..at.checked_add(width)?)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// Returns a word of the header. Word 0 is the number of functions.
    fn header(&self, number: usize) -> Option<u64> {
        self.number(8 + number * self.width, self.width)
    }

    /// Returns the offset of a part of the table, by the number of its word in the header: 3 names of functions, 4 files of units, 5 names
    /// of files, 6 values of code, 7 functions.
    pub(super) fn part(&self, number: usize) -> Option<usize> {
        // Older headers lack word 2, the address of the first code.
        let number = if self.version == Version::Addresses { number - 1 } else { number };
        self.header(number).and_then(|offset| usize::try_from(offset).ok())
    }

    /// The unit of address differences in bytes.
    pub(super) fn quantum(&self) -> u64 {
        self.data.get(6).copied().map_or(1, u64::from)
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = Function> {
        // Each entry has an address and an offset.
        let width = if self.version == Version::Addresses { self.width } else { 4 };
        let start = self.part(7);
        let entry = move |number: usize| {
            let at = start?.checked_add(number * 2 * width)?;
            Some((self.text.wrapping_add(self.number(at, width)?), at))
        };
        let function = move |number: usize| {
            let (address, at) = entry(number)?;
            // An entry after the last function has the end address of that function.
            let (end, _) = entry(number + 1)?;
            let about = start?.checked_add(usize::try_from(self.number(at + width, width)?).ok()?)?;
            (address < end).then_some(Function { address, end, fields: about.checked_add(width)? })
        };
        let count = self.header(0).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        (0..count.min(self.data.len() / (2 * width))).filter_map(function)
    }

    /// Returns a field of a function. Fields have 32 bits each; field 1 is the offset of the name.
    pub(super) fn field(&self, function: &Function, number: usize) -> Option<u64> {
        self.number(function.fields.checked_add(4 * (number - 1))?, 4)
    }

    pub(super) fn name(&self, function: &Function, most: usize) -> Option<String> {
        self.text(self.part(3)?.checked_add(usize::try_from(self.field(function, 1)?).ok()?)?, most)
    }

    /// Returns the text at an offset up to its zero, if it has at most `most` bytes.
    pub(super) fn text(&self, at: usize, most: usize) -> Option<String> {
        let text = self.data.get(at..)?;
        let text = text.get(..text.iter().take(LONGEST.min(most)).position(|byte| *byte == 0)?)?;
        (!text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
    }
}

/// One function of the table.
pub(super) struct Function {
    pub(super) address: u64,
    /// The address after the last byte.
    pub(super) end: u64,
    /// The offset of the fields, which follow the address.
    fields: usize,
}
