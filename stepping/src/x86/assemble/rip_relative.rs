//! The copy of an instruction, with the address of its rip-relative operand preserved.

use insn::x86::{Encoding, Insn, MAX_LEN, Reg};

use super::draft::Draft;
use crate::x86::Refusal;
use crate::x86::Scratch;

/// Registers that modrm can name without an extension bit and without a sib byte. rbp is last, because it selects the segment ss, so that
/// a non-canonical operand raises #SS instead of #GP.
const CANDIDATES: [u8; 7] = [0, 1, 2, 3, 6, 7, 5];

/// The number of a register that `insn` neither reads nor writes.
pub(in crate::x86) fn spare(insn: &Insn) -> Option<u8> {
    let used = insn.reads().union(insn.writes());
    CANDIDATES.into_iter().find(|number| !used.contains(Reg::gpr(*number)))
}

/// Appends a copy of the instruction.
///
/// If a displacement does not reach, a scratch register replaces it, which the instruction neither reads nor writes: `mod` becomes 10 with
/// displacement 0, so that the length stays the same.
pub(super) fn copy(draft: &mut Draft, insn: &Insn, pc: u64) -> Result<Option<Scratch>, Refusal> {
    let (Some(operand), Some(modrm_offset), Some(displacement)) =
        (insn.rip_relative_address(pc), insn.modrm_offset(), insn.displacement())
    else {
        draft.push(insn.bytes());
        return Ok(None);
    };
    let mut bytes = [0; MAX_LEN];
    for (to, from) in bytes.iter_mut().zip(insn.bytes()) {
        *to = *from;
    }
    let end = draft.len().saturating_add(insn.len() as u8);
    // With prefix 67 the operand's address is truncated to 32 bits, so that a wrapping displacement always reaches.
    let wraps = insn.address_size() == 4;
    let reach = match draft.distance(end, operand) {
        None if wraps => Some(draft.wrapping_distance(end, operand)),
        reach => reach,
    };
    let mut scratch = None;
    if reach.is_none() {
        let number = draft.spare(insn).ok_or(Refusal::NoScratchRegister)?;
        if let Some(modrm) = bytes.get_mut(modrm_offset) {
            *modrm = 0x80 | *modrm & 0x38 | number;
        }
        clear_extension(&mut bytes, insn);
        scratch = Some(Scratch { register: Reg::gpr(number), value: operand });
    }
    let field = bytes.iter_mut().skip(usize::from(displacement.offset));
    for (to, from) in field.zip(reach.unwrap_or(0).to_le_bytes()) {
        *to = from;
    }
    draft.push(bytes.get(..insn.len()).unwrap_or(&[]));
    Ok(scratch)
}

/// Clears the extension bits of modrm.rm (B3, and B4 of APX), which rip-relative addressing ignores but a register would not.
fn clear_extension(bytes: &mut [u8; MAX_LEN], insn: &Insn) {
    // REX is the last prefix; VEX, XOP, EVEX and REX2 begin after the prefixes.
    let start = insn.bytes().iter().take_while(|byte| is_prefix(**byte)).count();
    let (offset, clear, set) = match insn.encoding() {
        // The bit is inverted in these; C5 has none.
        Encoding::Vex if bytes.get(start) == Some(&0xc4) => (start.checked_add(1), 0, 0x20),
        Encoding::Vex => (None, 0, 0),
        Encoding::Xop => (start.checked_add(1), 0, 0x20),
        Encoding::Evex => (start.checked_add(1), 0x08, 0x20),
        Encoding::Rex2 => (start.checked_add(1), 0x11, 0),
        _ => (start.checked_sub(1), 0x01, 0),
    };
    let Some(byte) = offset.and_then(|offset| bytes.get_mut(offset)) else { return };
    // A legacy instruction may have another prefix in the place of REX, or none.
    if insn.encoding() != Encoding::Legacy || *byte & 0xf0 == 0x40 {
        *byte = *byte & !clear | set;
    }
}

/// Legacy prefixes and REX, in 64-bit mode.
fn is_prefix(byte: u8) -> bool {
    matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3)
}
