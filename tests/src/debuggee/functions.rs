//! Where the functions of this process lie.

use std::fs::{read, read_link, read_to_string};
use std::ops::Range;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};

use super::arch;

/// The functions of a file that this process has mapped.
pub struct Code {
    functions: Vec<Range<u64>>,
    mode: arch::Mode,
    base: u64,
}

/// The functions of a mapped file, in order and without overlaps.
///
/// # Panics
/// Where the file cannot be read or is not mapped.
pub fn code_of(file: &Path) -> Code {
    let bytes = read(file).expect("it can be read");
    let elf = object::File::parse(&*bytes).expect("an ELF file");
    let maps = read_to_string("/proc/self/maps").expect("this process");
    let name = file.to_str().expect("a plain name");
    // Others of its mappings are for those who only read it.
    let mapped = maps.lines().find(|line| line.ends_with(name) && line.contains(" r-xp ")).expect("it is mapped");
    // Of its permissions two words are made.
    let word = |number| mapped.split([' ', '-']).filter(|word| !word.is_empty()).nth(number).expect("a word");
    let number = |word| u64::from_str_radix(word, 16).expect("a number");
    let (start, offset) = (number(word(0)), number(word(4)));
    let holds = |segment: &object::Segment<'_, '_>| {
        let (first, size) = segment.file_range();
        (first & !4095..first + size).contains(&offset)
    };
    let segment = elf.segments().filter(holds).last().expect("a segment");
    let bias = (start - offset).wrapping_sub(segment.address() - segment.file_range().0);
    let text = elf.section_by_name(".text").expect("code");
    let text = text.address()..text.address() + text.size();
    let symbols = elf.symbols().chain(elf.dynamic_symbols());
    let symbols = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && text.contains(&symbol.address()));
    let range = |symbol: object::Symbol<'_, '_>| {
        let start = symbol.address().wrapping_add(bias);
        start..start + symbol.size()
    };
    let mut functions: Vec<_> = symbols.map(range).collect();
    functions.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut end = 0;
    functions.retain(|range| {
        let kept = range.start >= end && !range.is_empty();
        end = end.max(range.end);
        kept
    });
    Code { functions, mode: arch::mode(&elf), base: start - offset }
}

/// The functions of the program that runs here.
///
/// # Panics
/// Where its file cannot be read.
pub fn this_program() -> Code {
    code_of(&read_link("/proc/self/exe").expect("this process"))
}

/// Whether a system call is at an address of this program.
pub fn is_system_call(address: u64) -> bool {
    let bytes: &[u8] = if cfg!(target_arch = "x86_64") { &[0x0f, 0x05] } else { &[0x01, 0x00, 0x00, 0xd4] };
    // SAFETY: an instruction of the program's code is there, and others behind it.
    unsafe { std::slice::from_raw_parts(address as *const u8, bytes.len()) == bytes }
}

impl Code {
    /// What to subtract from an instruction's address to get its place in the file.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The one that begins at an address.
    ///
    /// # Panics
    /// Where none does.
    pub fn function(mut self, address: u64) -> Code {
        let nearest = self.functions.iter().rfind(|range| range.start <= address).cloned();
        self.functions.retain(|range| range.start == address);
        assert_eq!(self.functions.len(), 1, "a function at {address:#x}, not in {nearest:x?}");
        self
    }

    /// The addresses of all instructions, as far as each function can be read from its beginning on.
    pub fn instructions(&self) -> Vec<u64> {
        let mut all = Vec::new();
        for range in &self.functions {
            // SAFETY: the functions are code of this process, which stays mapped.
            let mut code =
                unsafe { std::slice::from_raw_parts(range.start as *const u8, (range.end - range.start) as usize) };
            let mut address = range.start;
            while let Some(length) = arch::length(code, self.mode).filter(|length| *length <= code.len()) {
                all.push(address);
                address += length as u64;
                code = &code[length..];
            }
        }
        all
    }
}
