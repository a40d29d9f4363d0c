use insn::Flow;
use insn::arm64::{Address, LEN, PcRelative, decode};

use super::stub::Stub;
use crate::elf::contents::words;

/// Calls `found` for each sequence from an `adrp`, or from a landing pad before it, that loads from that page and jumps
/// (ELF for the Arm 64-bit Architecture, 5.7.3).
pub(super) fn walk(start: u64, data: &[u8], mut found: impl FnMut(Stub)) {
    let (mut landing_pad, mut page, mut slot, mut begin) = (None, None, None, start);
    for (number, word) in words(data).enumerate() {
        let pc = start.wrapping_add((number * LEN) as u64);
        let Ok(insn) = decode(word) else { continue };
        if insn.landing_pad().is_some() {
            landing_pad = Some(pc);
            continue;
        }
        if let Some(relative @ PcRelative::Page { register, .. }) = insn.pc_relative() {
            page = Some((register, relative.address(pc)));
            begin = landing_pad.take().unwrap_or(pc);
            continue;
        }
        let memory = insn.memory().zip(page);
        let load = memory.filter(|(memory, (register, _))| memory.base == Address::Register(*register));
        if let Some((memory, (_, page))) = load {
            slot = Some(page.wrapping_add_signed(memory.displacement));
        } else if insn.flow() == Flow::Jump {
            let end = pc.wrapping_add(LEN as u64);
            slot.take().into_iter().for_each(|slot| found(Stub { start: begin, end, slot }));
        }
    }
}
