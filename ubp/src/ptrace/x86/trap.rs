//! The processor's traps.

use insn::Flow;
use insn::x86::{Flags, Insn, Map};
use libc::user_regs_struct;
use stepping::x86::SLOT_SIZE;

use super::shadow_stack;
use crate::Tid;
use crate::arch::USER32_CS;
use crate::memory::ProcessMemory;
use crate::ptrace::before::Before;
use crate::ptrace::sys::{self, SigInfo, TRAP_TRACE};

/// `si_code` of a signal that the kernel raises for `int3` (asm-generic/siginfo.h).
const SI_KERNEL: i32 = 0x80;
/// `si_code` of a debug exception with nothing in DR6 (asm-generic/siginfo.h, `exc_debug_user` in arch/x86/kernel/traps.c).
const TRAP_BRKPT: i32 = 1;
/// The opcode of `int1`, its last byte.
const INT1: u8 = 0xf1;

/// Whether a `SIGTRAP` comes from a breakpoint instruction.
pub(in crate::ptrace) fn is_breakpoint(info: &SigInfo) -> bool {
    info.si_code() == SI_KERNEL
}

/// Whether the trap flag raised a `SIGTRAP`, or debug registers whose bits in DR6 are lost. `last` gives the last byte of the instruction that the
/// thread has executed.
///
/// DR6 is empty after `int1`. In a busy virtual machine it may be empty after any debug exception: after one of 10,000 steps on KVM, on an Intel
/// of family 6, model 207.
pub(in crate::ptrace) fn is_single_step(info: &SigInfo, last: impl FnOnce() -> Option<u8>) -> bool {
    info.signal() == libc::SIGTRAP
        && match info.si_code() {
            TRAP_TRACE => true,
            TRAP_BRKPT => last() != Some(INT1),
            _ => false,
        }
}

/// Whether the program single-steps itself. The kernel hides a trap flag that ptrace set.
pub(in crate::ptrace) fn traces(registers: &user_regs_struct) -> bool {
    registers.eflags & u64::from(Flags::TF.bits()) != 0
}

/// Removes the trap flag that ptrace set for a step from where the instruction stored it: `pushf` on the stack, `syscall` in r11. Returns
/// whether a register changed, which is not written yet.
pub(in crate::ptrace) fn hide_step(
    tid: Tid,
    before: &Before,
    registers: &mut user_regs_struct,
    insn: impl FnOnce() -> Option<Insn>,
) -> bool {
    let trap = u64::from(Flags::TF.bits());
    let in_r11 = registers.r11 & trap != 0;
    if before.traced || !in_r11 && !matches!(before.sp.wrapping_sub(registers.rsp), 2 | 4 | 8) {
        return false;
    }
    let Some(insn) = insn() else { return false };
    match (insn.flow(), insn.map(), insn.opcode()) {
        // pushf. The flag is bit 0 of the second byte.
        (Flow::Next, Map::OneByte, 0x9c) => {
            let (mut byte, at) = ([0], registers.rsp.wrapping_add(1));
            if sys::read_as_thread(tid, at, &mut byte) == 1 {
                sys::write_as_thread(tid, at, &byte.map(|byte| byte & !((trap >> 8) as u8)));
            }
            false
        }
        (Flow::Syscall, Map::M0F, 0x05) if in_r11 => {
            registers.r11 &= !trap;
            true
        }
        _ => false,
    }
}

/// Whether the kernel takes the trap flag of the next step for the program's: after a step over `popf` or `iret`, or with the program's own
/// flag set (`enable_single_step` in arch/x86/kernel/step.c).
pub(in crate::ptrace) fn owns_trap_flag(
    before: &Before,
    registers: &user_regs_struct,
    insn: impl FnOnce() -> Option<Insn>,
) -> bool {
    /// Bytes that `popf` pops at least, and `iret` at most.
    const POPPED: std::ops::RangeInclusive<u64> = 2..=40;
    let pops =
        || insn().is_some_and(|insn| insn.flow() == Flow::Far || insn.map() == Map::OneByte && insn.opcode() == 0x9d);
    before.traced || POPPED.contains(&registers.rsp.wrapping_sub(before.sp)) && pops()
}

/// Corrects the return address of `size` bytes that a call in the slot at `slot` left below the stack before it faulted: the
/// address becomes `next`.
pub(in crate::ptrace) fn correct_faulted_call(tid: Tid, registers: &user_regs_struct, slot: u64, next: u64, size: u8) {
    // A narrower call cannot fault at its target, and fewer bytes do not identify an address in the slot.
    let width = if registers.cs == USER32_CS { 4 } else { 8 };
    if size != width {
        return;
    }
    let below = registers.rsp.wrapping_sub(u64::from(size));
    let (mut found, next, size) = (slot.to_le_bytes(), next.to_le_bytes(), usize::from(size));
    let (Some(low), Some(next)) = (found.get_mut(..size), next.get(..size)) else { return };
    if sys::read_as_thread(tid, below, low) == size && u64::from_le_bytes(found).wrapping_sub(slot) < SLOT_SIZE as u64 {
        sys::write_as_thread(tid, below, next);
    }
}

/// Replaces the return address of `size` bytes that a call in the slot at `slot` left by `next`.
pub(in crate::ptrace) fn correct_return_address(
    tid: Tid,
    registers: &mut user_regs_struct,
    memory: &ProcessMemory,
    slot: u64,
    next: u64,
    size: u8,
) {
    let address = next.to_le_bytes();
    sys::write_as_thread(tid, registers.rsp, address.get(..usize::from(size)).unwrap_or(&address));
    shadow_stack::correct(tid, memory, slot, next);
}
