//! The symbols of a file by name and address.

use std::borrow::Cow;
use std::cell::OnceCell;

use object::elf;
use object::read::elf::{ElfFile, FileHeader};
use object::{Object, ObjectSymbol, SymbolFlags, SymbolIndex};

use super::file::Elf;
use super::headers::parse;
use super::names::demangle;
use super::symbol::{Kind, Symbol};
use super::texts::{Text, Texts};
use super::{debug_files, go, plt};
use crate::files::Source;
use crate::text::utf8;

/// All symbols of a file, sorted by address.
#[derive(Debug, Default)]
pub struct SymbolTable {
    entries: Vec<Entry>,
    store: Store,
    is_whole: bool,
    readable: OnceCell<Readable>,
}

/// A symbol whose texts lie in a [`Store`].
#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    size: u64,
    name: Text,
    /// The number of the version, counted from 1; 0 is none.
    version: u32,
    kind: Kind,
    global: bool,
}

/// The texts of symbols.
#[derive(Debug, Default)]
struct Store {
    texts: Texts,
    /// Versions, and whether each is the default version.
    versions: Vec<(Text, bool)>,
}

/// The readable name of each symbol; empty where the linker's name is readable.
#[derive(Debug)]
struct Readable {
    names: Vec<Text>,
    texts: Texts,
}

impl Store {
    fn symbol(&self, entry: &Entry) -> Symbol<'_> {
        let Entry { address, size, name, version, kind, global } = *entry;
        let version = (version as usize).checked_sub(1).and_then(|number| self.versions.get(number));
        let version = version.map(|(text, default)| (self.texts.get(*text), *default));
        Symbol { address, size, kind, global, name: self.texts.get(name), version }
    }

    /// The entry of a symbol. `None`: there is no room for its name.
    fn add(&mut self, symbol: &Symbol<'_>) -> Option<Entry> {
        let Symbol { address, size, kind, global, name, version } = *symbol;
        let version = match version {
            None => 0,
            Some((text, default)) => {
                let last = self.versions.last().map(|(text, default)| (self.texts.get(*text), *default));
                // Symbols of one version often follow each other.
                if last != Some((text, default)) {
                    let text = self.texts.add(text)?;
                    self.versions.push((text, default));
                }
                u32::try_from(self.versions.len()).ok()?
            }
        };
        Some(Entry { address, size, name: self.texts.add(name)?, version, kind, global })
    }
}

impl SymbolTable {
    /// Collects the symbols of the file, of its compressed symbol table, of its debug file, of its stubs, and of the table of Go's runtime.
    pub(crate) fn load(elf: &Elf, debug: Option<&Source>) -> SymbolTable {
        let mut table = SymbolTable::default();
        table.is_whole = collect(elf.source(), &mut |symbol| table.add(elf, symbol));
        if let Some(mini) = debug_files::mini(elf) {
            table.is_whole |= collect(&mini, &mut |symbol| table.add(elf, symbol));
        }
        if let Some(debug) = debug {
            table.is_whole |= collect(debug, &mut |symbol| table.add(elf, symbol));
        }
        table.sort();
        let mut more = SymbolTable::default();
        go::functions(elf, |address| table.at(address).any(|symbol| symbol.has_code()), &mut |symbol| {
            more.add(elf, symbol);
        });
        table.is_whole |= !more.entries.is_empty();
        plt::stubs(elf, |address| table.function(address), &mut |symbol| more.add(elf, symbol));
        if !more.entries.is_empty() {
            more.entries.iter().for_each(|entry| table.add(elf, more.store.symbol(entry)));
            table.sort();
        }
        table.entries.shrink_to_fit();
        table
    }

    fn add(&mut self, elf: &Elf, mut symbol: Symbol<'_>) {
        // A symbol outside of the code is no function, whatever its type is.
        if symbol.has_code() && !elf.is_code(symbol.address) {
            symbol.kind = Kind::Data;
        }
        self.entries.extend(self.store.add(&symbol));
    }

    /// Sorts the symbols. Of those that several tables contain one remains.
    fn sort(&mut self) {
        let store = &self.store;
        self.entries
            .sort_unstable_by(|a, b| a.address.cmp(&b.address).then_with(|| order(&store.symbol(a), &store.symbol(b))));
        // The entry with a version or a size comes first and is kept.
        self.entries.dedup_by(|b, a| {
            a.address == b.address && {
                let (a, b) = (store.symbol(a), store.symbol(b));
                a.name == b.name && (b.version.is_none() || a.version == b.version)
            }
        });
    }

    /// The name of the function at an address.
    fn function(&self, address: u64) -> Option<&str> {
        self.at(address).find(Symbol::has_code).map(|symbol| symbol.name)
    }

    /// Whether the names of functions that the file does not export are among the symbols. They are not where the file is stripped and there is
    /// no separate debug file.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// All symbols by address.
    pub fn iter(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.entries.iter().map(|entry| self.store.symbol(entry))
    }

    /// All symbols with their readable names. The linker's name counts if it is readable.
    pub fn readable(&self) -> impl Iterator<Item = (Symbol<'_>, &str)> {
        let all = self.readable.get_or_init(|| {
            let mut texts = Texts::default();
            let names = self.iter().map(|symbol| texts.add(&demangle(symbol.name)?));
            let names = names.map(Option::unwrap_or_default).collect();
            Readable { names, texts }
        });
        self.iter().zip(&all.names).map(|(symbol, readable)| match all.texts.get(*readable) {
            "" => (symbol, symbol.name),
            readable => (symbol, readable),
        })
    }

    /// The symbols at an address, the best name first.
    pub fn at(&self, address: u64) -> impl Iterator<Item = Symbol<'_>> {
        let start = self.entries.partition_point(|entry| entry.address < address);
        let here = self.entries[start..].iter().take_while(move |entry| entry.address == address);
        here.map(|entry| self.store.symbol(entry))
    }

    /// Returns the function that contains an address: the nearest symbol before it whose size does not end before it.
    pub fn holding(&self, address: u64) -> Option<Symbol<'_>> {
        let end = self.entries.partition_point(|entry| entry.address <= address);
        // Nested and unsized symbols may be in between, so the search goes back a few symbols.
        for (steps, entry) in self.entries[..end].iter().rev().enumerate() {
            if steps > 64 {
                return None;
            }
            let symbol = self.store.symbol(entry);
            if !symbol.has_code() {
                continue;
            }
            let offset = address - symbol.address;
            if offset < symbol.size {
                return self.at(symbol.address).find(|other| other.has_code() && offset < other.size);
            }
            if symbol.size == 0 && symbol.kind != Kind::Label {
                return self.at(symbol.address).find(Symbol::has_code);
            }
        }
        None
    }
}

/// Compares symbols of one address. The best name comes first: functions, global, sized, few underscores, short.
fn order(a: &Symbol<'_>, b: &Symbol<'_>) -> std::cmp::Ordering {
    let rank = |symbol: &Symbol<'_>| {
        let underscores = symbol.name.bytes().take_while(|byte| *byte == b'_').count();
        (symbol.kind, !symbol.global, symbol.size == 0, underscores, symbol.name.len())
    };
    rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(b.name)).then_with(|| b.version.cmp(&a.version))
}

/// Adds the symbols of a file. Returns whether it has a table of all its symbols, beside that of those for the dynamic linker.
fn collect(source: &Source, add: &mut dyn FnMut(Symbol<'_>)) -> bool {
    // The tables of a large program have dozens of megabytes, of which nothing is needed later.
    source.briefly(|source| match parse(source) {
        Ok(object::File::Elf64(file)) => collect_elf(&file, add),
        Ok(object::File::Elf32(file)) => collect_elf(&file, add),
        _ => false,
    })
}

fn collect_elf<'data, H: FileHeader>(file: &ElfFile<'data, H, &'data Source>, add: &mut dyn FnMut(Symbol<'_>)) -> bool {
    let versions = file.elf_section_table().versions(file.endian(), file.data()).ok().flatten();
    let version = |index: SymbolIndex| {
        let versions = versions.as_ref()?;
        let index = versions.version_index(file.endian(), index);
        let version = versions.version(index).ok().flatten()?;
        Some((String::from_utf8_lossy(version.name()), !index.is_hidden()))
    };
    file.symbols().for_each(|symbol| take(&symbol, None, add));
    file.dynamic_symbols().for_each(|symbol| take(&symbol, version(symbol.index()), add));
    file.symbols().next().is_some()
}

/// Adds a symbol that stands for code or data.
fn take<'data>(
    symbol: &impl ObjectSymbol<'data>,
    version: Option<(Cow<'_, str>, bool)>,
    add: &mut dyn FnMut(Symbol<'_>),
) {
    let Some(kind) = kind(symbol) else { return };
    let Some(name) = symbol.name_bytes().ok().filter(|name| !name.is_empty()).map(utf8) else { return };
    // In static tables the name contains the version.
    let (name, version) = match name.split_once('@') {
        Some((name, text)) => (name, Some((text.trim_start_matches('@'), text.starts_with('@')))),
        None => (&*name, version.as_ref().map(|(text, default)| (&**text, *default))),
    };
    let global = symbol.is_global() || symbol.is_weak();
    add(Symbol { address: symbol.address(), size: symbol.size(), kind, global, name, version });
}

fn kind<'data>(symbol: &impl ObjectSymbol<'data>) -> Option<Kind> {
    if symbol.is_undefined() {
        return None;
    }
    let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { return None };
    match st_info & 0xf {
        elf::STT_FUNC => Some(Kind::Function),
        elf::STT_GNU_IFUNC => Some(Kind::Indirect),
        elf::STT_NOTYPE if symbol.section_index().is_some() => Some(Kind::Label),
        elf::STT_OBJECT | elf::STT_COMMON => Some(Kind::Data),
        elf::STT_TLS => Some(Kind::ThreadLocal),
        _ => None,
    }
}
