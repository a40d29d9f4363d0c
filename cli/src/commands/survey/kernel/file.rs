//! Reads the file of a kernel or of a module: code, symbols, and the tables that kprobes look at.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use object::{
    Architecture, Object, ObjectKind, ObjectSection, ObjectSymbol, ReadCache, RelocationKind, RelocationTarget,
    SectionFlags, SectionIndex, SectionKind, SymbolKind,
};

type Parsed<'a> = object::File<'a, &'a ReadCache<File>>;
type Result<T> = std::result::Result<T, String>;

/// The code of a section that the kernel keeps after its start.
pub(super) struct Code {
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
}

/// Code from a symbol to the next one.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) range: Range<u64>,
}

/// A kernel or a module. The sections of a module have addresses one behind the other.
pub(super) struct KernelFile {
    pub(super) arch: Architecture,
    pub(super) code: Vec<Code>,
    /// Ascending. The room before a function is none.
    pub(super) functions: Vec<Function>,
    pub(super) tables: Tables,
    /// The names of the tables that the file does not have.
    pub(super) missing: Vec<&'static str>,
}

/// What `stepping::KprobeKernel` asks for, ascending.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) blacklist: Vec<Range<u64>>,
    pub(super) patched: Vec<Range<u64>>,
    pub(super) ftrace: Vec<u64>,
    pub(super) bugs: Vec<u64>,
    pub(super) fixups: Vec<u64>,
}

/// A table of the kernel. The linker makes a section of it or names its ends.
struct Table {
    section: &'static str,
    ends: [&'static str; 2],
    /// Sizes of an entry in bytes. The first one that fits is taken.
    entries: &'static [usize],
    /// Whether an entry begins with an address, and not with the distance to it.
    is_absolute: bool,
}

const FIXUPS: Table = Table {
    section: "__ex_table",
    ends: ["__start___ex_table", "__stop___ex_table"],
    entries: &[12],
    is_absolute: false,
};
const BUGS: Table = Table {
    section: "__bug_table",
    ends: ["__start___bug_table", "__stop___bug_table"],
    entries: &[16, 12],
    is_absolute: false,
};
const JUMP_LABELS: Table = Table {
    section: "__jump_table",
    ends: ["__start___jump_table", "__stop___jump_table"],
    entries: &[16],
    is_absolute: false,
};
const STATIC_CALLS: Table = Table {
    section: ".static_call_sites",
    ends: ["__start_static_call_sites", "__stop_static_call_sites"],
    entries: &[8],
    is_absolute: false,
};
const FTRACE: Table = Table {
    section: "__mcount_loc",
    ends: ["__start_mcount_loc", "__stop_mcount_loc"],
    entries: &[8],
    is_absolute: true,
};
const BLACKLIST: Table = Table {
    section: "_kprobe_blacklist",
    ends: ["__start_kprobe_blacklist", "__stop_kprobe_blacklist"],
    entries: &[8],
    is_absolute: true,
};
/// Code in which no kprobe is set: sections of a module, and symbols at the ends of them in a kernel.
const FORBIDDEN_SECTIONS: [&str; 3] = [".kprobes.text", ".noinstr.text", ".entry.text"];
const FORBIDDEN_ENDS: [[&str; 2]; 6] = [
    ["__kprobes_text_start", "__kprobes_text_end"],
    ["__noinstr_text_start", "__noinstr_text_end"],
    ["__entry_text_start", "__entry_text_end"],
    ["__irqentry_text_start", "__irqentry_text_end"],
    ["__hyp_text_start", "__hyp_text_end"],
    ["__hyp_idmap_text_start", "__hyp_idmap_text_end"],
];
/// How the names of sections begin whose code the kernel drops or copies elsewhere.
const DROPPED: [&str; 3] = [".init", ".exit", ".altinstr"];
/// The first address given to a module's code. Symbols of others are taken to lie at 0, which no branch reaches.
const FIRST: u64 = 1 << 32;
const SHF_WRITE: u64 = object::elf::SHF_WRITE as u64;

impl KernelFile {
    pub(super) fn read(path: &Path) -> Result<KernelFile> {
        let told = |error: std::io::Error| error.to_string();
        let file = File::open(path).map_err(told)?;
        let size = file.metadata().map_err(told)?.len();
        let cache = ReadCache::new(file);
        let file = object::File::parse(&cache).map_err(|error| error.to_string())?;
        Layout::of(&file).kernel_file(size)
    }
}

/// A file with the addresses that its sections have.
struct Layout<'f, 'a> {
    file: &'f Parsed<'a>,
    /// Whether symbols count from the beginning of their sections.
    is_module: bool,
    /// The address given to the beginning of each section of a module; 0 for the sections of a kernel, which have their own.
    bases: HashMap<SectionIndex, u64>,
    by_name: HashMap<String, u64>,
}

impl<'f, 'a> Layout<'f, 'a> {
    fn of(file: &'f Parsed<'a>) -> Layout<'f, 'a> {
        let is_module = file.kind() == ObjectKind::Relocatable;
        let mut next = FIRST;
        let mut bases = HashMap::new();
        for section in file.sections() {
            bases.insert(section.index(), if is_module { next } else { 0 });
            next = next.saturating_add(section.size()).checked_next_multiple_of(64).unwrap_or(u64::MAX);
        }
        let mut layout = Layout { file, is_module, bases, by_name: HashMap::new() };
        let symbols = file.symbols().filter(|symbol| symbol.is_definition());
        layout.by_name = symbols
            .filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), layout.address(symbol.index())?)))
            .collect();
        layout
    }

    fn address(&self, symbol: object::SymbolIndex) -> Option<u64> {
        let symbol = self.file.symbol_by_index(symbol).ok()?;
        let base = self.bases.get(&symbol.section_index()?)?;
        Some(base.wrapping_add(symbol.address()))
    }

    /// What the file of `size` bytes has.
    fn kernel_file(&self, size: u64) -> Result<KernelFile> {
        let arch = self.file.architecture();
        let code = self.code(arch, size)?;
        let functions = self.functions(&code);
        let mut missing = Vec::new();
        let mut read = |table: &Table| {
            let found = self.addresses(table, &code);
            if found.is_none() {
                missing.push(table.section);
            }
            found.unwrap_or_default()
        };
        let (fixups, bugs) = (read(&FIXUPS), read(&BUGS));
        // arm64 moves these addresses at its start.
        let ftrace = if arch == Architecture::X86_64 { read(&FTRACE) } else { Vec::new() };
        let mut patched = Vec::new();
        for (table, is_call) in [(&JUMP_LABELS, false), (&STATIC_CALLS, true)] {
            let places = if is_call && arch != Architecture::X86_64 { Vec::new() } else { read(table) };
            patched
                .extend(places.into_iter().map(|start| start..start.saturating_add(patched_len(&code, start, arch))));
        }
        let listed = self.addresses(&BLACKLIST, &code).unwrap_or_default();
        let blacklist = self.blacklist(&functions, &listed);
        let tables = Tables { blacklist, patched: merged(patched), ftrace, bugs, fixups };
        let functions = functions.into_iter().filter(|function| !is_prefix(&function.name)).collect();
        Ok(KernelFile { arch, code, functions, tables, missing })
    }

    /// The code that stays in memory, which is less than the `size` of the file.
    fn code(&self, arch: Architecture, size: u64) -> Result<Vec<Code>> {
        let (mut code, mut left) = (Vec::new(), size);
        // The linker marks data of a kernel as code too.
        let is_code = |section: &object::Section<'_, '_, _>| {
            let is_written = matches!(section.flags(), SectionFlags::Elf { sh_flags } if sh_flags & SHF_WRITE != 0);
            section.kind() == SectionKind::Text && !is_written
        };
        for section in self.file.sections().filter(is_code) {
            let name = section.name().unwrap_or_default();
            if section.size() == 0 || DROPPED.iter().any(|start| name.starts_with(start)) {
                continue;
            }
            left = left
                .checked_sub(section.size())
                .ok_or_else(|| format!("{name}: the sections of code are larger than the file ({size} bytes)"))?;
            let start = self.bases.get(&section.index()).copied().unwrap_or(0).wrapping_add(section.address());
            let mut bytes = section.data().map_err(|error| format!("{name}: {error}"))?.to_vec();
            if self.is_module && arch == Architecture::X86_64 {
                self.relocate(section.relocations(), start, &mut bytes);
            }
            code.push(Code { start, bytes });
        }
        code.sort_by_key(|code| code.start);
        Ok(code)
    }

    /// Writes the distances of branches to other sections.
    fn relocate(&self, all: impl Iterator<Item = (u64, object::Relocation)>, start: u64, bytes: &mut [u8]) {
        for (offset, relocation) in all {
            let is_distance = matches!(relocation.kind(), RelocationKind::Relative | RelocationKind::PltRelative);
            let place = usize::try_from(offset).ok().and_then(|at| bytes.get_mut(at..)?.first_chunk_mut::<4>());
            if let (true, 32, Some(place)) = (is_distance, relocation.size(), place) {
                let distance = self.target(&relocation).wrapping_sub(start.wrapping_add(offset));
                *place = (distance as u32).to_le_bytes();
            }
        }
    }

    /// Where a relocation leads, its addend included.
    fn target(&self, relocation: &object::Relocation) -> u64 {
        let target = match relocation.target() {
            RelocationTarget::Symbol(symbol) => self.address(symbol),
            RelocationTarget::Section(section) => self.bases.get(&section).copied(),
            _ => None,
        };
        target.map_or(0, |target| target.wrapping_add_signed(relocation.addend()))
    }

    /// The symbols of the code, each to the next one or to the end of its section.
    fn functions(&self, code: &[Code]) -> Vec<Function> {
        let mut names: BTreeMap<u64, String> = BTreeMap::new();
        for symbol in self.file.symbols().filter(|symbol| symbol.is_definition()) {
            let name = symbol.name().unwrap_or_default();
            let is_name = !matches!(symbol.kind(), SymbolKind::Section | SymbolKind::File);
            let is_local = name.is_empty() || name.starts_with(".L") || name.starts_with('$');
            if let (true, false, Some(address)) = (is_name, is_local, self.address(symbol.index())) {
                names.entry(address).or_insert_with(|| name.to_owned());
            }
        }
        let mut functions = Vec::new();
        for Code { start, bytes } in code {
            let end = start.saturating_add(bytes.len() as u64);
            let mut here = names.range(*start..end).peekable();
            while let Some((first, name)) = here.next() {
                let next = here.peek().map_or(end, |(next, _)| **next);
                functions.push(Function { name: name.clone(), range: *first..next });
            }
        }
        functions
    }

    /// The addresses that a table names in the code, ascending. `None`: the file does not tell.
    fn addresses(&self, table: &Table, code: &[Code]) -> Option<Vec<u64>> {
        let section = self.file.section_by_name(table.section);
        if self.is_module {
            // A module without such code has no table.
            let Some(section) = section else { return Some(Vec::new()) };
            let targets: HashMap<u64, u64> =
                section.relocations().map(|(offset, relocation)| (offset, self.target(&relocation))).collect();
            return choose(table, section.size(), |offset| targets.get(&offset).copied(), code);
        }
        let ends = table.ends.map(|name| self.by_name.get(name).copied());
        let (start, end) = match (ends, section) {
            ([Some(start), Some(end)], _) => (start, end),
            (_, Some(section)) => (section.address(), section.address().saturating_add(section.size())),
            _ => return None,
        };
        let size = end.checked_sub(start)?;
        let holds = |start: u64| {
            move |section: &object::Section<'_, '_, &ReadCache<File>>| {
                section.address() <= start && start < section.address().saturating_add(section.size())
            }
        };
        let bytes = match size {
            0 => &[],
            _ => self.file.sections().find(holds(start))?.data_range(start, size).ok()??,
        };
        let word = |offset: u64| {
            let rest = bytes.get(usize::try_from(offset).ok()?..)?;
            if table.is_absolute {
                return Some(u64::from_le_bytes(*rest.first_chunk()?));
            }
            let distance = i32::from_le_bytes(*rest.first_chunk()?);
            Some(start.wrapping_add(offset).wrapping_add_signed(distance.into()))
        };
        choose(table, size, word, code)
    }

    /// The ranges in which no kprobe is set. `listed` are first instructions of functions.
    fn blacklist(&self, functions: &[Function], listed: &[u64]) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        for section in
            self.file.sections().filter(|section| FORBIDDEN_SECTIONS.contains(&section.name().unwrap_or_default()))
        {
            let start = self.bases.get(&section.index()).copied().unwrap_or(0).wrapping_add(section.address());
            ranges.push(start..start.saturating_add(section.size()));
        }
        for ends in FORBIDDEN_ENDS {
            if let [Some(start), Some(end)] = ends.map(|name| self.by_name.get(name).copied()) {
                ranges.push(start..end);
            }
        }
        let by_start: HashMap<u64, &Function> =
            functions.iter().map(|function| (function.range.start, function)).collect();
        ranges.extend(listed.iter().filter_map(|start| by_start.get(start)).map(|function| function.range.clone()));
        let known = merged(ranges.clone());
        let is_known = |address: u64| {
            let next = known.partition_point(|range| range.end <= address);
            known.get(next).is_some_and(|range| range.contains(&address))
        };
        for Function { name, range } in functions {
            // What the compiler made of a function shares its fate.
            let origin = name.split_once('.').and_then(|(origin, _)| self.by_name.get(origin));
            if is_prefix(name) || origin.is_some_and(|origin| is_known(*origin)) {
                ranges.push(range.clone());
            }
        }
        merged(ranges)
    }
}

/// The addresses by the size of an entry for which all of them are such: those in the code, ascending.
fn choose(table: &Table, size: u64, address_at: impl Fn(u64) -> Option<u64>, code: &[Code]) -> Option<Vec<u64>> {
    let all = |entry: usize| (0..size).step_by(entry).map(&address_at).collect::<Option<Vec<u64>>>();
    let sizes = table.entries.iter().filter(|entry| size % **entry as u64 == 0);
    // The right size finds the most code; a wrong one reads line numbers for distances.
    let found = sizes.filter_map(|entry| Some((*entry, all(*entry)?))).map(|(entry, addresses)| {
        let in_code = addresses.into_iter().filter(|address| holding(code, *address).is_some());
        (entry, in_code.collect::<Vec<u64>>())
    });
    let (_, mut addresses) = found.max_by_key(|(entry, addresses)| addresses.len() * entry)?;
    addresses.sort_unstable();
    addresses.dedup();
    Some(addresses)
}

/// The bytes from an address to the end of its section.
pub(super) fn holding(code: &[Code], address: u64) -> Option<&[u8]> {
    let next = code.partition_point(|code| code.start <= address);
    let Code { start, bytes } = code.get(next.checked_sub(1)?)?;
    bytes.get(usize::try_from(address - start).ok()?..).filter(|rest| !rest.is_empty())
}

/// The size of an instruction that the kernel rewrites: on x86 a jump, a call, or a no-operation of their sizes.
fn patched_len(code: &[Code], start: u64, arch: Architecture) -> u64 {
    if arch != Architecture::X86_64 {
        return 4;
    }
    let insn = holding(code, start).and_then(|bytes| insn::x86::decode(bytes, insn::x86::Mode::INTEL_64).ok());
    insn.map_or(5, |insn| insn.len() as u64)
}

/// Whether a symbol names the room before a function.
fn is_prefix(name: &str) -> bool {
    name.starts_with("__pfx_") || name.starts_with("__cfi_")
}

/// Ranges without overlap, ascending.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut().filter(|last| range.start < last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => merged.push(range),
        }
    }
    merged
}
