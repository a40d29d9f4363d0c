//! Rings: where trampolines record hits, and the tracer reads them.

use std::collections::BTreeSet;
use std::sync::Arc;

use insn::x86::Reg;
use trampoline::x86::{Field, Memory, Record, Ring as Layout, ThreadKey, WhenFull};

use super::Shared;
use crate::record::{ARGUMENTS, TEXT, Text};

/// Slots of a ring, and bytes of a slot, as powers of two.
const COUNT: u8 = 14;
const SLOT: u8 = 9;
/// Bytes before the slots. The control words are 64 bytes apart.
const CONTROL: u64 = 4096;
const DONE: u64 = 64;
/// Words of a slot, before its fields, and of the text behind one argument.
const WORDS: usize = 1 << (SLOT - 3);
const TEXT_WORDS: usize = TEXT / 8;
/// Bits of a record's number that tell what it has.
const WITH_TEXT: u32 = 1 << 30;
const WITH_CALLER: u32 = 1 << 29;
/// The number of a record that the reader ignores; no site has it.
const NOBODY: u32 = u32::MAX;

/// Bytes of a ring.
pub(in crate::ptrace) const RING: u64 = CONTROL + (1 << (COUNT + SLOT));

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
    /// Number of records, from the first one on, that are read.
    done: u64,
    /// Numbers of records behind these that are read.
    ahead: BTreeSet<u64>,
}

impl Ring {
    pub(in crate::ptrace) fn new(memory: Shared) -> Ring {
        Ring { memory: Some(memory.into()), done: 0, ahead: BTreeSet::new() }
    }

    /// The ring in a forked child, to which it does not belong.
    pub(in crate::ptrace) fn of_maker() -> Ring {
        Ring { memory: None, done: 0, ahead: BTreeSet::new() }
    }

    /// Whether the ring belongs to the process.
    pub(in crate::ptrace) fn is_own(&self) -> bool {
        self.memory.is_some()
    }

    /// Reads all complete records. Those of one thread come in their order.
    pub(in crate::ptrace) fn read(&mut self) -> Vec<Entry> {
        // The debuggee may have written anything there.
        let Some(memory) = &self.memory else { return Vec::new() };
        let taken = memory.load(0).clamp(self.done, self.done + (1 << COUNT));
        let mut entries = Vec::new();
        for number in self.done + 1..=taken {
            if self.ahead.contains(&number) || memory.load(slot_of(number)) != number {
                continue;
            }
            let mut words = [0; WORDS];
            memory.copy(slot_of(number), &mut words);
            self.ahead.insert(number);
            entries.extend(entry(&words));
        }
        while self.ahead.remove(&(self.done + 1)) {
            self.done += 1;
        }
        memory.store(DONE as usize, self.done);
        entries
    }

    /// Makes the slot at this offset from the ring's beginning a complete record that nobody reads: its thread begins once more.
    pub(in crate::ptrace) fn give_up(&self, offset: u64) {
        let Some(memory) = &self.memory else { return };
        let Some(index) = offset.checked_sub(CONTROL).map(|offset| offset >> SLOT).filter(|index| index >> COUNT == 0)
        else {
            return;
        };
        let mask = (1 << COUNT) - 1;
        let number = self.done + (index.wrapping_sub(self.done) & mask) + 1;
        memory.store(slot_of(number) + 8, NOBODY.into());
        memory.store(slot_of(number), number);
    }
}

/// The offset of a record's slot in the ring.
fn slot_of(number: u64) -> usize {
    let index = number.wrapping_sub(1) & ((1 << COUNT) - 1);
    (CONTROL + (index << SLOT)) as usize
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
pub(in crate::ptrace) fn record(id: u32, detail: Detail, at: u64, fields: &[Field]) -> Record<'_> {
    let ring = Layout { control: at, slots: at + CONTROL, count: COUNT, size: SLOT, full: WhenFull::Stop };
    let id = if detail.text { id | WITH_TEXT } else { id };
    let id = if detail.caller { id | WITH_CALLER } else { id };
    Record { ring, id, key: ThreadKey::Rdfsbase, rdtscp: true, fields }
}
