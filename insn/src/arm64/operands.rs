//! Registers and flags that an instruction reads and writes.

use super::codes::access::{READ, WRITE};
use super::codes::{operand, registers as kind};
use super::generated::forms::SETS;
use super::insn::field;
use super::memory::Address;
use super::tables::Meaning;
use super::{Insn, Memory, Nzcv, Reg, RegSet};
use crate::{Flow, Target};

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

impl Insn {
    /// The registers that the instruction overwrites in whole.
    pub(super) fn overwritten_by(&self, meaning: &Meaning, writes: RegSet) -> RegSet {
        let (_, implicit) = SETS.get(usize::from(meaning.set)).copied().unwrap_or((0, 0));
        let implicit = RegSet::from_bits(implicit);
        // Vectors keep their values if the processor is already in that mode.
        let switched = if implicit.contains(Reg::SVCR) { implicit.union(VECTORS) } else { RegSet::EMPTY };
        writes.difference(KEPT).difference(switched)
    }
    pub(super) fn registers_by(&self, meaning: &Meaning, memories: &[Option<Memory>; 2]) -> (RegSet, RegSet) {
        let (read, written) = SETS.get(usize::from(meaning.set)).copied().unwrap_or((0, 0));
        let (mut reads, mut writes) = (RegSet::from_bits(read), RegSet::from_bits(written));
        for code in meaning.operands() {
            let set = registers(self.word, *code);
            if code & READ != 0 {
                reads = reads.union(set);
            }
            if code & WRITE != 0 {
                writes = writes.union(set);
            }
        }
        for memory in memories.iter().flatten() {
            reads = reads.union(memory.registers());
            if let (true, Address::Register(base)) = (memory.writeback.is_some(), memory.base) {
                writes = writes.with(base);
            }
        }
        let (flags_read, flags_written) = self.flags_by(meaning);
        if !flags_read.is_empty() {
            reads = reads.with(Reg::NZCV);
        }
        if !flags_written.is_empty() {
            writes = writes.with(Reg::NZCV);
        }
        match (self.flow(), self.target()) {
            (_, Target::Relative(_)) => (reads, writes) = (reads.with(Reg::PC), writes.with(Reg::PC)),
            (flow, Target::Register(register)) => {
                reads = reads.with(register);
                writes = writes.with(Reg::PC);
                if flow == Flow::Call {
                    reads = reads.with(Reg::PC);
                }
            }
            _ => {}
        }
        if self.flow() == Flow::Call {
            writes = writes.with(Reg::X30);
        }
        (reads.without(Reg::XZR), writes.without(Reg::XZR))
    }
    pub(super) fn flags_by(&self, meaning: &Meaning) -> (Nzcv, Nzcv) {
        let (read, written) = meaning.flags;
        let read = Nzcv::from_bits(read);
        (self.condition().map_or(read, |condition| read.union(condition.flags())), Nzcv::from_bits(written))
    }
}
