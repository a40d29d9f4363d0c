//! Addresses and accesses, with the checks before address translation.

use insn::x86::{Bits, Flags, Insn, Memory as Operand, Reg};

use super::registers::Registers;
use crate::x86::class::next;
use crate::{Fault, Memory};

/// Whether `address` is canonical: the bits above the linear address equal its top bit.
pub(super) fn canonical(address: u64, registers: &impl Registers) -> bool {
    let unused = 64_u32.saturating_sub(registers.linear_address_bits()).min(63);
    ((address << unused) as i64 >> unused) as u64 == address
}

/// The linear address of a memory operand.
pub(in crate::x86) fn linear(insn: &Insn, pc: u64, operand: Operand, registers: &impl Registers) -> Result<u64, Fault> {
    let value = |reg: Option<Reg>| match reg {
        None => 0,
        // Not truncated to the mode's width: the address size does that below.
        Some(Reg::RIP) => next(insn, pc),
        Some(reg) => registers.get(reg),
    };
    let effective = value(operand.base)
        .wrapping_add(value(operand.index).wrapping_mul(u64::from(operand.scale)))
        .wrapping_add_signed(operand.displacement);
    let effective = truncate(operand.address_size, effective);
    let base = match operand.segment {
        Reg::FS => registers.get(Reg::FS_BASE),
        Reg::GS => registers.get(Reg::GS_BASE),
        _ => 0,
    };
    let address = base.wrapping_add(effective);
    if insn.mode().bits == Bits::B64 {
        return Ok(registers.untagged(address));
    }
    let selector = registers.get(operand.segment) as u16;
    if selector & !3 == 0 {
        return Err(Fault::NullSelector(selector));
    }
    Ok(address & 0xffff_ffff)
}

/// The low `size` bytes of a value: 2, 4 or 8.
pub(super) fn truncate(size: u8, value: u64) -> u64 {
    match size {
        2 => value & 0xffff,
        4 => value & 0xffff_ffff,
        _ => value,
    }
}

/// Checks an access of `size` bytes for what faults before a page is looked up.
pub(in crate::x86) fn check(insn: &Insn, address: u64, size: u8, registers: &impl Registers) -> Result<(), Fault> {
    let last = address.wrapping_add(u64::from(size.saturating_sub(1)));
    if insn.mode().bits == Bits::B64 && !(canonical(address, registers) && canonical(last, registers)) {
        return Err(Fault::NonCanonical(address));
    }
    let checked = registers.get(Reg::FLAGS) & u64::from(Flags::AC.bits()) != 0;
    if checked && address & u64::from(size.saturating_sub(1)) != 0 {
        return Err(Fault::Alignment(address));
    }
    Ok(())
}

/// Reads a little-endian value of at most eight bytes.
pub(in crate::x86) fn read(address: u64, size: u8, memory: &mut impl Memory) -> Result<u64, Fault> {
    let mut bytes = [0; 8];
    if let Some(wanted) = bytes.get_mut(..usize::from(size)) {
        memory.read(address, wanted)?;
    }
    Ok(u64::from_le_bytes(bytes))
}

/// Writes the low `size` bytes of `value`.
pub(in crate::x86) fn write(address: u64, size: u8, value: u64, memory: &mut impl Memory) -> Result<(), Fault> {
    memory.write(address, value.to_le_bytes().get(..usize::from(size)).unwrap_or(&[]))
}

/// The stack pointer plus `bytes`, truncated to the width of the mode.
pub(super) fn stack(insn: &Insn, bytes: i64, registers: &impl Registers) -> u64 {
    let width = if insn.mode().bits == Bits::B64 { 8 } else { 4 };
    truncate(width, registers.get(Reg::RSP).wrapping_add_signed(bytes))
}
