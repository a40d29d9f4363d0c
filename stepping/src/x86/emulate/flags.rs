//! `pushf` and `popf` in user mode (SDM vol. 2B, PUSHF and POPF).

use insn::x86::{Bits, Flags, Insn, Prefixes, Reg};

use super::access::{check, read, stack, write};
use super::registers::Registers;
use super::site::Emulate;
use crate::{Fault, Memory, Outcome};

/// Flags that `popf` writes in user mode. AC and ID are above the operand of the 16-bit form.
const POPPED: Flags =
    Flags::STATUS.union(Flags::TF).union(Flags::DF).union(Flags::NT).union(Flags::AC).union(Flags::ID);

pub(super) fn push(site: &Emulate, registers: &mut impl Registers, memory: &mut impl Memory) -> Result<(), Fault> {
    let size = size(&site.insn);
    let sp = stack(&site.insn, -i64::from(size), registers);
    check(&site.insn, sp, size, registers)?;
    let hidden = Flags::RF.union(Flags::VM);
    write(sp, size, registers.get(Reg::FLAGS) & !u64::from(hidden.bits()), memory)?;
    registers.set(Reg::RSP, sp);
    registers.set(Reg::RIP, site.next());
    Ok(())
}

pub(super) fn pop(site: &Emulate, registers: &mut impl Registers, memory: &mut impl Memory) -> Result<Outcome, Fault> {
    let size = size(&site.insn);
    let sp = stack(&site.insn, 0, registers);
    check(&site.insn, sp, size, registers)?;
    let popped = read(sp, size, memory)?;
    let old = registers.get(Reg::FLAGS);
    let mut mask = u64::from(POPPED.bits());
    if size == 2 {
        mask &= 0xffff;
    }
    // Only a program with I/O privilege may change IF.
    if old & u64::from(Flags::IOPL.bits()) == u64::from(Flags::IOPL.bits()) {
        mask |= u64::from(Flags::IF.bits());
    }
    let new = (old & !mask | popped & mask) & !u64::from(Flags::RF.bits());
    let changed = (old ^ new) & mask;
    if changed & !u64::from(registers.settable_flags().bits()) != 0 {
        return Ok(Outcome::Slot);
    }
    registers.set(Reg::FLAGS, new);
    registers.set(Reg::RSP, stack(&site.insn, i64::from(size), registers));
    registers.set(Reg::RIP, site.next());
    Ok(Outcome::Done)
}

/// The operand size in bytes. Prefix 66 makes it 2 in every mode, on Intel and AMD.
fn size(insn: &Insn) -> u8 {
    match insn.mode().bits {
        _ if insn.prefixes().has(Prefixes::OPERAND_SIZE) && !insn.w() => 2,
        Bits::B64 => 8,
        _ => 4,
    }
}
