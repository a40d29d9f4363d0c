use insn::Flow;
use insn::x86::{Mode, Reg, decode};

use super::stub::Stub;

/// Calls `found` for each jump through memory.
pub(super) fn walk(mode: Mode, start: u64, data: &[u8], got: Option<u64>, mut found: impl FnMut(Stub)) {
    let mut offset = 0;
    let mut landing_pad = None;
    while let Some(insn) = data.get(offset..).and_then(|rest| decode(rest, mode).ok()) {
        let pc = start.wrapping_add(offset as u64);
        offset += insn.len();
        if matches!(insn.bytes(), [0xf3, 0x0f, 0x1e, 0xfa | 0xfb]) {
            landing_pad = Some(pc);
            continue;
        }
        let stub = landing_pad.take().unwrap_or(pc);
        let Some(memory) = insn.memory().filter(|_| insn.flow() == Flow::Jump) else { continue };
        let slot = match memory.base {
            Some(Reg::RIP) => insn.rip_relative_address(pc),
            None => Some(memory.displacement as u32 as u64),
            Some(Reg::RBX) => got.map(|got| got.wrapping_add_signed(memory.displacement) & 0xffff_ffff),
            Some(_) => None,
        };
        if let Some(slot) = slot {
            found(Stub { start: stub, end: start.wrapping_add(offset as u64), slot });
        }
    }
}
