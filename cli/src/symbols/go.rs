//! Functions of Go programs by the table that their runtime reads, which is there in stripped ones, too (`.gopclntab`; Go's
//! src/debug/gosym/pclntab.go and `pcHeader` in src/runtime/symtab.go).

mod lines;

use std::sync::Arc;

use object::{Object, ObjectSection};

use super::contents::contents;
use super::image::{Arch, Image, Parsed};
use super::table::{Kind, Symbol};
pub(super) use lines::GoLines;

/// The longest name that is read.
const LONGEST: usize = 1 << 16;
/// Bytes of names that are read at most, a byte of the table.
const NAMES: usize = 2;

/// What the layout of a table depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// Go 1.16 and 1.17: entries are addresses.
    Addresses,
    /// Go 1.18 and later: entries are 32-bit offsets from the first code.
    Offsets,
}

/// The first word of a table, and its version.
const VERSIONS: &[(u32, Version)] =
    &[(0xffff_fffa, Version::Addresses), (0xffff_fff0, Version::Offsets), (0xffff_fff1, Version::Offsets)];

/// The functions of the image's table at addresses that have no name yet; none where it has no table, or one of an unknown version.
pub(super) fn functions(image: &Image, is_named: impl Fn(u64) -> bool) -> Vec<Symbol> {
    let Some(table) = image.with_file(|file| Table::find(image, file)).flatten() else { return Vec::new() };
    // Each function has a name of its own. Where a hostile table has many share a long one, the first keep it.
    let mut left = NAMES * table.data.len();
    let symbol = |function: Function| {
        let name = table.name(&function, left)?;
        left = left.saturating_sub(name.len());
        let (address, name) = (function.address, name.into());
        let size = function.end - address;
        Some(Symbol { address, size, kind: Kind::Function, global: false, name, version: None })
    };
    let unnamed = table.functions().filter(|function| !is_named(function.address));
    let mut functions: Vec<Symbol> = unnamed.filter_map(symbol).collect();
    for function in &mut functions {
        let padding = |code: &[u8]| match image.arch() {
            // `int3` and `udf #0`.
            Arch::X86_64 | Arch::I386 => code.iter().rev().take_while(|byte| **byte == 0xcc).count(),
            Arch::Arm64 => 4 * code.rchunks_exact(4).take_while(|word| **word == [0; 4]).count(),
        };
        let size = usize::try_from(function.size).unwrap_or(usize::MAX);
        let code = image.bytes_at(function.address).unwrap_or_default();
        function.size -= padding(code.get(..size).unwrap_or_default()) as u64;
    }
    functions
}

/// A table.
struct Table {
    data: Arc<[u8]>,
    version: Version,
    /// Bytes of an address.
    width: usize,
    /// The address from which entries are counted.
    text: u64,
}

impl Table {
    fn find(image: &Image, file: &Parsed<'_>) -> Option<Table> {
        let section = file.sections().find(|section| section.name().is_ok_and(|name| name.ends_with(".gopclntab")))?;
        let data = contents(image.source(), &section);
        let magic = u32::from_le_bytes(*data.first_chunk()?);
        let (_, version) = *VERSIONS.iter().find(|(known, _)| *known == magic)?;
        let width = usize::from(*data.get(7)?);
        let mut table = Table { data, version, width, text: 0 };
        if !matches!(width, 4 | 8) {
            return None;
        }
        if version == Version::Offsets {
            // Where a program can lie anywhere, the loader writes the address; newer linkers leave it out.
            let place = section.address().wrapping_add(8 + 2 * width as u64);
            let relocated = || {
                let mut all = file.dynamic_relocations()?;
                all.find(|(at, _)| *at == place).map(|(_, relocation)| relocation.addend().cast_unsigned())
            };
            let text = || file.section_by_name(".text").map(|section| section.address());
            table.text = table.header(2).filter(|address| *address != 0).or_else(relocated).or_else(text)?;
        }
        Some(table)
    }

    fn number(&self, at: usize, width: usize) -> Option<u64> {
        let bytes = self.data.get(at..at.checked_add(width)?)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// A word of the header: 0 is the number of functions.
    fn header(&self, number: usize) -> Option<u64> {
        self.number(8 + number * self.width, self.width)
    }

    /// Where a part of the table begins, by the number of its word in the header: 3 names of functions, 4 files of units, 5 names of
    /// files, 6 values of code, 7 functions.
    fn part(&self, number: usize) -> Option<usize> {
        // Older headers have no address of the first code, which is word 2.
        let number = if self.version == Version::Addresses { number - 1 } else { number };
        self.header(number).and_then(|offset| usize::try_from(offset).ok())
    }

    /// The bytes that differences of addresses are counted in.
    fn quantum(&self) -> u64 {
        self.data.get(6).copied().map_or(1, u64::from)
    }

    fn functions(&self) -> impl Iterator<Item = Function> {
        // Each entry has an address and a place.
        let width = if self.version == Version::Addresses { self.width } else { 4 };
        let start = self.part(7);
        let entry = move |number: usize| {
            let at = start?.checked_add(number * 2 * width)?;
            Some((self.text.wrapping_add(self.number(at, width)?), at))
        };
        let function = move |number: usize| {
            let (address, at) = entry(number)?;
            // Behind the last function stands where it ends.
            let (end, _) = entry(number + 1)?;
            let about = start?.checked_add(usize::try_from(self.number(at + width, width)?).ok()?)?;
            (address < end).then_some(Function { address, end, fields: about.checked_add(width)? })
        };
        let count = self.header(0).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        (0..count.min(self.data.len() / (2 * width))).filter_map(function)
    }

    /// One of a function's fields, which have 32 bits each: 1 is the place of its name.
    fn field(&self, function: &Function, number: usize) -> Option<u64> {
        self.number(function.fields.checked_add(4 * (number - 1))?, 4)
    }

    fn name(&self, function: &Function, most: usize) -> Option<String> {
        self.text(self.part(3)?.checked_add(usize::try_from(self.field(function, 1)?).ok()?)?, most)
    }

    /// A text up to its zero, of so many bytes at most.
    fn text(&self, at: usize, most: usize) -> Option<String> {
        let text = self.data.get(at..)?;
        let text = text.get(..text.iter().take(LONGEST.min(most)).position(|byte| *byte == 0)?)?;
        (!text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
    }
}

/// A function of the table.
struct Function {
    address: u64,
    /// Behind its last byte.
    end: u64,
    /// Where its fields are, behind the address.
    fields: usize,
}
