//! The processor's traps.

use insn::x86::Flags;
use libc::user_regs_struct;
use stepping::x86::SLOT_SIZE;

use super::shadow_stack;
use crate::Tid;
use crate::arch::USER32_CS;
use crate::memory::ProcessMemory;
use crate::ptrace::sys::{self, SigInfo};

/// `si_code` of a signal that the kernel raises for `int3` (asm-generic/siginfo.h).
const SI_KERNEL: i32 = 0x80;

/// Whether a `SIGTRAP` comes from a breakpoint instruction.
pub(in crate::ptrace) fn is_breakpoint(info: &SigInfo) -> bool {
    info.si_code() == SI_KERNEL
}

/// Whether the program single-steps itself. The kernel hides a trap flag that ptrace set.
pub(in crate::ptrace) fn traces(registers: &user_regs_struct) -> bool {
    registers.eflags & u64::from(Flags::TF.bits()) != 0
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
