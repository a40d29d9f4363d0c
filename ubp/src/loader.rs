//! What is known of a debuggee's dynamic loader: which code is mapped, and where the loader tells debuggers of a change
//! (`struct r_debug`, link.h).

use crate::{Auxv, Mapping, Process};

const PT_PHDR: u64 = 6;
const PT_DYNAMIC: u64 = 2;
const DT_DEBUG: u64 = 21;
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
}

/// Code as it is mapped: first byte, behind the last one, offset in the file, device and inode.
type Code = (u64, u64, u64, u64, u64);

impl Loader {
    /// One that has not told yet.
    pub(crate) fn new(maps: &[Mapping]) -> Loader {
        Loader { debug: None, code: code_of(maps) }
    }

    /// Whether code was mapped or unmapped since the last look.
    pub(crate) fn changed(&mut self, maps: &[Mapping]) -> bool {
        let code = code_of(maps);
        let changed = self.code != code;
        self.code = code;
        changed
    }

    /// Asks the loader of a process; gives the function that it calls whenever its list of libraries changes (`r_brk`).
    pub(crate) fn find(&mut self, process: &Process, words: &Words<'_>) -> Option<u64> {
        self.debug = find_debug(process, words);
        let width = process.arch.width();
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

/// Where the loader keeps `struct r_debug`, by the program's dynamic section.
fn find_debug(process: &Process, words: &Words<'_>) -> Option<u64> {
    let auxv: &Auxv = &process.auxv;
    let width = process.arch.width();
    let (headers, size, count) = auxv.program_headers()?;
    // p_vaddr stands behind p_type, p_flags and p_offset, or behind p_type and p_offset.
    let vaddr_at = 2 * width as u64;
    let mut bias = 0;
    let mut dynamic = None;
    for at in (0..count.min(256)).map(|number| headers.0.wrapping_add(number.wrapping_mul(size))) {
        let kind = words(at, 4)?;
        let vaddr = words(at.wrapping_add(vaddr_at), width)?;
        match kind {
            PT_PHDR => bias = headers.0.wrapping_sub(vaddr),
            PT_DYNAMIC => dynamic = Some(vaddr),
            _ => {}
        }
    }
    let dynamic = dynamic?.wrapping_add(bias);
    for at in (0..DYNAMIC_ENTRIES).map(|number| dynamic.wrapping_add(number * 2 * width as u64)) {
        let tag = words(at, width)?;
        if tag == 0 {
            return None;
        }
        if tag == DT_DEBUG {
            return words(at.wrapping_add(width as u64), width).filter(|&debug| debug != 0);
        }
    }
    None
}
