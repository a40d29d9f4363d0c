//! Shadow stacks: threads of 64-bit programs may use one (arch_prctl(2), `ARCH_SHSTK_ENABLE`).
//!
//! The kernel lets a tracer write to a shadow stack as it lets a tracer write to text.

use stepping::SLOT_SIZE;

use crate::cpu;
use crate::memory::ProcessMemory;
use crate::ptrace::sys;
use crate::{Result, Tid};

/// A thread's shadow stack pointer (linux/elf.h).
const NT_X86_SHSTK: i32 = 0x204;

/// The words from ssp on that a call may have pushed: a near call pushes its return address; a far call pushes the old ssp, its
/// return address, and cs (SDM vol. 1, 17.2, and vol. 2, CALL).
type Top = [u64; 2];

/// The offset from ssp of the return address that a call in the slot at `slot` just pushed.
fn return_address(top: Top, slot: u64) -> Option<u64> {
    let at = top.iter().position(|word| word.wrapping_sub(slot) < SLOT_SIZE as u64)?;
    Some(8 * at as u64)
}

/// The shadow stack pointer of a thread that has one in use.
pub(super) fn pointer(tid: Tid) -> Option<u64> {
    if !cpu::shadow_stacks() {
        return None;
    }
    let mut raw = [0; 8];
    match sys::register_set(tid, NT_X86_SHSTK, &mut raw) {
        Ok(8) => Some(u64::from_ne_bytes(raw)).filter(|&ssp| ssp != 0),
        _ => None,
    }
}

/// Whether a thread has a shadow stack in use.
pub(in crate::ptrace) fn has_shadow_stack(tid: Tid) -> bool {
    pointer(tid).is_some()
}

pub(super) fn set_pointer(tid: Tid, ssp: u64) -> Result<()> {
    sys::set_register_set(tid, NT_X86_SHSTK, &ssp.to_ne_bytes())
}

/// Puts `next` in place of the slot address that a call in the slot at `slot` pushed.
pub(super) fn correct(tid: Tid, memory: &ProcessMemory, slot: u64, next: u64) {
    let Some(ssp) = pointer(tid) else { return };
    let mut top = [0; 16];
    let read = memory.read(ssp, &mut top);
    let word = |at: usize| top.get(at..at + 8).filter(|_| read >= at + 8).and_then(|raw| raw.try_into().ok());
    // A word that cannot be read counts as zero, which is no slot's address.
    let words = [0, 8].map(|at| word(at).map_or(0, u64::from_le_bytes));
    if let Some(at) = return_address(words, slot) {
        memory.write(ssp.wrapping_add(at), &next.to_le_bytes());
    }
}

/// Pushes the return address of a call that the tracer makes.
pub(super) fn push(tid: Tid, memory: &ProcessMemory, address: u64) -> Result<()> {
    let Some(ssp) = pointer(tid) else { return Ok(()) };
    let below = ssp.wrapping_sub(8);
    memory.write(below, &address.to_le_bytes());
    set_pointer(tid, below)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: u64 = 0x7f00_0000_1040;
    /// The shadow stack before the call, and what its top holds.
    const SSP: u64 = 0x7fff_f000_0ff8;
    const CALLER: u64 = 0x55_5555_1234;

    #[test]
    fn a_near_call_leaves_its_return_address_at_ssp() {
        assert_eq!(return_address([SLOT + 6, CALLER], SLOT), Some(0));
        // Called from a slot that was not corrected: not this call's.
        assert_eq!(return_address([SLOT + 6, SLOT + 7], SLOT), Some(0));
    }

    #[test]
    fn a_far_call_leaves_its_return_address_between_the_old_ssp_and_cs() {
        assert_eq!(return_address([SSP, SLOT + 3], SLOT), Some(8));
    }

    #[test]
    fn what_is_no_address_of_the_slot_is_left_alone() {
        for other in [CALLER, SLOT - 1, SLOT + SLOT_SIZE as u64, 0] {
            assert_eq!(return_address([other, CALLER], SLOT), None);
            assert_eq!(return_address([SSP, other], SLOT), None);
        }
    }
}
