//! Guarded control stacks, which a thread may use (Documentation/arch/arm64/gcs.rst).

use stepping::SLOT_SIZE;

use super::cpu;
use crate::memory::ProcessMemory;
use crate::ptrace::sys;
use crate::{Result, Tid};

/// `struct user_gcs`: features in use, features locked, GCSPR_EL0 (linux/elf.h, arch/arm64/include/uapi/asm/ptrace.h).
const NT_ARM_GCS: i32 = 0x410;
/// `PR_SHADOW_STACK_ENABLE`
const ENABLED: u64 = 1;

type State = [u64; 3];

fn state(tid: Tid) -> Option<State> {
    if !cpu::control_stacks() {
        return None;
    }
    let mut raw = [0; 24];
    let length = sys::register_set(tid, NT_ARM_GCS, &mut raw).ok()?;
    let mut words = raw.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
    let state = std::array::from_fn(|_| words.next().unwrap_or(0));
    (length == raw.len() && state[0] & ENABLED != 0).then_some(state)
}

/// The pointer to the last entry, if the thread uses a control stack.
pub(super) fn pointer(tid: Tid) -> Option<u64> {
    state(tid).map(|[_, _, pointer]| pointer)
}

pub(super) fn set_pointer(tid: Tid, pointer: u64) -> Result<()> {
    let Some([enabled, locked, _]) = state(tid) else { return Ok(()) };
    let mut raw = [0; 24];
    for (place, word) in raw.chunks_exact_mut(8).zip([enabled, locked, pointer]) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    sys::set_register_set(tid, NT_ARM_GCS, &raw)
}

/// Puts `next` in place of the slot address that a call in the slot at `slot` pushed.
pub(super) fn correct(tid: Tid, memory: &ProcessMemory, slot: u64, next: u64) {
    let Some(pointer) = pointer(tid) else { return };
    let top = memory.read_word(pointer, 8);
    if top.is_some_and(|top| top.wrapping_sub(slot) < SLOT_SIZE as u64) {
        memory.write(pointer, &next.to_le_bytes());
    }
}

/// Pushes the return address of a call that the tracer makes.
pub(super) fn push(tid: Tid, memory: &ProcessMemory, address: u64) -> Result<()> {
    let Some(pointer) = pointer(tid) else { return Ok(()) };
    let below = pointer.wrapping_sub(8);
    memory.write(below, &address.to_le_bytes());
    set_pointer(tid, below)
}
