//! The code of a slot: the copy, corrections, and the jump back.

mod branch;
mod draft;
mod restart;
mod rip_relative;
mod syscall;
mod transaction;

use insn::x86::{Bits, Insn, Vendor};

use super::Refusal;
use super::class::{Class, Destination, branch_size, class, next};
use super::{Code, Exit, Progress, SLOT_SIZE, Scratch};
use draft::{Draft, NOP, Spare};
use restart::restart;

pub(super) use rip_relative::spare;

/// The code for a slot at `at`. Without `spare`, branches within reach get code that does everything that they do.
pub(super) fn assemble(insn: &Insn, pc: u64, at: u64, spare: Option<Spare>) -> Result<Code, Refusal> {
    let mut draft = Draft::new(insn.mode().bits, at, spare);
    draft.mark(pc, Progress::Before, None);
    match class(insn) {
        Class::Refused(reason) => Err(reason),
        Class::Syscall => Ok(syscall::assemble(draft, insn, pc)),
        Class::Transaction(distance) => Ok(transaction::assemble(draft, insn, pc, distance)),
        Class::FarCall(size) => single_step(draft, insn, pc, Exit::StepThenReturnAddress(size)),
        Class::Return(_) | Class::Jump(Destination::Register(_) | Destination::Memory(_)) if draft.is_alone() => {
            copy(draft, insn, pc)
        }
        Class::Jump(Destination::Relative(distance))
        | Class::ConditionalJump(_, Destination::Relative(distance))
        | Class::Call(Destination::Relative(distance))
            if draft.is_alone() && branch::reaches(&draft, insn, pc, distance) =>
        {
            Ok(branch::whole(draft, insn, pc, distance))
        }
        Class::Leave => copy(draft, insn, pc),
        Class::Call(to) => near_branch(draft, insn, pc, to, Exit::StepThenReturnAddress(branch_size(insn))),
        Class::Jump(to) | Class::ConditionalJump(_, to) | Class::Loop(_, to) => {
            near_branch(draft, insn, pc, to, Exit::Step)
        }
        Class::Return(_) => single_step(draft, insn, pc, Exit::Step),
        Class::Interrupt => {
            restart(&mut draft, insn, pc);
            boost_held(draft, insn, pc)
        }
        Class::TrapHeldOff => boost_held(draft, insn, pc),
        Class::StackSegment => {
            let once = insn.mode().vendor == Vendor::Intel;
            boost_held(draft, insn, pc).map(|code| Code { once, ..code })
        }
        // If `popf` sets the trap flag, the single-step trap would occur after a jump back; an `int3` traps before it.
        Class::PopFlags => {
            draft.push(insn.bytes());
            let end = draft.len();
            draft.mark(next(insn, pc), Progress::After, None);
            Ok(draft.finish(Exit::Trap(end), None))
        }
        Class::Nop | Class::Breakpoint | Class::PushFlags | Class::Copy => boost(draft, insn, pc),
    }
}

/// Whether the code for a slot at `at` is a copy and a near jump, because everything that the instruction names is within reach.
#[inline]
pub(super) fn is_plain(insn: &Insn, pc: u64, at: u64) -> bool {
    /// Distances count from somewhere within the slot.
    const REACH: u64 = i32::MAX as u64 - SLOT_SIZE as u64;
    let reaches = |to: u64| (to.wrapping_sub(at) as i64).unsigned_abs() < REACH;
    insn.mode().bits == Bits::B64
        && class(insn) == Class::Copy
        && reaches(next(insn, pc))
        && insn.rip_relative_address(pc).is_none_or(reaches)
}

/// A copy; control does not return to the slot.
fn copy(mut draft: Draft, insn: &Insn, pc: u64) -> Result<Code, Refusal> {
    let scratch = rip_relative::copy(&mut draft, insn, pc)?;
    let exit = if scratch.is_some() { Exit::Step } else { Exit::Jump };
    Ok(draft.finish(exit, scratch))
}

/// A copy, then a jump back, or a trap if the copy needs a scratch register or leaves no room for a far jump.
fn boost(mut draft: Draft, insn: &Insn, pc: u64) -> Result<Code, Refusal> {
    let scratch = rip_relative::copy(&mut draft, insn, pc)?;
    back(draft, insn, pc, scratch)
}

/// [`boost`] for an instruction that delays its single-step trap until the next instruction is complete: a `nop` stands for that one.
fn boost_held(mut draft: Draft, insn: &Insn, pc: u64) -> Result<Code, Refusal> {
    let scratch = rip_relative::copy(&mut draft, insn, pc)?;
    if scratch.is_none() {
        draft.mark(next(insn, pc), Progress::After, None);
        draft.push(&[NOP]);
        draft.hold_off();
    }
    back(draft, insn, pc, scratch)
}

fn back(mut draft: Draft, insn: &Insn, pc: u64, scratch: Option<Scratch>) -> Result<Code, Refusal> {
    let end = draft.len();
    draft.mark(next(insn, pc), Progress::After, None);
    if scratch.is_some() || !draft.fits(next(insn, pc)) {
        return Ok(draft.finish(Exit::Trap(end), scratch));
    }
    draft.jump(next(insn, pc));
    Ok(draft.finish(Exit::Jump, None))
}

fn single_step(mut draft: Draft, insn: &Insn, pc: u64, exit: Exit) -> Result<Code, Refusal> {
    let scratch = rip_relative::copy(&mut draft, insn, pc)?;
    Ok(draft.finish(exit, scratch))
}

/// A copy of a near branch that faults as the original does.
///
/// A direct branch faults because of its target, so the copy of a relative branch branches to the absolute target. A conditional branch
/// gets here only if its condition holds.
fn near_branch(mut draft: Draft, insn: &Insn, pc: u64, to: Destination, exit: Exit) -> Result<Code, Refusal> {
    match to {
        Destination::Relative(distance) if insn.mode().bits == Bits::B64 && branch_size(insn) == 8 => {
            let extension = if matches!(exit, Exit::StepThenReturnAddress(_)) { 0x15 } else { 0x25 };
            draft.indirect(extension, next(insn, pc).wrapping_add_signed(distance));
            Ok(draft.finish(exit, None))
        }
        _ => single_step(draft, insn, pc, exit),
    }
}
