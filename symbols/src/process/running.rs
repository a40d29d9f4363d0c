//! Compares code in memory with a file. The identity of a file may mislead: a file may be written while it is mapped, and file systems may
//! report other device and inode numbers. The code in memory is what threads execute.

use std::collections::HashMap;
use std::ops::Range;

use ubp::{Address, Mapping, Pid, Session};

use super::module::Module;
use crate::elf::{Arch, Image};

/// The size of a page. The comparison around an address does not exceed its page.
const PAGE: u64 = 4096;
/// The number of bytes of a mapping that are compared at once.
const PART: u64 = 256 << 10;
/// The number of addresses in a part from which on the part is compared at once.
const MANY: usize = 8;
/// The length of the longest instruction, rounded up.
const LONGEST: u64 = 16;
/// The size of the largest relocation in code, in bytes.
const RELOCATION: u64 = 8;

/// Whether a code mapping equals the file.
pub(super) fn is_mapped(session: &Session, pid: Pid, map: &Mapping, image: &Image) -> bool {
    let Some(bias) = image.bias(map.start.0, map.offset) else { return false };
    let start = map.start.0.wrapping_sub(bias);
    let size = image.held_at(start).min(map.end - map.start);
    let parts = (0..size).step_by(PART as usize).map(|at| start + at..start + size.min(at + PART));
    let in_memory = |address: u64| bias.wrapping_add(address);
    size > 0 && parts.into_iter().all(|part| is_same(session, pid, image, in_memory(part.start), part).unwrap_or(false))
}

/// Returns those of the addresses in a module's file at which memory differs from the file. The function around an address is compared, as
/// far as it is on the same page. `function` returns it; without a function, the bytes of the instruction are compared.
pub fn differing(
    session: &Session,
    pid: Pid,
    module: &Module,
    addresses: impl Iterator<Item = u64>,
    function: impl Fn(u64) -> Option<Range<u64>>,
) -> ubp::Result<Vec<u64>> {
    let image = &module.image;
    let mut differing = Vec::new();
    // An image that was read from memory has no file to compare with.
    if image.origin().is_none() {
        return Ok(differing);
    }
    let addresses: Vec<u64> = addresses.collect();
    let mut known: HashMap<(u64, u64), bool> = HashMap::new();
    let mut around: Option<Range<u64>> = None;
    // The last part that was compared at once, and whether it is the same.
    let mut whole = (0..0, false);
    for (number, &address) in addresses.iter().enumerate() {
        let has_many = |part: &Range<u64>| addresses.get(number + MANY).is_some_and(|other| part.contains(other));
        if !whole.0.contains(&address) {
            let start = address & !(PAGE - 1);
            let part = start..start.saturating_add(PART.min(image.held_at(start)));
            let same = has_many(&part) && is_same(session, pid, image, module.in_memory(start), part.clone())?;
            whole = (part, same);
        }
        let last = address.saturating_add(LONGEST - 1);
        if whole.1 && (last & !(PAGE - 1)).saturating_add(PAGE) <= whole.0.end {
            continue;
        }
        if !around.as_ref().is_some_and(|range| range.contains(&address)) {
            around = function(address).filter(|range| range.contains(&address));
        }
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

/// Whether memory at `address` equals the file at its addresses `range`. Relocations and breakpoint instructions do not count.
fn is_same(session: &Session, pid: Pid, image: &Image, address: u64, range: Range<u64>) -> ubp::Result<bool> {
    let Some(file) = image.read_at(range.start, range.end - range.start) else { return Ok(false) };
    let mut memory = vec![0; file.len()];
    match session.read_memory(pid, Address(address), &mut memory) {
        Ok(read) if read < memory.len() => return Ok(false),
        Err(ubp::Error::Memory { .. }) => return Ok(false),
        other => drop(other?),
    }
    if *file == *memory {
        return Ok(true);
    }
    let relocated = |address: u64| {
        let all = image.relocated();
        let before = all.get(all.partition_point(|start| *start <= address).wrapping_sub(1));
        before.is_some_and(|start| address - start < RELOCATION)
    };
    Ok((range.start..).zip(file.iter().zip(&memory)).all(|(address, (in_file, in_memory))| {
        let offset = (address - range.start) as usize;
        in_file == in_memory || is_breakpoint(image.arch(), address, &memory, offset) || relocated(address)
    }))
}

/// Whether the byte at an offset is part of a breakpoint instruction of another tracer or of a uprobe.
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
