//! What is known of a debuggee's dynamic loader: which code is mapped, and where the loader tells debuggers of a change
//! (`struct r_debug`, link.h).

use crate::{Address, Auxv, Mapping, Process};

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
const PT_PHDR: u64 = 6;
const DT_NULL: u64 = 0;
const DT_DEBUG: u64 = 21;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DF_1_PIE: u64 = 0x0800_0000;
/// No dynamic section has more entries than that.
const DYNAMIC_ENTRIES: u64 = 4096;
/// `RT_CONSISTENT`
const CONSISTENT: u64 = 0;

/// Reads a word of so many bytes at an address.
pub(crate) type Words<'a> = dyn Fn(u64, usize) -> Option<u64> + 'a;

/// What is known of a process' loader.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loader {
    /// Where `struct r_debug` lies, once the loader has told.
    debug: Option<u64>,
    /// The code mappings of the last look.
    code: Vec<Code>,
    /// The program that a loader loads which was run as a program itself.
    program: Option<Headers>,
    /// That program is not mapped yet.
    awaits_program: bool,
}

/// Code as it is mapped: first byte, behind the last one, offset in the file, device and inode.
type Code = (u64, u64, u64, u64, u64);

impl Loader {
    /// That of a new program; whether it is going to load what the program asks for, or a program.
    pub(crate) fn start(maps: &[Mapping], process: &Process, words: &Words<'_>) -> (Loader, bool) {
        let awaits_program = is_loader(process, words);
        let loader = Loader { code: code_of(maps), awaits_program, ..Loader::default() };
        (loader, awaits_program || process.auxv.base().is_some())
    }

    /// Where the program begins, if that is known: where a loader was run as a program, once what it loads is mapped, and only once.
    pub(crate) fn entry(&mut self, maps: &[Mapping], process: &Process, words: &Words<'_>) -> Option<u64> {
        if !self.awaits_program {
            return None;
        }
        // The first file that the loader maps is the program.
        let is_code = |entry: u64| maps.iter().any(|map| map.execute && map.contains(Address(entry)));
        let (entry, headers) = loaded(process, maps, words).find(|(entry, _)| is_code(*entry))?;
        (self.program, self.awaits_program) = (Some(headers), false);
        Some(entry)
    }

    /// Whether code was mapped or unmapped since the last look.
    pub(crate) fn changed(&mut self, maps: &[Mapping]) -> bool {
        let code = code_of(maps);
        let changed = self.code != code;
        self.code = code;
        changed
    }

    /// Asks the loader of a process; gives the function that it calls whenever its list of libraries changes (`r_brk`).
    pub(crate) fn find(&mut self, maps: &[Mapping], process: &Process, words: &Words<'_>) -> Option<u64> {
        let width = process.arch.width();
        self.code = code_of(maps);
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

    /// Whether its list of libraries is complete (`r_state`).
    pub(crate) fn is_consistent(&self, process: &Process, words: &Words<'_>) -> bool {
        let state = |debug: u64| words(debug.wrapping_add(3 * process.arch.width() as u64), 4);
        self.debug.and_then(state) == Some(CONSISTENT)
    }
}

fn code_of(maps: &[Mapping]) -> Vec<Code> {
    let code = maps.iter().filter(|map| map.execute && map.inode != 0);
    code.map(|map| (map.start.0, map.end.0, map.offset, map.device, map.inode)).collect()
}

/// The program headers of a program in memory: address, size of one, and number.
type Headers = (u64, u64, u64);

/// What a program's headers tell of it.
struct Program {
    /// What is added to its addresses.
    bias: u64,
    /// Its dynamic section in memory.
    dynamic: Option<u64>,
    /// It names a dynamic loader.
    asks_for_loader: bool,
}

impl Program {
    fn read((headers, size, count): Headers, width: usize, words: &Words<'_>) -> Option<Program> {
        // p_vaddr stands behind p_type, p_flags and p_offset, or behind p_type and p_offset.
        let (vaddr_at, offset_at) = (2 * width as u64, if width == 8 { 8 } else { 4 });
        let mut program = Program { bias: 0, dynamic: None, asks_for_loader: false };
        for at in (0..count.min(256)).map(|number| headers.wrapping_add(number.wrapping_mul(size))) {
            let kind = words(at, 4)?;
            let vaddr = words(at.wrapping_add(vaddr_at), width)?;
            let offset = words(at.wrapping_add(offset_at), width)?;
            match kind {
                PT_PHDR => program.bias = headers.wrapping_sub(vaddr),
                // The headers lie in the page in which the file begins.
                PT_LOAD if offset == 0 => program.bias = (headers & !0xfff).wrapping_sub(vaddr),
                PT_DYNAMIC => program.dynamic = Some(vaddr),
                PT_INTERP => program.asks_for_loader = true,
                _ => {}
            }
        }
        program.dynamic = program.dynamic.map(|dynamic| dynamic.wrapping_add(program.bias));
        Some(program)
    }

    /// Where the value of an entry of the dynamic section lies.
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

/// Whether the program is a dynamic loader that was run as a program (`ld.so ./prog`): a shared object that asks for no loader, and no
/// statically linked program that can lie anywhere.
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

/// The files mapped with code besides the loader's own, by their entry points and headers (ELF header, elf.h).
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
