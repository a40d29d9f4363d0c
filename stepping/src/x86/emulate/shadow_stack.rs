//! The shadow stack in near calls and returns (SDM vol. 1, 17.2).

use insn::x86::{Bits, Reg};

use super::access::read;
use super::registers::Registers;
use super::site::Emulate;
use crate::{Fault, Memory};

/// Size of an entry in bytes.
fn entry(site: &Emulate) -> u8 {
    if site.insn.mode().bits == Bits::B64 { 8 } else { 4 }
}

/// Pushes the return address. Registers change only when the write has succeeded.
pub(super) fn push(site: &Emulate, registers: &mut impl Registers, memory: &mut impl Memory) -> Result<(), Fault> {
    let size = entry(site);
    let ssp = registers.get(Reg::SSP).wrapping_sub(u64::from(size));
    let value = site.next().to_le_bytes();
    memory.write_shadow_stack(ssp, value.get(..usize::from(size)).unwrap_or(&[]))?;
    registers.set(Reg::SSP, ssp);
    Ok(())
}

/// Pops an entry and compares it with the return address.
pub(super) fn pop(
    site: &Emulate,
    target: u64,
    registers: &mut impl Registers,
    memory: &mut impl Memory,
) -> Result<(), Fault> {
    let size = entry(site);
    let ssp = registers.get(Reg::SSP);
    if read(ssp, size, memory)? != target {
        return Err(Fault::ControlProtection(target));
    }
    registers.set(Reg::SSP, ssp.wrapping_add(u64::from(size)));
    Ok(())
}
