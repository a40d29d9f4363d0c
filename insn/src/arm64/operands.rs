//! Registers that an instruction reads and writes.

use super::codes::access::{READ, WRITE};
use super::codes::{operand, record, registers as kind};
use super::insn::field;
use super::record::{Record, Rest};
use super::{Insn, Reg, RegSet};

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

/// The bit of general register 31, which stands for sp until all registers are gathered.
const STACK: u64 = 1 << 31;

/// The registers that a slot reads and writes, by the slot and the number in its field. Neither depends on a branch, since no processor
/// predicts how the next word uses its fields.
struct Slots {
    read: [u64; 16 << 5],
    written: [u64; 16 << 5],
}

static SLOTS: Slots = {
    let mut slots = Slots { read: [0; 16 << 5], written: [0; 16 << 5] };
    let mut at = 0;
    while at < 16 << 5 {
        let (access, bank, number) = (at as u32 >> 5 & 3, at as u32 >> 7, at as u32 & 31);
        let bit = match bank {
            kind::GENERAL if number == 31 => 0,
            kind::GENERAL | kind::GENERAL_OR_SP => 1 << number,
            kind::VECTOR => 1 << (Reg::vector(number).number()),
            // No slot has predicates.
            _ => 0,
        };
        slots.read[at] = if access & READ != 0 { bit } else { 0 };
        slots.written[at] = if access & WRITE != 0 { bit } else { 0 };
        at += 1;
    }
    slots
};

/// Registers read and written.
pub(super) struct Used {
    pub(super) reads: RegSet,
    pub(super) writes: RegSet,
    pub(super) overwrites: RegSet,
}

/// With the registers of operands that no slot tells.
#[cold]
#[inline(never)]
fn with_others(word: u32, rest: Rest, mut reads: RegSet, mut writes: RegSet) -> (RegSet, RegSet) {
    for code in rest.others() {
        let set = registers(word, *code).without(Reg::XZR);
        if code & READ != 0 {
            reads = reads.union(set);
        }
        if code & WRITE != 0 {
            writes = writes.union(set);
        }
    }
    (reads, writes)
}

impl Insn {
    /// Registers read and written.
    #[inline(always)]
    pub(super) fn registers_by(&self, record: Record) -> Used {
        let [implied_read, implied_read_high, implied_written, implied_written_high] = *record.implied();
        let (mut read, mut written) = (0, 0);
        for (slot, position) in (0..).zip(record::SLOTS) {
            let at = (record.slot(slot) << 5 | self.field(position, 5)) as usize;
            (read, written) = (read | SLOTS.read[at], written | SLOTS.written[at]);
        }
        let set = |slots: u64, [low, high]: [u64; 2]| {
            let stack = (slots & STACK) >> 31 << (Reg::SP.number() - 64);
            RegSet::from_bits(u128::from(slots & !STACK | low) | u128::from(stack | high) << 64)
        };
        let mut reads = set(read, [implied_read, implied_read_high]);
        let mut writes = set(written, [implied_written, implied_written_high]);
        if record.rest.has_others() {
            (reads, writes) = with_others(self.word, record.rest, reads, writes);
        }
        // What changes with the mode keeps its value if the processor is already in that mode.
        let overwrites = if writes.contains(Reg::SVCR) { RegSet::EMPTY } else { writes.difference(KEPT) };
        Used { reads, writes, overwrites }
    }
}
