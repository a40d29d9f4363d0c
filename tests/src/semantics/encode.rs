//! An opcode form made an instruction: registers, address forms, prefixes and immediates at random, operands led into memory.

use insn::Target;
use insn::x86::{Bits, Insn, Mode, Reg, decode};

use super::skeleton::{Fields, Operand, Skeleton, Space};
use crate::Random;
use crate::lockstep::{DATA_SIZE, LOW_SIZE, Layout};

/// Draws before a form is given up.
const TRIES: usize = 64;

/// An instruction of the form, to be put at the layout's site.
pub fn encode(form: &Skeleton, mode: Mode, layout: &Layout, rng: &mut Random) -> Option<Insn> {
    (0..TRIES).find_map(|attempt| {
        let bytes = draw(form, mode.bits, attempt, rng);
        let insn = decode(&bytes, mode).ok().filter(|insn| form.is_form_of(insn))?;
        let insn = aim(&insn, layout, rng)?;
        (!into_itself(&insn, layout.site())).then_some(insn)
    })
}

/// Bytes of the form, valid or not; rarer fields are left out as attempts fail.
fn draw(form: &Skeleton, bits: Bits, attempt: usize, rng: &mut Random) -> Vec<u8> {
    let wide = bits == Bits::B64;
    let mut bytes = Vec::with_capacity(32);
    prefixes(form, attempt, rng, &mut bytes);
    let vector = if wide { 32 } else { 8 };
    let vvvv =
        if rng.one_in(2) { 0 } else { rng.below(if form.space == Space::Evex { vector } else { vector.min(16) }) };
    let masked = if rng.one_in(2) { rng.below(8) as u8 } else { 0 };
    let fields = Fields {
        reg: rng.byte() & 7,
        rm: rng.byte() & 7,
        extension: if rng.one_in(2) { rng.byte() & 15 } else { 0 },
        vvvv: vvvv as u8,
        p2: masked | if rng.one_in(5) { 0x80 } else { 0 } | if rng.one_in(4) { 0x10 } else { 0 },
        rex: rng.one_in(4),
        short: rng.one_in(2),
    };
    let kind = rng.below(8);
    // rip-relative or absolute; sib (with rsp as base in a third of it); any.
    let memory = match kind {
        0 | 1 => 0x05,
        2..=4 => (rng.below(3) as u8) << 6 | 4,
        _ => (rng.below(3) as u8) << 6 | rng.byte() & 7,
    };
    bytes.extend(form.bytes(bits, fields, memory));
    if form.operand == Operand::Memory && memory & 7 == 4 {
        bytes.push(match (kind, rng.below(3)) {
            (2, _) => 0x25,
            (_, 0) => 0x24,
            _ => rng.byte(),
        });
    }
    if form.operand == Operand::Memory && memory >> 6 == 2 {
        bytes.extend((rng.below(512) as i32 - 256).to_le_bytes());
    }
    let immediate = bytes.len();
    bytes.resize(immediate.max(15), 0);
    rng.fill(&mut bytes[immediate..]);
    if form.space == Space::Now {
        place_suffix(form, &mut bytes);
    }
    bytes.truncate(15);
    bytes
}

/// 3DNow!'s opcode is the last byte: behind the operand, whose length any suffix tells.
fn place_suffix(form: &Skeleton, bytes: &mut [u8]) {
    for mode in [Mode::AMD_64, Mode::AMD_32] {
        for at in 3..bytes.len() {
            let before = std::mem::replace(&mut bytes[at], form.opcode);
            if decode(bytes, mode).is_ok_and(|insn| insn.len() == at + 1 && form.is_form_of(&insn)) {
                return;
            }
            bytes[at] = before;
        }
    }
}

/// Segments, address size, LOCK, and prefixes that mean nothing, before what the form asks for.
fn prefixes(form: &Skeleton, attempt: usize, rng: &mut Random, bytes: &mut Vec<u8>) {
    // Prefixes that make an instruction too long or invalid give way.
    if attempt > TRIES / 2 {
        return;
    }
    if rng.one_in(3) {
        bytes.push(rng.one_of(&[0x64, 0x64, 0x65, 0x65, 0x26, 0x2e, 0x36, 0x3e]));
    }
    if rng.one_in(8) {
        bytes.push(0x67);
    }
    if matches!(form.space, Space::Legacy) {
        if form.operand == Operand::Memory && rng.one_in(6) {
            bytes.push(0xf0);
        }
        if rng.one_in(16) {
            bytes.push(rng.one_of(&[0x66, 0xf2, 0xf3]));
        }
    }
}

/// Leads an operand whose address does not depend on registers into the memory that such addresses reach.
fn aim(insn: &Insn, layout: &Layout, rng: &mut Random) -> Option<Insn> {
    let Some(operand) = insn.memory() else { return Some(*insn) };
    let moffs = insn.modrm().is_none();
    if !insn.is_rip_relative() && (operand.base.is_some() || operand.index.is_some()) {
        return Some(*insn);
    }
    let field = if moffs { insn.immediate()? } else { insn.displacement()? };
    let wide = insn.mode().bits == Bits::B64;
    let based = matches!(operand.segment, Reg::FS | Reg::GS);
    let reach = if insn.is_rip_relative() { insn.address_size() } else { field.size.min(insn.address_size()) };
    let target = match (based, reach) {
        (true, _) => rng.below(0x1000),
        (_, 4) if wide => layout.low + rng.below(LOW_SIZE - 0x100),
        (_, 2) => rng.below(0x1000),
        _ => layout.data + DATA_SIZE / 4 + rng.below(DATA_SIZE / 2),
    };
    let target = if rng.one_in(2) { target & !63 } else { target };
    let value = if insn.is_rip_relative() { target.wrapping_sub(layout.site() + insn.len() as u64) } else { target };
    let mut bytes = [0; 15];
    bytes[..insn.len()].copy_from_slice(insn.bytes());
    let size = usize::from(field.size);
    bytes[usize::from(field.offset)..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
    decode(&bytes[..insn.len()], insn.mode()).ok()
}

/// Whether it jumps into its own bytes, for ever perhaps.
fn into_itself(insn: &Insn, site: u64) -> bool {
    matches!(insn.target(), Target::Relative(_))
        && insn.target_address(site).is_some_and(|to| (site..site + insn.len() as u64).contains(&to))
}
