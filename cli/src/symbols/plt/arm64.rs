use insn::Flow;
use insn::arm64::{Address, LEN, PcRelative, decode};

use super::stub::Stub;

/// Hands over every run of instructions from an `adrp`, or a landing pad before it, that loads from that page and jumps
/// (ELF for the Arm 64-bit Architecture, 5.7.3).
pub(super) fn walk(start: u64, data: &[u8], mut found: impl FnMut(Stub)) {
    let (mut landing_pad, mut page, mut slot, mut begin) = (None, None, None, start);
    for (number, word) in data.as_chunks().0.iter().enumerate() {
        let pc = start.wrapping_add((number * LEN) as u64);
        let Ok(insn) = decode(u32::from_le_bytes(*word)) else { continue };
        if insn.landing_pad().is_some() {
            landing_pad = Some(pc);
            continue;
        }
        if let Some(relative @ PcRelative::Page { register, .. }) = insn.pc_relative() {
            page = Some((register, relative.address(pc)));
            begin = landing_pad.take().unwrap_or(pc);
        } else if let (Some((register, page)), Some(memory)) = (page, insn.memory())
            && memory.base == Address::Register(register)
        {
            slot = Some(page.wrapping_add_signed(memory.displacement));
        } else if insn.flow() == Flow::Jump
            && let Some(slot) = slot.take()
        {
            found(Stub { start: begin, end: pc.wrapping_add(LEN as u64), slot });
        }
    }
}
