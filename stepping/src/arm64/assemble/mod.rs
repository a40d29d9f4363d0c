//! The code of a slot: the copy, constants for addresses, and the branch back.

mod address;
mod draft;
mod memory;

use insn::arm64::{Insn, Reg};

use super::class::{Class, NOP, Test, class, field, next};
use super::{Code, Exit, Progress, Refusal, Scratch};
use draft::Draft;

/// Size of a return address in bytes.
const ADDRESS: u8 = 8;
/// `blr x0`
const CALL_X0: u32 = 0xd63f_0000;

/// The code for a slot at `at`. With `alone` no scratch register is used: a literal out of reach is read through its destination register.
pub(super) fn assemble(insn: &Insn, pc: u64, at: u64, alone: bool) -> Result<Code, Refusal> {
    let mut draft = Draft::new(at);
    let class = class(insn);
    if !matches!(class, Class::MemoryMain | Class::MemoryEpilogue) {
        draft.mark(pc, Progress::Before);
    }
    match class {
        Class::Refused(reason) => return Err(reason),
        Class::Nop if insn.pc_relative().is_none() => boost(&mut draft, insn, pc),
        Class::Nop | Class::Literal(_) | Class::VectorLiteral => return Ok(address::load(draft, insn, pc, alone)),
        Class::Address(register) => address::constant(&mut draft, insn, register, pc),
        Class::Jump(Test::Always, distance) => jump(&mut draft, pc.wrapping_add_signed(distance)),
        Class::Jump(_, distance) => {
            draft.push(over_one(insn));
            draft.go(next(pc));
            draft.go(pc.wrapping_add_signed(distance));
        }
        Class::Call(distance) => return Ok(call(draft, pc, pc.wrapping_add_signed(distance))),
        Class::CallTo(_) | Class::AuthenticatedCall => {
            draft.push(insn.word());
            return Ok(draft.finish(Exit::StepThenReturnAddress(ADDRESS), None));
        }
        Class::JumpTo(_) | Class::Return(_) | Class::Leave => draft.push(insn.word()),
        Class::Prefix => {
            draft.push(insn.word());
            draft.trap(next(pc));
        }
        Class::LoadExclusive => {
            boost(&mut draft, insn, pc);
            if draft.traps() {
                return Err(Refusal::ExclusiveOutOfReach);
            }
        }
        Class::MemoryMain => memory::main(&mut draft, insn, pc),
        Class::MemoryEpilogue => memory::epilogue(&mut draft, insn, pc),
        Class::AuthenticateAt(distance) => return Ok(address::authenticate(draft, insn, pc, distance)),
        Class::ReturnAuthenticatedAt(distance) => {
            return Ok(address::authenticate_and_return(draft, insn, pc, distance));
        }
        Class::LandingPad | Class::Breakpoint | Class::Copy => boost(&mut draft, insn, pc),
    }
    let exit = draft.exit();
    Ok(draft.finish(exit, None))
}

/// A copy, then a branch back.
fn boost(draft: &mut Draft, insn: &Insn, pc: u64) {
    draft.push(insn.word());
    draft.go(next(pc));
}

/// A jump. If the target is out of reach, a `nop` precedes the trap, because a trap would be a valid landing pad and a jump is not.
fn jump(draft: &mut Draft, target: u64) {
    if draft.distance(target).is_none() {
        draft.push(NOP);
    }
    draft.go(target);
}

/// The conditional branch with its distance changed to skip the next instruction.
fn over_one(insn: &Insn) -> u32 {
    const DISTANCE: u32 = 2 << 5;
    let width = match field(insn.word(), 24, 7) {
        0x36 | 0x37 => 14,
        0x74 | 0x75 => 9,
        _ => 19,
    };
    let mask = 1_u32.wrapping_shl(width).wrapping_sub(1) << 5;
    insn.word() & !mask | DISTANCE
}

/// A call. If its target is out of reach it goes through x0, which `bl` does not read.
fn call(mut draft: Draft, pc: u64, target: u64) -> Code {
    let scratch = match draft.distance(target) {
        Some(field) => {
            draft.push(0x9400_0000 | field);
            None
        }
        None => {
            draft.push(CALL_X0);
            Some(Scratch { register: Reg::general(0), value: target })
        }
    };
    draft.mark(next(pc), Progress::After);
    draft.finish(Exit::StepThenReturnAddress(ADDRESS), scratch)
}
