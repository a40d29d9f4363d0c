//! The record of a word, which tells what it reads and writes: look-ups in the tables of effects (`generated/effects.rs`).

use super::codes::memory::NONE;
use super::codes::{access, operand, record, tree};
use super::generated::effects::{ITEMS, NODES, OPERANDS, RECORDS, SETS, STARTS};
use super::{Insn, Nzcv};

/// A record, of which [`record`] describes the first two words.
#[derive(Clone, Copy)]
pub(super) struct Record {
    /// How the registers in the usual fields are used, registers that no field names, flags.
    pub(super) uses: u32,
    pub(super) rest: Rest,
    /// The code of the memory operand, or [`NONE`].
    pub(super) memory: u32,
}

/// The second word of a record.
#[derive(Clone, Copy)]
pub(super) struct Rest(u32);

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
        Record { uses, rest: Rest(rest), memory }
    }
}

impl Record {
    /// How a slot's registers are used: four bits.
    #[inline(always)]
    pub(super) fn slot(self, number: u32) -> u32 {
        self.uses >> (4 * number) & 15
    }
    /// The registers read and written that no field names: two words each.
    #[inline(always)]
    pub(super) fn implied(self) -> &'static [u64; 4] {
        &SETS[(self.uses >> record::SET & 63) as usize]
    }
    /// Flags read and written.
    #[inline(always)]
    pub(super) fn flags(self) -> (Nzcv, Nzcv) {
        let flags = |place: u32| Nzcv::from_bits((self.uses >> place) as u8);
        (flags(record::FLAGS_READ), flags(record::FLAGS_WRITTEN))
    }
    /// Codes of all operands that fields name, the registers of addresses included.
    pub(super) fn operands(self) -> impl Iterator<Item = u32> {
        let slots = (0..).zip(record::SLOTS).filter_map(move |(number, position)| {
            let slot = self.slot(number);
            let code = slot | position << operand::POSITION;
            (slot & access::READ_WRITE != 0).then_some(code | 5 << operand::WIDTH | 1 << operand::COUNT)
        });
        slots.chain(self.rest.others().iter().copied())
    }
}

impl Rest {
    /// Whether there are operands that no slot tells.
    #[inline(always)]
    pub(super) fn has_others(self) -> bool {
        self.0 >> record::COUNT & 15 != 0
    }
    /// Codes of operands that no slot tells.
    pub(super) fn others(self) -> &'static [u32] {
        let count = (self.0 >> record::COUNT & 15) as usize;
        OPERANDS.get(self.first()..).and_then(|rest| rest.get(..count)).unwrap_or(&[])
    }
    #[inline(always)]
    pub(super) fn has_second_memory(self) -> bool {
        self.0 >> record::TWO_MEMORIES & 1 != 0
    }
    /// The code of a second memory operand.
    pub(super) fn second_memory(self) -> Option<u32> {
        OPERANDS.get(self.first() + (self.0 >> record::COUNT & 15) as usize).copied()
    }
    fn first(self) -> usize {
        (self.0 & 0xffff) as usize
    }
}
