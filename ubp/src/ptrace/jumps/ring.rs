//! Rings: where trampolines record hits, and the tracer reads them.

use std::collections::BTreeSet;
use std::sync::Arc;

use insn::x86::Reg;
use trampoline::x86::{Field, Memory, Record, Ring as Layout, ThreadKey, WhenFull};

use super::Shared;
use crate::Buffer;
use crate::record::{ARGUMENTS, TEXT, Text};

/// The least and the largest number of slots of a ring, and bytes of a slot, as powers of two.
const LEAST: u32 = 6;
const MOST: u32 = 20;
const SLOT: u8 = 9;
/// Bytes before the slots. The control words are 64 bytes apart.
const CONTROL: u64 = 4096;
const DONE: u64 = 64;
const LOST: usize = 128;
/// Words of a slot, before its fields, and of the text behind one argument.
const WORDS: usize = 1 << (SLOT - 3);
const TEXT_WORDS: usize = TEXT / 8;
/// Bits of a record's number that tell what it has.
const WITH_TEXT: u32 = 1 << 30;
const WITH_CALLER: u32 = 1 << 29;
/// The number of a record that the reader ignores; no site has it.
const NOBODY: u32 = u32::MAX;

/// The size of a ring, and what happens when it is full.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Shape {
    /// Number of slots as a power of two.
    count: u8,
    full: WhenFull,
}

impl Shape {
    pub(in crate::ptrace) fn new(buffer: Buffer) -> Shape {
        let count = buffer.records.checked_next_power_of_two().map_or(MOST, u32::ilog2).clamp(LEAST, MOST);
        let full = match buffer.when_full {
            crate::WhenFull::Wait => WhenFull::Stop,
            crate::WhenFull::Drop => WhenFull::Lose,
            crate::WhenFull::Overwrite => WhenFull::Overwrite,
        };
        Shape { count: count as u8, full }
    }

    /// Bytes of a ring.
    pub(in crate::ptrace) fn size(self) -> u64 {
        CONTROL + (1 << (self.count + SLOT))
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
        (CONTROL + (index << SLOT)) as usize
    }
}

/// What a record holds besides arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::ptrace) struct Detail {
    pub(in crate::ptrace) text: bool,
    /// The return address, which lies in the program's memory.
    pub(in crate::ptrace) caller: bool,
}

/// What a record in a ring says.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Entry {
    /// The number of the site.
    pub(in crate::ptrace) id: u32,
    /// The time stamp counter.
    pub(in crate::ptrace) ticks: u64,
    /// The thread's base of fs.
    pub(in crate::ptrace) key: u64,
    pub(in crate::ptrace) arguments: [u64; ARGUMENTS],
    pub(in crate::ptrace) caller: Option<u64>,
    pub(in crate::ptrace) text: Option<Box<[Text; ARGUMENTS]>>,
}

/// A ring, and how far it is read.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Ring {
    /// `None`: it is that of the process that made this one, which reads it.
    memory: Option<Arc<Shared>>,
    pub(in crate::ptrace) shape: Shape,
    /// Number of records, from the first one on, that are read or lost.
    done: u64,
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
        let mut entries = Vec::new();
        for number in self.done + 1..=taken {
            if self.ahead.contains(&number) || memory.load(shape.slot_of(number)) != number {
                continue;
            }
            let mut words = [0; WORDS];
            memory.copy(shape.slot_of(number), &mut words);
            self.ahead.insert(number);
            entries.extend(entry(&words));
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
        let (mut entries, mut incomplete) = (Vec::new(), 0);
        for number in oldest + 1..=taken {
            if self.ahead.contains(&number) {
                continue;
            }
            let (at, mut words) = (shape.slot_of(number), [0; WORDS]);
            let before = memory.load(at);
            memory.copy(at, &mut words);
            if before == number && memory.load(at) == number {
                let entry = entry(&words);
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
        let Some(index) = offset.checked_sub(CONTROL).map(|offset| offset >> SLOT).filter(|index| index >> count == 0)
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

fn entry(words: &[u64; WORDS]) -> Option<Entry> {
    let [_, head, ticks, key, _, rest @ ..] = words;
    let (id, readable) = (*head as u32, (head >> 32) as u32);
    let (arguments, rest) = rest.split_first_chunk::<ARGUMENTS>()?;
    let ([caller], rest) = rest.split_first_chunk()?;
    let text = (id & WITH_TEXT != 0).then(|| {
        let mut texts = Box::new([Text::NONE; ARGUMENTS]);
        for ((number, text), words) in texts.iter_mut().enumerate().zip(rest.chunks(TEXT_WORDS)) {
            if readable >> (ARGUMENTS + 1 + number) & 1 != 0 {
                text.length = TEXT as u8;
                for (to, from) in text.bytes.iter_mut().zip(words.iter().flat_map(|word| word.to_le_bytes())) {
                    *to = from;
                }
            }
        }
        texts
    });
    let caller = (id & WITH_CALLER != 0 && readable >> ARGUMENTS & 1 != 0).then_some(*caller);
    let entry =
        Entry { id: id & !(WITH_TEXT | WITH_CALLER), ticks: *ticks, key: *key, arguments: *arguments, caller, text };
    (id != NOBODY).then_some(entry)
}

/// The fields of a record. Memory has to lie in the windows at these addresses.
pub(in crate::ptrace) fn fields(detail: Detail, window: u64, text_window: u64) -> Vec<Field> {
    const REGISTERS: [u8; ARGUMENTS] = [7, 6, 2, 1, 8, 9];
    let mut fields: Vec<Field> = (0..ARGUMENTS as u8).map(Field::Argument).collect();
    fields.push(if detail.caller { Field::Return { window } } else { Field::Argument(0) });
    if detail.text {
        let memory = |number| {
            let base = Some(Reg::gpr(number));
            Field::Memory(Memory { base, offset: 0, size: TEXT as u8, window: text_window })
        };
        fields.extend(REGISTERS.map(memory));
    }
    fields
}

/// The record of the site with a number, into the ring at `at`.
pub(in crate::ptrace) fn record(id: u32, detail: Detail, (at, shape): (u64, Shape), fields: &[Field]) -> Record<'_> {
    let ring = Layout { control: at, slots: at + CONTROL, count: shape.count, size: SLOT, full: shape.full };
    let id = if detail.text { id | WITH_TEXT } else { id };
    let id = if detail.caller { id | WITH_CALLER } else { id };
    Record { ring, id, key: ThreadKey::Rdfsbase, rdtscp: true, fields }
}
