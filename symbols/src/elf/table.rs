//! The symbols of a file by name and address.

use std::cell::OnceCell;
use std::collections::HashSet;

use object::elf;
use object::read::elf::{ElfFile, FileHeader};
use object::{Object, ObjectSymbol, SymbolFlags, SymbolIndex};

use super::file::Elf;
use super::headers::parse;
use super::names::demangle;
use super::symbol::{Kind, Symbol};
use super::{debug_files, go, plt};
use crate::files::Source;
use crate::text::utf8;

/// All symbols of a file, sorted by address.
#[derive(Debug, Default)]
pub struct SymbolTable {
    symbols: Vec<Symbol>,
    is_whole: bool,
    /// The readable name of each symbol, if it differs from the linker's.
    readable: OnceCell<Vec<Option<String>>>,
}

impl SymbolTable {
    /// Collects the symbols of the file, of its compressed symbol table, of its debug file, of its stubs, and of the table of Go's runtime.
    pub(crate) fn load(elf: &Elf, debug: Option<&Source>) -> SymbolTable {
        let mut symbols = Vec::new();
        let mut is_whole = collect(elf.source(), &mut symbols);
        if let Some(mini) = debug_files::mini(elf) {
            is_whole |= collect(&mini, &mut symbols);
        }
        if let Some(debug) = debug {
            is_whole |= collect(debug, &mut symbols);
        }
        let named: HashSet<u64> =
            symbols.iter().filter(|symbol| symbol.has_code()).map(|symbol| symbol.address).collect();
        let of_tables = symbols.len();
        symbols.extend(go::functions(elf, |address| named.contains(&address)));
        is_whole |= symbols.len() > of_tables;
        for symbol in &mut symbols {
            // A symbol outside of the code is no function, whatever its type is.
            if symbol.has_code() && !elf.is_code(symbol.address) {
                symbol.kind = Kind::Data;
            }
        }
        symbols.sort_by(order);
        // Several tables contain the same symbol. The entry with a version or a size comes first and is kept.
        symbols.dedup_by(|b, a| {
            a.address == b.address && a.name == b.name && (b.version.is_none() || a.version == b.version)
        });
        let stubs = plt::stubs(elf, &symbols);
        symbols.extend(stubs);
        symbols.sort_by(order);
        SymbolTable { symbols, is_whole, readable: OnceCell::new() }
    }

    /// Whether the names of functions that the file does not export are among the symbols. They are not where the file is stripped and there is
    /// no separate debug file.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// All symbols by address.
    pub fn iter(&self) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter()
    }

    /// All symbols with their readable names. The linker's name counts if it is readable.
    pub fn readable(&self) -> impl Iterator<Item = (&Symbol, &str)> {
        let all = self.readable.get_or_init(|| self.symbols.iter().map(|symbol| demangle(&symbol.name)).collect());
        self.symbols.iter().zip(all).map(|(symbol, readable)| (symbol, readable.as_deref().unwrap_or(&symbol.name)))
    }

    /// The symbols at an address, the best name first.
    pub fn at(&self, address: u64) -> &[Symbol] {
        let start = self.symbols.partition_point(|symbol| symbol.address < address);
        let rest = &self.symbols[start..];
        &rest[..rest.partition_point(|symbol| symbol.address == address)]
    }

    /// Returns the function that contains an address: the nearest symbol before it whose size does not end before it.
    pub fn holding(&self, address: u64) -> Option<&Symbol> {
        let end = self.symbols.partition_point(|symbol| symbol.address <= address);
        // Nested and unsized symbols may be in between, so the search goes back a few symbols.
        for (steps, symbol) in self.symbols[..end].iter().rev().enumerate() {
            if steps > 64 {
                return None;
            }
            if !symbol.has_code() {
                continue;
            }
            let offset = address - symbol.address;
            if offset < symbol.size {
                return self.at(symbol.address).iter().find(|other| other.has_code() && offset < other.size);
            }
            if symbol.size == 0 && symbol.kind != Kind::Label {
                return self.at(symbol.address).iter().find(|other| other.has_code());
            }
        }
        None
    }
}

/// Compares symbols by address. At one address the best name comes first: functions, global, sized, few underscores, short.
fn order(a: &Symbol, b: &Symbol) -> std::cmp::Ordering {
    let rank = |symbol: &Symbol| {
        let underscores = symbol.name.bytes().take_while(|byte| *byte == b'_').count();
        (symbol.address, symbol.kind, !symbol.global, symbol.size == 0, underscores, symbol.name.len())
    };
    rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(&b.name)).then_with(|| b.version.cmp(&a.version))
}

/// Adds the symbols of a file. Returns whether it has a table of all its symbols, beside that of those for the dynamic linker.
fn collect(source: &Source, symbols: &mut Vec<Symbol>) -> bool {
    match parse(source) {
        Ok(object::File::Elf64(file)) => collect_elf(&file, symbols),
        Ok(object::File::Elf32(file)) => collect_elf(&file, symbols),
        _ => false,
    }
}

fn collect_elf<'data, H: FileHeader>(file: &ElfFile<'data, H, &'data Source>, symbols: &mut Vec<Symbol>) -> bool {
    let versions = file.elf_section_table().versions(file.endian(), file.data()).ok().flatten();
    let version = |index: SymbolIndex| {
        let versions = versions.as_ref()?;
        let index = versions.version_index(file.endian(), index);
        let version = versions.version(index).ok().flatten()?;
        Some((String::from_utf8_lossy(version.name()).into(), !index.is_hidden()))
    };
    symbols.extend(file.symbols().filter_map(|symbol| take(&symbol, None)));
    symbols.extend(file.dynamic_symbols().filter_map(|symbol| take(&symbol, version(symbol.index()))));
    file.symbols().next().is_some()
}

fn take<'data>(symbol: &impl ObjectSymbol<'data>, version: Option<(Box<str>, bool)>) -> Option<Symbol> {
    if symbol.is_undefined() {
        return None;
    }
    let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { return None };
    let in_section = symbol.section_index().is_some();
    let kind = match st_info & 0xf {
        elf::STT_FUNC => Kind::Function,
        elf::STT_GNU_IFUNC => Kind::Indirect,
        elf::STT_NOTYPE if in_section => Kind::Label,
        elf::STT_OBJECT | elf::STT_COMMON => Kind::Data,
        elf::STT_TLS => Kind::ThreadLocal,
        _ => return None,
    };
    let name = symbol.name_bytes().ok().filter(|name| !name.is_empty()).map(utf8)?;
    // In static tables the name contains the version.
    let (name, version) = match name.split_once('@') {
        Some((name, text)) => (name, Some((text.trim_start_matches('@').into(), text.starts_with('@')))),
        None => (&*name, version),
    };
    let global = symbol.is_global() || symbol.is_weak();
    Some(Symbol { address: symbol.address(), size: symbol.size(), kind, global, name: name.into(), version })
}
