//! One slot of a ring: the record of one hit.

use insn::x86::Reg;
use trampoline::x86::{Field, Memory, Record, Ring, ThreadKey};

use super::Shared;
use crate::record::{ARGUMENTS, TEXT, Text};

/// Words before the fields, of the arguments and the caller, of the text behind one argument and all, and of the registers before the stack.
const HEAD: usize = 5;
const PLAIN: usize = ARGUMENTS + 1;
const TEXT_WORDS: usize = TEXT / 8;
const TEXTS: usize = ARGUMENTS * TEXT_WORDS;
const REGISTERS: usize = 16;
/// Words of a slot without a stack.
const WORDS: usize = 64;
/// The most bytes of a stack.
const MOST_STACK: u16 = 1 << 15;
/// Bits of a record's number that tell what it has: six of them tell the arguments with text.
const TEXT_BIT: u32 = 22;
const WITH_CALLER: u32 = 1 << 29;
const WITH_STACK: u32 = 1 << 28;
/// The number of sites from which on no further jump records. A record has 22 bits for the number of a site, and one jump adds at most 11 sites.
pub(in crate::ptrace) const SITES: usize = (1 << TEXT_BIT) - 16;
/// The number of a record that the reader ignores; no site has it.
pub(super) const NOBODY: u32 = u32::MAX;

/// What a record holds besides arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::ptrace) struct Detail {
    /// The arguments at which there is text, as in [`Spec::text`](crate::Spec::text).
    pub(in crate::ptrace) text: u8,
    /// The return address, which lies in the program's memory.
    pub(in crate::ptrace) caller: bool,
    /// All general registers, and the stack.
    pub(in crate::ptrace) stack: bool,
}

impl Detail {
    /// The number of instructions that read the program's memory.
    pub(in crate::ptrace) fn reads(self) -> usize {
        TEXT_WORDS * self.text.count_ones() as usize + usize::from(self.caller) + usize::from(self.stack)
    }
}

/// The words by which trampolines check memory, by their addresses.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Windows {
    /// The window of all user memory.
    pub(in crate::ptrace) all: u64,
    /// The window of memory that may be text.
    pub(in crate::ptrace) text: u64,
    /// The end of the initial thread's stack.
    pub(in crate::ptrace) stack_end: u64,
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
    pub(in crate::ptrace) stack: Option<Box<Stack>>,
}

/// The registers and the stack at a hit.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Stack {
    /// The general registers, by their numbers in instructions.
    pub(in crate::ptrace) registers: [u64; REGISTERS],
    /// The stack, from the stack pointer on.
    pub(in crate::ptrace) bytes: Box<[u8]>,
    /// Whether the room ended the copy.
    pub(in crate::ptrace) is_cut: bool,
}

/// The bytes of the stack for which a record has room, if a user asks for `asked` bytes.
pub(in crate::ptrace) fn stack_room(asked: u16) -> u16 {
    asked.min(MOST_STACK).next_multiple_of(8)
}

/// Bytes of a slot as a power of two.
pub(super) fn size(stack: u16) -> u8 {
    let words = if stack == 0 { WORDS } else { HEAD + PLAIN + TEXTS + REGISTERS + 1 + usize::from(stack) / 8 };
    (8 * words).next_power_of_two().ilog2() as u8
}

/// Copies the slot at an offset, as far as its record uses it.
pub(super) fn copy(memory: &Shared, at: usize, stack: u16, words: &mut Vec<u64>) {
    words.clear();
    words.resize(HEAD + PLAIN + TEXTS + if stack == 0 { 0 } else { REGISTERS + 1 }, 0);
    memory.copy(at, words);
    if let Some((start, count)) = stack_of(words, stack) {
        let there = words.len();
        words.resize(there.max(start + count), 0);
        memory.copy(at + 8 * there, words.get_mut(there..).unwrap_or_default());
    }
}

/// The arguments with text, by a record's number.
fn texts_of(id: u32) -> u8 {
    (id >> TEXT_BIT) as u8 & ((1 << ARGUMENTS) - 1)
}

/// The place of the stack in a slot, and its number of words. `None`: it has none.
fn stack_of(words: &[u64], room: u16) -> Option<(usize, usize)> {
    let id = *words.get(1)? as u32;
    if id == NOBODY || id & WITH_STACK == 0 || room == 0 {
        return None;
    }
    let start = HEAD + PLAIN + TEXT_WORDS * texts_of(id).count_ones() as usize + REGISTERS + 1;
    // The debuggee may have written anything there.
    let count = (*words.get(start - 1)?).min(u64::from(room) / 8);
    Some((start, count as usize))
}

/// What the words of a slot say. `None`: nobody reads the record.
pub(super) fn entry(words: &[u64], room: u16) -> Option<Entry> {
    let ([_, head, ticks, key, _], rest) = words.split_first_chunk::<HEAD>()?;
    let (id, readable) = (*head as u32, (head >> 32) as u32);
    let (arguments, rest) = rest.split_first_chunk::<ARGUMENTS>()?;
    let ([caller], rest) = rest.split_first_chunk()?;
    let text = (texts_of(id) != 0).then(|| {
        let mut texts = Box::new([Text::NONE; ARGUMENTS]);
        let recorded = texts.iter_mut().enumerate().filter(|(argument, _)| texts_of(id) >> argument & 1 != 0);
        for ((number, (_, text)), words) in recorded.enumerate().zip(rest.chunks(TEXT_WORDS)) {
            if readable >> (ARGUMENTS + 1 + number) & 1 != 0 {
                text.length = TEXT as u8;
                for (to, from) in text.bytes.iter_mut().zip(words.iter().flat_map(|word| word.to_le_bytes())) {
                    *to = from;
                }
            }
        }
        texts
    });
    let stack = stack_of(words, room).and_then(|(start, count)| {
        let registers = words.get(start.checked_sub(REGISTERS + 1)?..)?.first_chunk()?;
        let mut bytes = vec![0; 8 * count];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words.get(start..start + count)?) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        Some(Box::new(Stack { registers: *registers, bytes: bytes.into(), is_cut: 8 * count == room.into() }))
    });
    let caller = (id & WITH_CALLER != 0 && readable >> ARGUMENTS & 1 != 0).then_some(*caller);
    let known = id & ((1 << TEXT_BIT) - 1);
    let entry = Entry { id: known, ticks: *ticks, key: *key, arguments: *arguments, caller, text, stack };
    (id != NOBODY).then_some(entry)
}

/// The fields of a record with a stack of at most `stack` bytes.
pub(super) fn fields(detail: Detail, windows: Windows, stack: u16) -> Vec<Field> {
    const BASES: [u8; ARGUMENTS] = [7, 6, 2, 1, 8, 9];
    let mut fields: Vec<Field> = (0..ARGUMENTS as u8).map(Field::Argument).collect();
    fields.push(if detail.caller { Field::Return { window: windows.all } } else { Field::Argument(0) });
    let memory = |number| {
        let base = Some(Reg::gpr(number));
        Field::Memory(Memory { base, offset: 0, size: TEXT as u8, window: windows.text })
    };
    let with_text = BASES.into_iter().enumerate().filter(|(argument, _)| detail.text >> argument & 1 != 0);
    fields.extend(with_text.map(|(_, base)| memory(base)));
    if detail.stack && stack > 0 {
        fields.extend((0..REGISTERS as u8).map(|number| Field::Register(Reg::gpr(number))));
        fields.push(Field::Stack { size: stack, end: windows.stack_end });
    }
    fields
}

/// The record of the site with a number, into a ring.
pub(super) fn record(id: u32, detail: Detail, ring: Ring, fields: &[Field]) -> Record<'_> {
    let marks = [(detail.caller, WITH_CALLER), (detail.stack, WITH_STACK)];
    let text = u32::from(detail.text) << TEXT_BIT;
    let id = marks.iter().filter(|(has, _)| *has).fold(id | text, |id, (_, mark)| id | mark);
    Record { ring, id, key: ThreadKey::Rdfsbase, rdtscp: true, fields }
}
