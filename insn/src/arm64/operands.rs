//! Registers and flags that an instruction reads and writes.

use super::codes::access::{READ, WRITE};
use super::codes::{bank, operand, record, registers as kind};
use super::insn::field;
use super::record::Record;
use super::{Condition, Insn, Nzcv, Reg, RegSet};

/// The registers that an operand with this code names in a word.
pub(super) fn registers(word: u32, code: u32) -> RegSet {
    let number = field(word, code >> operand::POSITION & 31, code >> operand::WIDTH & 7);
    let first = number.wrapping_shl(code >> operand::SHIFT & 3).wrapping_add(code >> operand::ADD & 31);
    let stride = code >> operand::STRIDE & 15;
    let mut set = RegSet::EMPTY;
    for i in 0..code >> operand::COUNT & 15 {
        let n = first.wrapping_add(stride.wrapping_mul(i));
        set = set.with(match code >> operand::BANK & 3 {
            kind::GENERAL => Reg::general(n),
            kind::GENERAL_OR_SP => Reg::general_or_sp(n),
            kind::VECTOR => Reg::vector(n),
            _ => Reg::predicate(n),
        });
    }
    set
}

/// The registers that an instruction never overwrites in whole (sticky status bits, tiles), and those that are not the program's.
const KEPT: RegSet = RegSet::EMPTY
    .with(Reg::FPSR)
    .with(Reg::ZA)
    .with(Reg::ZT0)
    .with(Reg::SVCR)
    .with(Reg::SYSTEM)
    .with(Reg::PC)
    .with(Reg::NZCV);
const VECTORS: RegSet = RegSet::from_bits(0xffff_ffff << 32 | 0xffff << 64);

/// The flags that each condition reads.
const CONDITIONS: [Nzcv; 16] = {
    let mut flags = [Nzcv::EMPTY; 16];
    let mut code = 0;
    while code < 16 {
        flags[code as usize] = Condition::new(code).flags();
        code += 1;
    }
    flags
};

/// Registers read and written.
pub(super) struct Used {
    pub(super) reads: RegSet,
    pub(super) writes: RegSet,
    pub(super) overwrites: RegSet,
}

/// All bits if the bit is set.
#[inline(always)]
fn all_if(bit: u32) -> u64 {
    u64::from(bit & 1).wrapping_neg()
}

impl Insn {
    /// Registers read and written.
    #[inline(always)]
    pub(super) fn registers_by(&self, record: Record) -> Used {
        let (implied_reads, implied_writes) = record.implied();
        // Slots are masked, not branched, since no processor predicts how the next word uses them.
        let (mut read, mut written) = (0, 0);
        let (mut stack_read, mut stack_written) = (0, 0);
        for (slot, position) in (0..).zip(record::SLOTS) {
            let (access, bank) = record.slot(slot);
            const { assert!(kind::VECTOR == 2 && kind::GENERAL_OR_SP == 1 && bank::VECTOR == 32) };
            let bit = 1u64.wrapping_shl(self.field(position, 5) | (bank & kind::VECTOR) << 4);
            let (is_read, is_written) = (bit & all_if(access), bit & all_if(access >> 1));
            (read, written) = (read | is_read, written | is_written);
            // Only the first two fields name the stack pointer.
            if slot < 2 {
                let is_stack = all_if(bank);
                (stack_read, stack_written) = (stack_read | is_read & is_stack, stack_written | is_written & is_stack);
            }
        }
        // Where register 31 is the stack pointer.
        let set = |low: u64, stack: u64| {
            let stack = (stack >> 31 & 1) << (Reg::SP.number() - 64);
            RegSet::from_bits(u128::from(low & !(1 << 31)) | u128::from(stack) << 64)
        };
        let mut reads = implied_reads.union(set(read, stack_read));
        let mut writes = implied_writes.union(set(written, stack_written));
        for code in record.others() {
            let set = registers(self.word, *code).without(Reg::XZR);
            if code & READ != 0 {
                reads = reads.union(set);
            }
            if code & WRITE != 0 {
                writes = writes.union(set);
            }
        }
        let (flags_read, flags_written) = self.flags_by(record);
        let flags = |flags: Nzcv| {
            RegSet::from_bits(u128::from(u64::from(!flags.is_empty()) << (Reg::NZCV.number() - 64)) << 64)
        };
        (reads, writes) = (reads.union(flags(flags_read)), writes.union(flags(flags_written)));
        // What changes with the mode keeps its value if the processor is already in that mode.
        let switched = implied_writes.contains(Reg::SVCR);
        let kept = if switched { KEPT.union(VECTORS).union(implied_writes) } else { KEPT };
        Used { reads, writes, overwrites: writes.difference(kept) }
    }
    /// Flags read and written.
    #[inline(always)]
    pub(super) fn flags_by(&self, record: Record) -> (Nzcv, Nzcv) {
        let read = Nzcv::from_bits((record.uses >> record::FLAGS_READ) as u8);
        let written = Nzcv::from_bits((record.uses >> record::FLAGS_WRITTEN) as u8);
        let (low, mask) = record.condition();
        let of_condition = Nzcv::from_bits(CONDITIONS[self.field(low, 4) as usize & 15].bits() & mask);
        (read.union(of_condition), written)
    }
}
