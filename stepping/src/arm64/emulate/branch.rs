//! Conditions of branches, and return addresses of calls.

use insn::arm64::{Nzcv, Reg};

use super::control_stack;
use super::registers::{Registers, read};
use crate::arm64::class::{Comparison, Relation, Right, Test, next};
use crate::{Fault, Memory};

/// Whether a jump is taken.
pub(super) fn holds(test: Test, registers: &impl Registers) -> bool {
    match test {
        Test::Always => true,
        Test::Flags(condition) => condition.holds(Nzcv::from_bits((registers.get(Reg::NZCV) >> 28) as u8)),
        Test::Zero(register, bits, zero) => (unsigned(read(registers, register), bits) == 0) == zero,
        Test::Bit(register, bit, set) => (read(registers, register).wrapping_shr(bit.into()) & 1 == 1) == set,
        Test::Compare(comparison) => compares(comparison, registers),
    }
}

fn compares(comparison: Comparison, registers: &impl Registers) -> bool {
    let bits = comparison.bits;
    let left = read(registers, comparison.left);
    let right = match comparison.right {
        Right::Register(register) => read(registers, register),
        Right::Immediate(value) => value.into(),
    };
    let (signed_left, signed_right) = (signed(left, bits), signed(right, bits));
    let (left, right) = (unsigned(left, bits), unsigned(right, bits));
    match comparison.relation {
        Relation::Greater => signed_left > signed_right,
        Relation::GreaterOrEqual => signed_left >= signed_right,
        Relation::Less => signed_left < signed_right,
        Relation::Higher => left > right,
        Relation::HigherOrSame => left >= right,
        Relation::Lower => left < right,
        Relation::Equal => left == right,
        Relation::NotEqual => left != right,
    }
}

fn unsigned(value: u64, bits: u8) -> u64 {
    let unused = 64_u32.wrapping_sub(bits.into());
    value.wrapping_shl(unused).wrapping_shr(unused)
}

fn signed(value: u64, bits: u8) -> i64 {
    let unused = 64_u32.wrapping_sub(bits.into());
    (value.wrapping_shl(unused) as i64).wrapping_shr(unused)
}

/// Stores the return address of a call at `pc`.
pub(super) fn link(pc: u64, registers: &mut impl Registers, memory: &mut impl Memory) -> Result<(), Fault> {
    control_stack::push(next(pc), registers, memory)?;
    registers.set(Reg::X30, next(pc));
    Ok(())
}
