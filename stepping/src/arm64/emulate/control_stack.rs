//! The guarded control stack in calls and returns (Arm ARM, `AddGCSRecord` and `LoadCheckGCSRecord`).

use insn::arm64::Reg;

use super::registers::Registers;
use crate::{Fault, Memory};

/// Size of an entry in bytes.
const ENTRY: u64 = 8;

/// Pushes the return address. Registers change only when the write has succeeded.
pub(super) fn push(address: u64, registers: &mut impl Registers, memory: &mut impl Memory) -> Result<(), Fault> {
    if !registers.control_stack() {
        return Ok(());
    }
    let pointer = registers.get(Reg::GCSPR).wrapping_sub(ENTRY);
    memory.write_shadow_stack(pointer, &address.to_le_bytes())?;
    registers.set(Reg::GCSPR, pointer);
    Ok(())
}

/// Pops an entry and compares it with the return address.
pub(super) fn pop(target: u64, registers: &mut impl Registers, memory: &mut impl Memory) -> Result<(), Fault> {
    if !registers.control_stack() {
        return Ok(());
    }
    let pointer = registers.get(Reg::GCSPR);
    let mut entry = [0; ENTRY as usize];
    memory.read(pointer, &mut entry)?;
    if u64::from_le_bytes(entry) != target {
        return Err(Fault::ControlProtection(target));
    }
    registers.set(Reg::GCSPR, pointer.wrapping_add(ENTRY));
    Ok(())
}
