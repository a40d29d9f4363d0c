//! Carries an access out on a thread's registers and memory.

use insn::Access;
use insn::x86::{Flags, Reg};

use super::access::{Mmio, Operation, Part};
use super::arithmetic::mask;
use crate::x86::Registers;
use crate::x86::class::next;
use crate::x86::emulate::{check, linear, read, write};
use crate::{Fault, Memory, Outcome};

impl Mmio {
    /// The linear address of the access: of what the registers say, for a virtual machine to translate.
    ///
    /// # Errors
    /// The fault that the processor raises instead: the address is not canonical, alignment checks are on and it is misaligned, or the
    /// segment's selector is null (outside 64-bit mode).
    pub fn address(&self, registers: &impl Registers) -> Result<u64, Fault> {
        let address = linear(&self.insn, self.pc, self.memory, registers)?;
        check(&self.insn, address, self.size, registers)?;
        Ok(address)
    }

    /// Does what the instruction does. A lock prefix and `xchg` make an access atomic, which is the caller's to keep.
    ///
    /// Segments other than fs and gs are assumed to be flat, as on Linux.
    ///
    /// # Errors
    /// The fault that the processor raises instead, or that `memory` returns. Registers and memory are unchanged then.
    pub fn run(&self, registers: &mut impl Registers, memory: &mut impl Memory) -> Result<Outcome, Fault> {
        let address = self.address(registers)?;
        let old = if self.access == Access::Write { 0 } else { read(address, self.size, memory)? };
        let other = match (self.register, self.immediate) {
            (Some(part), _) => value(part, registers),
            (None, Some(immediate)) => immediate,
            (None, None) => 0,
        };
        let flags = registers.get(Reg::FLAGS);
        // The operands in the order of the instruction.
        let (first, second) = if self.is_first { (old, other) } else { (other, old) };
        let (result, changed) = match self.operation {
            Operation::Move | Operation::ZeroExtend | Operation::Exchange => (second, flags),
            Operation::MoveSwapped => (second.swap_bytes() >> (64 - 8 * u32::from(self.size)), flags),
            Operation::SignExtend => {
                let unused = 64 - 8 * u32::from(self.size);
                (((second << unused) as i64 >> unused) as u64, flags)
            }
            Operation::Arithmetic(what) | Operation::Compare(what) => what.of(self.size, first, second, flags),
        };
        match (self.operation, self.register) {
            (Operation::Compare(_), _) => {}
            (Operation::Exchange, Some(part)) => {
                write(address, self.size, other, memory)?;
                set(part, old, registers);
            }
            (_, Some(part)) if !self.is_first => set(part, result, registers),
            _ => write(address, self.size, result, memory)?,
        }
        registers.set(Reg::FLAGS, changed);
        registers.set(Reg::RIP, next(&self.insn, self.pc));
        let traced = flags & u64::from(Flags::TF.bits()) != 0;
        Ok(if traced { Outcome::SingleStep } else { Outcome::Done })
    }
}

fn value(part: Part, registers: &impl Registers) -> u64 {
    let whole = registers.get(part.reg);
    (if part.high { whole >> 8 } else { whole }) & mask(part.size)
}

fn set(part: Part, value: u64, registers: &mut impl Registers) {
    let (shift, mask) = (if part.high { 8 } else { 0 }, mask(part.size));
    let value = value & mask;
    // 4 bytes are the whole register in 32-bit mode, and clear the other ones in 64-bit mode.
    let kept = if part.size >= 4 { 0 } else { registers.get(part.reg) & !(mask << shift) };
    registers.set(part.reg, kept | value << shift);
}
