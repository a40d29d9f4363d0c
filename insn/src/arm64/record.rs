//! The record of a word, which tells what it reads and writes: look-ups in the tables of effects (`generated/effects.rs`).

use super::codes::memory::NONE;
use super::codes::{operand, record, tree};
use super::generated::effects::{ITEMS, NODES, OPERANDS, RECORDS, SETS, STARTS};
use super::{Insn, RegSet};

/// A record, of which [`record`] describes the first two words.
#[derive(Clone, Copy)]
pub(super) struct Record {
    /// How the registers in the usual fields are used, registers that no field names, flags.
    pub(super) uses: u32,
    rest: u32,
    /// The code of the memory operand, or [`NONE`].
    pub(super) memory: u32,
}

impl Insn {
    /// The record of the word.
    #[inline(always)]
    pub(super) fn record(&self) -> Record {
        // The table has as many entries as eleven bits have values.
        let mut item = STARTS[(self.word >> 21) as usize];
        let found = loop {
            let node = NODES.get(usize::from(item & !tree::NODE)).copied().unwrap_or(0);
            let value = self.word.wrapping_shr(node >> tree::POSITION) & node >> tree::MASK;
            item = ITEMS.get(((node & 0xffff) + value) as usize).copied().unwrap_or(0);
            if item & tree::NODE == 0 {
                break RECORDS.get(usize::from(item));
            }
        };
        let [uses, rest, memory] = found.copied().unwrap_or([0, 0, NONE]);
        Record { uses, rest, memory }
    }
}

impl Record {
    /// How a slot's registers are used: access and bank.
    #[inline(always)]
    pub(super) fn slot(self, number: u32) -> (u32, u32) {
        let slot = self.uses >> (4 * number);
        (slot & 3, slot >> 2 & 3)
    }
    /// The registers read and written that no field names.
    #[inline(always)]
    pub(super) fn implied(self) -> (RegSet, RegSet) {
        let (read, written) = SETS.get((self.uses >> record::SET & 0xff) as usize).copied().unwrap_or((0, 0));
        (RegSet::from_bits(read), RegSet::from_bits(written))
    }
    /// The lowest bit of a condition, and a mask for the flags that it reads: 0 if there is no condition.
    #[inline(always)]
    pub(super) fn condition(self) -> (u32, u8) {
        let place = self.rest >> record::CONDITION & 3;
        ((place >> 1) * 12, if place != 0 { 15 } else { 0 })
    }
    /// Codes of operands that no slot tells.
    #[inline(always)]
    pub(super) fn others(self) -> &'static [u32] {
        let count = (self.rest >> record::COUNT & 15) as usize;
        if count == 0 {
            return &[];
        }
        OPERANDS.get(self.first()..).and_then(|rest| rest.get(..count)).unwrap_or(&[])
    }
    /// The code of a second memory operand, or [`NONE`].
    #[inline(always)]
    pub(super) fn second_memory(self) -> u32 {
        if self.rest >> record::TWO_MEMORIES & 1 == 0 {
            return NONE;
        }
        let place = self.first() + (self.rest >> record::COUNT & 15) as usize;
        OPERANDS.get(place).copied().unwrap_or(NONE)
    }
    /// Codes of all operands that fields name, the registers of addresses included.
    pub(super) fn operands(self) -> impl Iterator<Item = u32> {
        let slots = (0..).zip(record::SLOTS).filter_map(move |(number, position)| {
            let (access, bank) = self.slot(number);
            let code = access | bank << operand::BANK | position << operand::POSITION;
            (access != 0).then_some(code | 5 << operand::WIDTH | 1 << operand::COUNT)
        });
        slots.chain(self.others().iter().copied())
    }
    fn first(self) -> usize {
        (self.rest & 0xffff) as usize
    }
}
