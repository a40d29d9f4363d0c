//! The functions of a file by name and address.

use std::cell::OnceCell;
use std::collections::HashSet;

use object::elf;
use object::read::elf::{ElfFile, FileHeader};
use object::{Object, ObjectSymbol, SymbolFlags, SymbolIndex};

use super::image::{Image, parse};
use super::names::demangle;
use super::{debug_files, go, plt};
use crate::files::Source;
use crate::output::utf8;

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A function's first instruction.
    Function,
    /// A function that returns the address of the function to use (`STT_GNU_IFUNC`).
    Indirect,
    /// A stub by which another module's function is called.
    Plt,
    /// An assembler's label in code.
    Label,
    /// Something that has no code.
    Data,
}

/// One symbol.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    /// In the file's numbering.
    pub(crate) address: u64,
    /// Bytes; 0 where it is not told.
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    /// Other modules can see it.
    pub(crate) global: bool,
    /// As the linker writes it, without version.
    pub(crate) name: Box<str>,
    /// The version that it belongs to, and whether that is the default one.
    pub(crate) version: Option<(Box<str>, bool)>,
}

impl Symbol {
    /// Whether a breakpoint can stand there.
    pub(crate) fn has_code(&self) -> bool {
        self.kind != Kind::Data
    }

    /// Its name with the version that it belongs to; that of the default one also has two signs.
    pub(crate) fn versioned(&self) -> impl Iterator<Item = String> {
        let signs = |(_, default): &(Box<str>, bool)| if *default { &["@", "@@"][..] } else { &["@"] };
        let forms =
            self.version.iter().flat_map(move |version| signs(version).iter().map(move |sign| (sign, &version.0)));
        forms.map(|(sign, version)| format!("{}{sign}{version}", self.name))
    }
}

/// All symbols of a file, by address.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable {
    symbols: Vec<Symbol>,
    /// The readable name of each, where it differs.
    readable: OnceCell<Vec<Option<String>>>,
}

impl SymbolTable {
    /// Collects the symbols of the file, of its compressed symbol table, of its debug file and of its stubs, and what only Go's runtime
    /// has a name for.
    pub(crate) fn load(image: &Image) -> SymbolTable {
        let mut symbols = Vec::new();
        collect(image.source(), &mut symbols);
        if let Some(mini) = debug_files::mini(image) {
            collect(&mini, &mut symbols);
        }
        if let Some(debug) = image.debug_file() {
            collect(debug, &mut symbols);
        }
        let named: HashSet<u64> =
            symbols.iter().filter(|symbol| symbol.has_code()).map(|symbol| symbol.address).collect();
        symbols.extend(go::functions(image, |address| named.contains(&address)));
        for symbol in &mut symbols {
            // A name that points outside the code is no function, whatever its type says.
            if symbol.kind != Kind::Data && !image.is_code(symbol.address) {
                symbol.kind = Kind::Data;
            }
        }
        symbols.sort_by(order);
        // The tables repeat each other; the entry with a version or a size says most and comes first.
        symbols.dedup_by(|b, a| {
            a.address == b.address && a.name == b.name && (b.version.is_none() || a.version == b.version)
        });
        let stubs = plt::stubs(image, &symbols);
        symbols.extend(stubs);
        symbols.sort_by(order);
        SymbolTable { symbols, readable: OnceCell::new() }
    }

    /// All of them, by address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter()
    }

    /// Each of them with its readable name, which is the linker's where that is readable.
    pub(crate) fn readable(&self) -> impl Iterator<Item = (&Symbol, &str)> {
        let all = self.readable.get_or_init(|| self.symbols.iter().map(|symbol| demangle(&symbol.name)).collect());
        self.symbols.iter().zip(all).map(|(symbol, readable)| (symbol, readable.as_deref().unwrap_or(&symbol.name)))
    }

    /// Those at an address, the best name first.
    pub(crate) fn at(&self, address: u64) -> &[Symbol] {
        let start = self.symbols.partition_point(|symbol| symbol.address < address);
        let rest = &self.symbols[start..];
        &rest[..rest.partition_point(|symbol| symbol.address == address)]
    }

    /// The function that holds an address: the nearest before it whose size does not end before it.
    pub(crate) fn holding(&self, address: u64) -> Option<&Symbol> {
        let end = self.symbols.partition_point(|symbol| symbol.address <= address);
        // Nested and unsized symbols stand between; a few steps back find the one around.
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

/// By address; at one address the name that is best shown first: functions, global, sized, few underscores, short.
fn order(a: &Symbol, b: &Symbol) -> std::cmp::Ordering {
    let rank = |symbol: &Symbol| {
        let underscores = symbol.name.bytes().take_while(|byte| *byte == b'_').count();
        (symbol.address, symbol.kind, !symbol.global, symbol.size == 0, underscores, symbol.name.len())
    };
    rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(&b.name)).then_with(|| b.version.cmp(&a.version))
}

fn collect(source: &Source, symbols: &mut Vec<Symbol>) {
    match parse(source) {
        Ok(object::File::Elf64(file)) => collect_elf(&file, symbols),
        Ok(object::File::Elf32(file)) => collect_elf(&file, symbols),
        _ => {}
    }
}

fn collect_elf<'data, H: FileHeader>(file: &ElfFile<'data, H, &'data Source>, symbols: &mut Vec<Symbol>) {
    let versions = file.elf_section_table().versions(file.endian(), file.data()).ok().flatten();
    let version = |index: SymbolIndex| {
        let versions = versions.as_ref()?;
        let index = versions.version_index(file.endian(), index);
        let version = versions.version(index).ok().flatten()?;
        Some((String::from_utf8_lossy(version.name()).into(), !index.is_hidden()))
    };
    symbols.extend(file.symbols().filter_map(|symbol| take(&symbol, None)));
    symbols.extend(file.dynamic_symbols().filter_map(|symbol| take(&symbol, version(symbol.index()))));
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
        elf::STT_OBJECT | elf::STT_TLS | elf::STT_COMMON => Kind::Data,
        _ => return None,
    };
    let name = symbol.name_bytes().ok().filter(|name| !name.is_empty()).map(utf8)?;
    // Static tables write the version into the name.
    let (name, version) = match name.split_once('@') {
        Some((name, text)) => (name, Some((text.trim_start_matches('@').into(), text.starts_with('@')))),
        None => (&*name, version),
    };
    let global = symbol.is_global() || symbol.is_weak();
    Some(Symbol { address: symbol.address(), size: symbol.size(), kind, global, name: name.into(), version })
}
