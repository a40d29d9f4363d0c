//! The running kernel: its symbols, its code, and its tables.

use std::collections::HashMap;
use std::fs::{File, read_to_string};
use std::io::Result;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, ProgramHeader};

use crate::machine;

/// Where the kernel's trace events and its list of kprobes are.
pub(crate) const TRACING: &str = "/sys/kernel/debug/tracing";
pub(crate) const KPROBES: &str = "/sys/kernel/debug/kprobes";

/// The bytes at the beginning of the kernel's memory as a file that hold its headers.
const HEADERS: usize = 4096;

/// A table of the kernel between two symbols.
pub(crate) struct Table {
    pub(crate) start: &'static str,
    pub(crate) stop: &'static str,
    /// Size of an entry in bytes. Its first word is the distance from itself to an instruction.
    pub(crate) entry: usize,
}

pub(crate) const FIXUPS: Table = Table { start: "__start___ex_table", stop: "__stop___ex_table", entry: 12 };
pub(crate) const JUMP_LABELS: Table = Table { start: "__start___jump_table", stop: "__stop___jump_table", entry: 16 };

/// A function, or other code, from its symbol to the next one.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) range: Range<u64>,
    pub(crate) code: Vec<u8>,
}

/// The running kernel.
pub(crate) struct Running {
    memory: File,
    /// Addresses in memory with their places in `memory`.
    segments: Vec<(Range<u64>, u64)>,
    /// Addresses and names, ascending: one name for each address.
    symbols: Vec<(u64, String)>,
    by_name: HashMap<String, u64>,
    pub(crate) blacklist: Vec<Range<u64>>,
    pub(crate) patched: Vec<Range<u64>>,
    pub(crate) ftrace: Vec<u64>,
    pub(crate) bugs: Vec<u64>,
    pub(crate) fixups: Vec<u64>,
}

impl Running {
    /// Reads what the kernel tells of itself, as root.
    pub(crate) fn read() -> Result<Running> {
        let memory = File::open("/proc/kcore")?;
        let segments = segments(&memory)?;
        let mut symbols = symbols()?;
        let by_name = symbols.iter().map(|(address, name)| (name.clone(), *address)).collect();
        symbols.dedup_by_key(|(address, _)| *address);
        let mut running = Running {
            memory,
            segments,
            symbols,
            by_name,
            blacklist: Vec::new(),
            patched: Vec::new(),
            ftrace: ftrace()?,
            bugs: Vec::new(),
            fixups: Vec::new(),
        };
        running.blacklist = running.find_blacklist()?;
        running.bugs = running.addresses(&machine::BUGS)?;
        running.fixups = running.addresses(&FIXUPS)?;
        running.patched = machine::patched(&running)?;
        running.patched.sort_by_key(|range| range.start);
        Ok(running)
    }

    /// The addresses of the kernel's own code.
    pub(crate) fn text(&self) -> Range<u64> {
        self.address("_stext")..self.address("_etext")
    }

    fn address(&self, name: &str) -> u64 {
        *self.by_name.get(name).unwrap_or_else(|| panic!("the kernel has no symbol {name}"))
    }

    /// The symbol before an address, as its place among all.
    fn symbol(&self, address: u64) -> usize {
        self.symbols.partition_point(|(start, _)| *start <= address) - 1
    }

    /// The name of the symbol before an address.
    pub(crate) fn name(&self, address: u64) -> &str {
        &self.symbols[self.symbol(address)].1
    }

    /// The addresses from the symbol before an address to the next one.
    fn range(&self, address: u64) -> Range<u64> {
        let symbol = self.symbol(address);
        self.symbols[symbol].0..self.symbols[symbol + 1].0
    }

    /// The code from the symbol before an address to the next one.
    pub(crate) fn function(&self, address: u64) -> Result<Function> {
        let range = self.range(address);
        let code = self.bytes(range.start, (range.end - range.start) as usize)?;
        Ok(Function { name: self.name(address).to_owned(), range, code })
    }

    /// Those of some addresses that lie in functions of the kernel's own code that call ftrace.
    pub(crate) fn traced(&self, addresses: &[u64]) -> Vec<u64> {
        let text = self.text();
        let is_traced = |address: u64| {
            let range = self.range(address);
            let next = self.ftrace.partition_point(|at| *at < range.start);
            self.ftrace.get(next).is_some_and(|at| *at < range.end)
        };
        addresses.iter().copied().filter(|address| text.contains(address) && is_traced(*address)).collect()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self, address: u64, size: usize) -> Result<Vec<u8>> {
        let (range, offset) =
            self.segments.iter().find(|(range, _)| range.contains(&address)).expect("the kernel shows its code");
        let mut bytes = vec![0; size];
        self.memory.read_exact_at(&mut bytes, offset + (address - range.start))?;
        Ok(bytes)
    }

    /// The addresses that a table names in the kernel's code, ascending.
    pub(crate) fn addresses(&self, table: &Table) -> Result<Vec<u64>> {
        let (start, stop) = (self.address(table.start), self.address(table.stop));
        let bytes = self.bytes(start, (stop - start) as usize)?;
        assert_eq!(bytes.len() % table.entry, 0, "{}: entries of another size", table.start);
        let distances = bytes.chunks_exact(table.entry).map(|entry| i32::from_le_bytes(entry[..4].try_into().unwrap()));
        let places = (start..).step_by(table.entry);
        let text = self.text();
        let all = places.zip(distances).map(|(place, distance)| place.wrapping_add_signed(distance.into()));
        let mut addresses: Vec<u64> = all.filter(|address| text.contains(address)).collect();
        addresses.sort_unstable();
        addresses.dedup();
        Ok(addresses)
    }

    /// The ranges in which the kernel lets nobody set a kprobe, ascending and without overlap.
    fn find_blacklist(&self) -> Result<Vec<Range<u64>>> {
        let told = read_to_string(format!("{KPROBES}/blacklist"))?;
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("an address");
        let mut ranges: Vec<Range<u64>> = told
            .lines()
            .filter_map(|line| line.split_whitespace().next()?.split_once('-'))
            .map(|(start, end)| number(start)..number(end))
            .collect();
        let listed = ranges.clone();
        for pair in self.symbols.windows(2) {
            let (start, name) = &pair[0];
            // What the compiler made of a function shares its fate.
            let origin = name.split_once('.').and_then(|(origin, _)| self.by_name.get(origin));
            let is_listed = |address| listed.iter().any(|range| range.contains(address));
            if name.starts_with("__pfx_") || name.starts_with("__cfi_") || origin.is_some_and(is_listed) {
                ranges.push(*start..pair[1].0);
            }
        }
        ranges.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match merged.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => merged.push(range),
            }
        }
        Ok(merged)
    }
}

/// The segments of the kernel's memory.
fn segments(memory: &File) -> Result<Vec<(Range<u64>, u64)>> {
    let mut head = [0; HEADERS];
    memory.read_exact_at(&mut head, 0)?;
    let header = FileHeader64::<Endianness>::parse(&head[..]).expect("an ELF file");
    let endian = header.endian().expect("little-endian");
    let headers = header.program_headers(endian, &head[..]).expect("program headers");
    let places = headers.iter().map(|one| {
        let start = one.p_vaddr(endian);
        (start..start.saturating_add(one.p_memsz(endian)), one.p_offset(endian))
    });
    Ok(places.filter(|(range, _)| range.start != 0).collect())
}

/// The kernel's own symbols, without those of modules, ascending.
fn symbols() -> Result<Vec<(u64, String)>> {
    let told = read_to_string("/proc/kallsyms")?;
    let mut symbols = Vec::new();
    for line in told.lines().filter(|line| !line.ends_with(']')) {
        let mut words = line.split_whitespace();
        if let (Some(address), _, Some(name)) = (words.next(), words.next(), words.next()) {
            symbols.push((u64::from_str_radix(address, 16).expect("an address"), name.to_owned()));
        }
    }
    symbols.sort_by_key(|(address, _)| *address);
    Ok(symbols)
}

/// The addresses at which functions call ftrace, ascending.
fn ftrace() -> Result<Vec<u64>> {
    let told = read_to_string(format!("{TRACING}/available_filter_functions_addrs"))?;
    let addresses = told.lines().filter_map(|line| u64::from_str_radix(line.split_whitespace().next()?, 16).ok());
    let mut addresses: Vec<u64> = addresses.collect();
    addresses.sort_unstable();
    Ok(addresses)
}
