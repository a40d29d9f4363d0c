//! Copies of instructions that use their own address.

use insn::arm64::{Insn, Reg};

use super::draft::Draft;
use crate::arm64::class::{NOP, field, next};
use crate::arm64::{Code, Exit, Progress, Scratch};

/// Loads by a base register that replace the load of a literal (`ldr`, `ldrsw` and `prfm` with an unsigned offset of 0), indexed by bits 31,
/// 30 and 26 of the literal's load.
const BY_REGISTER: [u32; 8] =
    [0xb940_0000, 0xbd40_0000, 0xf940_0000, 0xfd40_0000, 0xb980_0000, 0x3dc0_0000, 0xf980_0000, 0xf980_0000];
/// The bit of an index that is set in loads of vectors.
const VECTOR: u32 = 1;
/// The first index that loads nothing.
const PREFETCH: u32 = 6;
/// `ldr xN, .+8`
const LOAD_BEHIND: u32 = 0x5800_0040;
/// `ldr xN, .+16`
const LOAD_FURTHER: u32 = 0x5800_0080;
/// `autiasppcr xN`, with the key in bit 10.
const AUTHENTICATE: u32 = 0xdac1_901e;
/// `retaasppcr xM`, with the key in bit 10.
const AUTHENTICATE_AND_RETURN: u32 = 0xd65f_0be0;

/// Code for a load or prefetch of a literal: from the literal if within reach, otherwise through a scratch register, or with `alone` through
/// the destination register.
pub(super) fn load(mut draft: Draft, insn: &Insn, pc: u64, alone: bool) -> Code {
    let word = insn.word();
    let literal = insn.pc_relative().map_or(pc, |literal| literal.address(pc));
    let distance = literal.wrapping_sub(draft.here()) as i64;
    if (-(1 << 20)..1 << 20).contains(&distance) && distance & 3 == 0 {
        draft.push(word & 0xff00_001f | (distance as u32) << 3 & 0x00ff_ffe0);
        draft.go(next(pc));
        let exit = draft.exit();
        return draft.finish(exit, None);
    }
    let kind = field(word, 30, 2) << 1 | field(word, 26, 1);
    let load = BY_REGISTER.get(kind as usize).copied().unwrap_or_default();
    let register = field(word, 0, 5);
    if alone && kind >= PREFETCH {
        draft.push(NOP);
        draft.go(next(pc));
        let exit = draft.exit();
        return draft.finish(exit, None);
    }
    if alone && kind & VECTOR == 0 && register != 31 {
        draft.push(LOAD_FURTHER | register);
        draft.mark(pc, Progress::Before);
        draft.push(load | register | register << 5);
        draft.go(next(pc));
        let exit = draft.exit();
        draft.push(NOP);
        push_address(&mut draft, literal);
        return draft.finish(exit, None);
    }
    let scratch = scratch(word, literal);
    draft.push(load | register | u32::from(scratch.register.number()) << 5);
    trap(draft, pc, scratch)
}

/// The scratch register: x0, or x1 if the instruction names x0 in bits 4 to 0.
fn scratch(word: u32, value: u64) -> Scratch {
    Scratch { register: Reg::general(u32::from(field(word, 0, 5) == 0)), value }
}

/// Ends the code with a trap, so that the scratch register can be restored.
fn trap(mut draft: Draft, pc: u64, scratch: Scratch) -> Code {
    draft.trap(next(pc));
    let exit = draft.exit();
    draft.finish(exit, Some(scratch))
}

/// Code for `adr` and `adrp`, which loads the address from the slot.
pub(super) fn constant(draft: &mut Draft, insn: &Insn, register: Reg, pc: u64) {
    let value = insn.pc_relative().map_or(pc, |meant| meant.address(pc));
    draft.push(LOAD_BEHIND | u32::from(register.number()) & 31);
    draft.go(next(pc));
    push_address(draft, value);
}

fn push_address(draft: &mut Draft, value: u64) {
    draft.push(value as u32);
    draft.push((value >> 32) as u32);
}

/// Code for `autiasppc` and `autibsppc`: `autiasppcr` with the address in a scratch register.
pub(super) fn authenticate(mut draft: Draft, insn: &Insn, pc: u64, distance: i64) -> Code {
    let scratch = Scratch { register: Reg::general(0), value: pc.wrapping_add_signed(distance) };
    draft.push(AUTHENTICATE | key(insn));
    trap(draft, pc, scratch)
}

/// Code for `retaasppc` and `retabsppc`: `retaasppcr` with the address in a scratch register.
pub(super) fn authenticate_and_return(mut draft: Draft, insn: &Insn, pc: u64, distance: i64) -> Code {
    let scratch = Scratch { register: Reg::general(0), value: pc.wrapping_add_signed(distance) };
    draft.push(AUTHENTICATE_AND_RETURN | key(insn));
    draft.finish(Exit::Step, Some(scratch))
}

/// The bit that selects key A or B, moved from bit 21 to bit 10.
fn key(insn: &Insn) -> u32 {
    field(insn.word(), 21, 1) << 10
}
