//! Whether the code in memory is that of a file. Identities of files can deceive (a file is written while it is mapped, file systems tell
//! numbers of their own); what threads run cannot.

use std::collections::HashMap;
use std::ops::Range;

use ubp::{Address, Mapping, Pid, Session};

use super::module::Module;
use crate::symbols::{Arch, Image};

/// Around an address no more than its page is compared.
const PAGE: u64 = 4096;
/// Bytes of a whole mapping that are compared at once.
const PART: u64 = 256 << 10;
/// No instruction is longer.
const LONGEST: u64 = 16;
/// No relocation in code writes more.
const RELOCATION: u64 = 8;

/// Whether all that is mapped as code is what the file holds there.
pub(super) fn is_mapped(session: &mut Session, pid: Pid, map: &Mapping, image: &Image) -> bool {
    let Some(bias) = image.bias(map.start.0, map.offset) else { return false };
    let start = map.start.0.wrapping_sub(bias);
    let size = image.held_at(start).min(map.end - map.start);
    let parts = (0..size).step_by(PART as usize).map(|at| start + at..start + size.min(at + PART));
    let place = |address: u64| bias.wrapping_add(address);
    size > 0 && parts.into_iter().all(|part| is_same(session, pid, image, place(part.start), part).unwrap_or(false))
}

/// Which of a module's addresses lie in code that is not the file's: what is compared is the function around an address, as far as its
/// page goes, or the instruction where `function` knows none.
pub(crate) fn differing(
    session: &mut Session,
    pid: Pid,
    module: &Module,
    addresses: impl Iterator<Item = u64>,
    function: impl Fn(u64) -> Option<Range<u64>>,
) -> ubp::Result<Vec<u64>> {
    let image = &module.image;
    let mut differing = Vec::new();
    // Code that was read from memory has no file.
    if image.origin().is_none() {
        return Ok(differing);
    }
    let mut known: HashMap<(u64, u64), bool> = HashMap::new();
    let mut around: Option<Range<u64>> = None;
    for address in addresses {
        if !around.as_ref().is_some_and(|range| range.contains(&address)) {
            around = function(address).filter(|range| range.contains(&address));
        }
        let last = address.saturating_add(LONGEST - 1);
        let range = around.clone().unwrap_or(address..last.saturating_add(1));
        for page in [address & !(PAGE - 1), last & !(PAGE - 1)] {
            let part = range.start.max(page)..range.end.min(page.saturating_add(PAGE));
            let same = match known.get(&(part.start, part.end)) {
                Some(same) => *same,
                None => part.is_empty() || is_same(session, pid, image, module.in_memory(part.start), part.clone())?,
            };
            known.insert((part.start, part.end), same);
            if !same && differing.last() != Some(&address) {
                differing.push(address);
            }
        }
    }
    Ok(differing)
}

/// Whether memory at `place` holds what the file does at its addresses `range`, but for what loaders and debuggers write there.
fn is_same(session: &mut Session, pid: Pid, image: &Image, place: u64, range: Range<u64>) -> ubp::Result<bool> {
    let Some(file) = image.read_at(range.start, range.end - range.start) else { return Ok(false) };
    let mut memory = vec![0; file.len()];
    match session.read_memory(pid, Address(place), &mut memory) {
        Ok(read) if read < memory.len() => return Ok(false),
        Err(ubp::Error::Memory { .. }) => return Ok(false),
        other => drop(other?),
    }
    if *file == *memory {
        return Ok(true);
    }
    let relocated = |address: u64| {
        let places = image.relocated();
        let before = places.get(places.partition_point(|place| *place <= address).wrapping_sub(1));
        before.is_some_and(|place| address - place < RELOCATION)
    };
    Ok((range.start..).zip(file.iter().zip(&memory)).all(|(address, (in_file, in_memory))| {
        let offset = (address - range.start) as usize;
        in_file == in_memory || is_breakpoint(image.arch(), address, &memory, offset) || relocated(address)
    }))
}

/// Whether the byte at an offset is part of a breakpoint instruction: another tracer's, or a uprobe's.
fn is_breakpoint(arch: Arch, address: u64, memory: &[u8], offset: usize) -> bool {
    match arch {
        Arch::X86_64 | Arch::I386 => memory.get(offset) == Some(&0xcc),
        Arch::Arm64 => {
            // brk with any immediate.
            let word = offset.checked_sub(address as usize % 4).and_then(|start| memory.get(start..start + 4));
            word.is_some_and(|word| word[3] == 0xd4 && word[2] & 0xe0 == 0x20 && word[0] & 0x1f == 0)
        }
    }
}
