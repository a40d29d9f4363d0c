//! The dynamic loader of a debuggee: which code it has mapped, and the function that it calls after changes (`struct r_debug`, link.h).

use crate::memory::{Read, word};
use crate::module::{Changes, Module, modules};
use crate::{Address, Auxv, EventKind, Mapping, Process};

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
const PT_PHDR: u64 = 6;
const DT_NULL: u64 = 0;
const DT_DEBUG: u64 = 21;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DF_1_PIE: u64 = 0x0800_0000;
/// The most entries of a dynamic section that are read.
const DYNAMIC_ENTRIES: u64 = 4096;
/// `RT_CONSISTENT`
const CONSISTENT: u64 = 0;

/// Reads a word at an address; the second argument is its size in bytes.
type Words<'a> = dyn Fn(u64, usize) -> Option<u64> + 'a;

/// The state of a process's loader.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loader {
    /// Address of `struct r_debug`, once the loader has set it up.
    debug: Option<u64>,
    /// The mappings of code at the last comparison.
    code: Vec<Code>,
    /// The modules at the last comparison.
    modules: Vec<Module>,
    /// Modules that went and were not reported yet, since others came at the same time.
    unloaded: Vec<Module>,
    /// If the loader was executed as a program: the program that it loads.
    program: Option<Headers>,
    /// The loader was executed as a program, and the program that it loads is not mapped yet.
    awaits_program: bool,
}

/// A mapping of code: first address, first address after it, offset in the file, device, inode.
type Code = (u64, u64, u64, u64, u64);

impl Loader {
    /// The loader of a new program, and whether it is going to load libraries or a program.
    pub(crate) fn start(maps: &[Mapping], process: &Process, read: &Read<'_>) -> (Loader, bool) {
        let awaits_program = is_loader(process, &|at, width| word(read, at, width));
        let (code, modules) = (code_of(maps), modules(maps, read));
        let loader = Loader { code, modules, awaits_program, ..Loader::default() };
        (loader, awaits_program || process.auxv.base().is_some())
    }

    /// The entry point of the program that a loader loads which was executed as a program. It is returned once, when the program is mapped.
    pub(crate) fn entry(&mut self, maps: &[Mapping], process: &Process, read: &Read<'_>) -> Option<u64> {
        if !self.awaits_program {
            return None;
        }
        let words = |at, width| word(read, at, width);
        // The first file that the loader maps is the program.
        let is_code = |entry: u64| maps.iter().any(|map| map.execute && map.contains(Address(entry)));
        let (entry, headers) = loaded(process, maps, &words).find(|(entry, _)| is_code(*entry))?;
        (self.program, self.awaits_program) = (Some(headers), false);
        Some(entry)
    }

    /// What the loader mapped or unmapped since the last call, or [`EventKind::Unloaded`] for what it unmapped when it also mapped something.
    pub(crate) fn change(&mut self, maps: &[Mapping], read: &Read<'_>) -> Option<EventKind> {
        let code = code_of(maps);
        if self.code != code {
            let modules = modules(maps, read);
            let Changes { loaded, unloaded } = Changes::between(&self.modules, &modules);
            (self.code, self.modules) = (code, modules);
            self.unloaded.extend(unloaded);
            if !loaded.is_empty() || self.unloaded.is_empty() {
                return Some(EventKind::Loaded(loaded));
            }
        }
        let unloaded = std::mem::take(&mut self.unloaded);
        (!unloaded.is_empty()).then_some(EventKind::Unloaded(unloaded))
    }

    /// Reads `struct r_debug` and returns the function that the loader calls whenever its list of libraries changes (`r_brk`).
    pub(crate) fn find(&mut self, maps: &[Mapping], process: &Process, read: &Read<'_>) -> Option<u64> {
        let width = process.arch.width();
        let words = &|at, width| word(read, at, width);
        (self.code, self.modules) = (code_of(maps), modules(maps, read));
        let debug = |headers| {
            let at = Program::read(headers, width, words)?.entry(DT_DEBUG, width, words)?;
            words(at, width).filter(|&debug| debug != 0)
        };
        let own = self.program.or_else(|| headers_of(&process.auxv));
        let run_by_loader = || loaded(process, maps, words).find_map(|(_, headers)| debug(headers));
        self.debug = own.and_then(debug).or_else(|| is_loader(process, words).then(run_by_loader)?);
        // r_version, r_map, r_brk, r_state: each as wide as a word.
        words(self.debug?.wrapping_add(2 * width as u64), width).filter(|&function| function != 0)
    }

    /// Whether the list of libraries is complete (`r_state`).
    pub(crate) fn is_consistent(&self, process: &Process, read: &Read<'_>) -> bool {
        let state = |debug: u64| word(read, debug.wrapping_add(3 * process.arch.width() as u64), 4);
        self.debug.and_then(state) == Some(CONSISTENT)
    }
}

fn code_of(maps: &[Mapping]) -> Vec<Code> {
    let code = maps.iter().filter(|map| map.execute && map.inode != 0);
    code.map(|map| (map.start.0, map.end.0, map.offset, map.device, map.inode)).collect()
}

/// The program headers in memory: address, size of one header, number of headers.
type Headers = (u64, u64, u64);

/// The contents of a program's headers.
struct Program {
    /// Difference between addresses in memory and in the file.
    bias: u64,
    /// Address of the dynamic section in memory.
    dynamic: Option<u64>,
    /// The program names a dynamic loader (`PT_INTERP`).
    asks_for_loader: bool,
}

impl Program {
    fn read((headers, size, count): Headers, width: usize, words: &Words<'_>) -> Option<Program> {
        // p_vaddr follows p_type, p_flags and p_offset (64-bit), or p_type and p_offset (32-bit).
        let (vaddr_at, offset_at) = (2 * width as u64, if width == 8 { 8 } else { 4 });
        let mut program = Program { bias: 0, dynamic: None, asks_for_loader: false };
        for at in (0..count.min(256)).map(|number| headers.wrapping_add(number.wrapping_mul(size))) {
            let kind = words(at, 4)?;
            let vaddr = words(at.wrapping_add(vaddr_at), width)?;
            let offset = words(at.wrapping_add(offset_at), width)?;
            match kind {
                PT_PHDR => program.bias = headers.wrapping_sub(vaddr),
                // The headers are in the first page of the file.
                PT_LOAD if offset == 0 => program.bias = (headers & !0xfff).wrapping_sub(vaddr),
                PT_DYNAMIC => program.dynamic = Some(vaddr),
                PT_INTERP => program.asks_for_loader = true,
                _ => {}
            }
        }
        program.dynamic = program.dynamic.map(|dynamic| dynamic.wrapping_add(program.bias));
        Some(program)
    }

    /// The address of the value of an entry of the dynamic section.
    fn entry(&self, wanted: u64, width: usize, words: &Words<'_>) -> Option<u64> {
        let dynamic = self.dynamic?;
        for at in (0..DYNAMIC_ENTRIES).map(|number| dynamic.wrapping_add(number * 2 * width as u64)) {
            match words(at, width)? {
                DT_NULL => return None,
                tag if tag == wanted => return Some(at.wrapping_add(width as u64)),
                _ => {}
            }
        }
        None
    }
}

fn headers_of(auxv: &Auxv) -> Option<Headers> {
    auxv.program_headers().map(|(headers, size, count)| (headers.0, size, count))
}

/// Whether the program is a dynamic loader that was executed as a program (`ld.so ./prog`): a shared object without `PT_INTERP` that is not
/// a static position-independent executable.
fn is_loader(process: &Process, words: &Words<'_>) -> bool {
    let width = process.arch.width();
    let own = headers_of(&process.auxv).and_then(|headers| Program::read(headers, width, words));
    let Some(own) = own.filter(|own| own.dynamic.is_some() && !own.asks_for_loader) else { return false };
    let flags = own.entry(DT_FLAGS_1, width, words).and_then(|at| words(at, width)).unwrap_or(0);
    process.auxv.base().is_none() && flags & DF_1_PIE == 0
}

/// Device and inode.
fn file(map: &Mapping) -> (u64, u64) {
    (map.device, map.inode)
}

/// Entry points and program headers of the mapped files that have code, except the loader itself (ELF header, elf.h).
fn loaded<'a>(
    process: &'a Process,
    maps: &'a [Mapping],
    words: &'a Words<'_>,
) -> impl Iterator<Item = (u64, Headers)> + 'a {
    let width = process.arch.width();
    let own =
        headers_of(&process.auxv).and_then(|(at, ..)| maps.iter().find(|map| map.contains(Address(at)))).map(file);
    let code = maps.iter().filter(move |map| map.execute && map.inode != 0 && Some(file(map)) != own);
    code.filter_map(move |code| {
        let first = |map: &&Mapping| file(map) == file(code) && map.offset == 0 && map.start <= code.start;
        let base = maps.iter().rev().find(first)?.start.0;
        let (entry_at, headers_at, sizes_at) = if width == 8 { (24, 32, 54) } else { (24, 28, 42) };
        let headers = base.wrapping_add(words(base + headers_at, width)?);
        let headers = (headers, words(base + sizes_at, 2)?, words(base + sizes_at + 2, 2)?);
        let program = Program::read(headers, width, words)?;
        Some((words(base + entry_at, width)?.wrapping_add(program.bias), headers))
    })
}
