//! Rings: where trampolines record hits, and the tracer reads them.

use std::collections::BTreeSet;
use std::sync::Arc;

use trampoline::x86::{Ring as Layout, WhenFull};

use super::Shared;
use super::slot::{self, Entry, NOBODY};
use crate::Buffer;

/// The least and the largest number of slots of a ring, as powers of two.
const LEAST: u32 = 6;
const MOST: u32 = 20;
/// Bytes before the slots. The control words are 64 bytes apart.
const CONTROL: u64 = 4096;
const DONE: u64 = 64;
const LOST: usize = 128;

/// The size of a ring, and what happens when it is full.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Shape {
    /// Number of slots, and bytes of a slot, as powers of two.
    pub(super) count: u8,
    slot: u8,
    /// The most bytes of the stack that a record has.
    pub(in crate::ptrace) stack: u16,
    pub(super) full: WhenFull,
}

impl Shape {
    pub(in crate::ptrace) fn new(buffer: Buffer) -> Shape {
        let count = buffer.records.checked_next_power_of_two().map_or(MOST, u32::ilog2).clamp(LEAST, MOST);
        let full = match buffer.when_full {
            crate::WhenFull::Wait => WhenFull::Stop,
            crate::WhenFull::Drop => WhenFull::Lose,
            crate::WhenFull::Overwrite => WhenFull::Overwrite,
        };
        let stack = slot::stack_room(buffer.stack);
        Shape { count: count as u8, slot: slot::size(stack), stack, full }
    }

    /// The ring at an address, as trampolines know it.
    pub(in crate::ptrace) fn at(self, at: u64) -> Layout {
        Layout { control: at, slots: at + CONTROL, count: self.count, size: self.slot, full: self.full }
    }

    /// Bytes of a ring.
    pub(in crate::ptrace) fn size(self) -> u64 {
        CONTROL + (1 << (self.count + self.slot))
    }

    /// The most records that the tracer keeps of a ring, if there is a limit.
    pub(in crate::ptrace) fn limit(self) -> Option<usize> {
        (self.full == WhenFull::Overwrite).then_some(1 << self.count)
    }

    /// Whether a record has its number before it has a slot.
    pub(in crate::ptrace) fn numbers_first(self) -> bool {
        self.full == WhenFull::Overwrite
    }

    /// The offset of a record's slot in the ring.
    fn slot_of(self, number: u64) -> usize {
        let index = number.wrapping_sub(1) & ((1 << self.count) - 1);
        (CONTROL + (index << self.slot)) as usize
    }
}

/// A ring, and how far it is read.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Ring {
    /// `None`: it is that of the process that made this one, which reads it.
    pub(super) memory: Option<Arc<Shared>>,
    pub(in crate::ptrace) shape: Shape,
    /// Number of records, from the first one on, that are read or lost.
    pub(super) done: u64,
    /// Numbers of records behind these that are read.
    ahead: BTreeSet<u64>,
    /// Number of lost records that are told.
    told: u64,
    /// In a ring that overwrites: the number of records that were read, and of those whose threads begin once more.
    read: u64,
    begun_again: u64,
}

impl Ring {
    pub(in crate::ptrace) fn new(memory: Shared, shape: Shape) -> Ring {
        Ring { memory: Some(memory.into()), ..Ring::of_maker(shape) }
    }

    /// The ring in a forked child, to which it does not belong.
    pub(in crate::ptrace) fn of_maker(shape: Shape) -> Ring {
        Ring { memory: None, shape, done: 0, ahead: BTreeSet::new(), told: 0, read: 0, begun_again: 0 }
    }

    /// Whether the ring belongs to the process.
    pub(in crate::ptrace) fn is_own(&self) -> bool {
        self.memory.is_some()
    }

    /// Reads all complete records. Those of one thread come in their order. Returns also the number of records that were lost since the last
    /// call. `is_last` says that no thread writes any more: a record that is incomplete is lost then.
    pub(in crate::ptrace) fn read(&mut self, is_last: bool) -> (Vec<Entry>, u64) {
        let Some(memory) = self.memory.clone() else { return (Vec::new(), 0) };
        let (entries, gone, incomplete) = match self.shape.full {
            WhenFull::Overwrite => self.read_latest(&memory),
            _ => self.read_next(&memory),
        };
        let lost = gone.saturating_sub(if is_last { 0 } else { incomplete });
        let new = lost.saturating_sub(self.told);
        self.told = self.told.max(lost);
        (entries, new)
    }

    /// Returns the records, and the number of all that were lost or are incomplete, and of those that are incomplete.
    fn read_next(&mut self, memory: &Shared) -> (Vec<Entry>, u64, u64) {
        let shape = self.shape;
        // The debuggee may have written anything there.
        let taken = memory.load(0).clamp(self.done, self.done + (1 << shape.count));
        let (mut entries, mut words) = (Vec::new(), Vec::new());
        for number in self.done + 1..=taken {
            if self.ahead.contains(&number) || memory.load(shape.slot_of(number)) != number {
                continue;
            }
            slot::copy(memory, shape.slot_of(number), shape.stack, &mut words);
            self.ahead.insert(number);
            entries.extend(slot::entry(&words, shape.stack));
        }
        while self.ahead.remove(&(self.done + 1)) {
            self.done += 1;
        }
        memory.store(DONE as usize, self.done);
        let incomplete = taken - self.done - self.ahead.len() as u64;
        (entries, memory.load(LOST).saturating_add(incomplete), incomplete)
    }

    /// Reads the records that are not overwritten. Returns as [`Ring::read_next`].
    fn read_latest(&mut self, memory: &Shared) -> (Vec<Entry>, u64, u64) {
        let (shape, slots) = (self.shape, 1 << self.shape.count);
        // The debuggee may have written anything there.
        let taken = memory.load(0).clamp(self.done, u64::MAX / 2);
        let oldest = taken.saturating_sub(slots).max(self.done);
        self.ahead = self.ahead.split_off(&(oldest + 1));
        self.done = oldest;
        let (mut entries, mut words, mut incomplete) = (Vec::new(), Vec::new(), 0);
        for number in oldest + 1..=taken {
            if self.ahead.contains(&number) {
                continue;
            }
            let at = shape.slot_of(number);
            let before = memory.load(at);
            slot::copy(memory, at, shape.stack, &mut words);
            if before == number && memory.load(at) == number {
                let entry = slot::entry(&words, shape.stack);
                self.read += u64::from(entry.is_some());
                entries.extend(entry);
            } else if before != number && before.min(!before) <= number {
                // Its thread may be about to complete it, or found the slot of another incomplete one.
                incomplete += 1;
                continue;
            }
            self.ahead.insert(number);
        }
        while self.ahead.remove(&(self.done + 1)) {
            self.done += 1;
        }
        (entries, taken.saturating_sub(self.read + self.begun_again), incomplete)
    }

    /// Makes the slot at this offset from the ring's beginning a complete record that nobody reads, if its thread has a slot: the thread begins
    /// once more.
    pub(in crate::ptrace) fn give_up(&mut self, offset: Option<u64>) {
        self.begun_again += 1;
        let (Some(memory), count, Some(offset)) = (&self.memory, self.shape.count, offset) else { return };
        let Some(index) =
            offset.checked_sub(CONTROL).map(|offset| offset >> self.shape.slot).filter(|index| index >> count == 0)
        else {
            return;
        };
        let mask = (1 << count) - 1;
        let at = self.shape.slot_of(index + 1);
        let number = match self.shape.full {
            WhenFull::Overwrite => !memory.load(at),
            _ => self.done + (index.wrapping_sub(self.done) & mask) + 1,
        };
        memory.store(at + 8, NOBODY.into());
        memory.store(at, number);
    }
}
