//! The instructions that a trampoline runs.

use insn::Flow;
use insn::x86::{Bits, Encoding, Insn, Map, Mode, decode};

use super::Refusal;
use super::bytes::JUMP_LEN;

/// The most instructions of a run. Those behind [`FURTHEST`] are for instructions with a delayed trap, which need some behind them.
pub(super) const MOST: usize = 16;
/// The number of instructions to which probes extend a run.
const FURTHEST: usize = 11;

/// An instruction and its offset from the site.
#[derive(Clone, Copy)]
pub(super) struct Element {
    pub(super) offset: u8,
    pub(super) insn: Insn,
}

/// Instructions in a row, of at least five bytes.
pub(super) struct Run {
    pub(super) elements: [Option<Element>; MOST],
    /// Size in bytes.
    pub(super) len: u8,
}

/// The instructions at the start of `code` that a jump there covers, and those up to the one at the offset `last`. A run does not end behind an
/// instruction that delays a single-step trap until the next one is complete, so that the next one is the program's.
pub(super) fn run(code: &[u8], mode: Mode, last: u8) -> Result<Run, Refusal> {
    if mode.bits != Bits::B64 {
        return Err(Refusal::Not64Bit);
    }
    let mut run = Run { elements: [None; MOST], len: 0 };
    let mut delays = false;
    for (count, place) in run.elements.iter_mut().enumerate() {
        let covered = usize::from(run.len) >= JUMP_LEN;
        let is_last = run.len > last || count >= FURTHEST;
        if covered && is_last && !delays {
            break;
        }
        let rest = code.get(usize::from(run.len)..).unwrap_or_default();
        let insn = match decode(rest, mode) {
            Ok(insn) => insn,
            Err(_) if covered => break,
            Err(_) if code.len() < JUMP_LEN => return Err(Refusal::TooShort),
            Err(_) => return Err(Refusal::NotCode(run.len)),
        };
        *place = Some(Element { offset: run.len, insn });
        run.len = run.len.wrapping_add(insn.len() as u8);
        delays = delays_trap(&insn);
    }
    Ok(run)
}

/// Whether a single-step trap of the instruction comes only after the next instruction, or the instruction can set the trap flag, which traps
/// after the next one.
pub(super) fn delays_trap(insn: &Insn) -> bool {
    if insn.encoding() != Encoding::Legacy {
        return false;
    }
    let extension = insn.modrm().map(|modrm| modrm >> 3 & 7);
    let memory = insn.modrm().is_some_and(|modrm| modrm < 0xc0);
    match (insn.map(), insn.opcode()) {
        (Map::OneByte, 0x9d) => true,
        (Map::OneByte, 0x8e) => extension == Some(2),
        // `sldt`, `str`; `sgdt`, `sidt`, `smsw`: the kernel emulates them where UMIP forbids them.
        (Map::M0F, 0x00) => matches!(extension, Some(0 | 1)),
        (Map::M0F, 0x01) => extension == Some(4) || memory && matches!(extension, Some(0 | 1)),
        _ => insn.flow() == Flow::Syscall,
    }
}
