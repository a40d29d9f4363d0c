//! Breakpoints as records of six words.

use crate::{Failure, Status};

/// Actions at a hit, as bits. Every hit is counted, whatever the actions.
pub mod action {
    /// An event `hit` is sent.
    pub const RECORD: u16 = 1;
    /// The thread is held and an event `held` is sent.
    pub const HOLD: u16 = 2;
    /// With [`RECORD`]: the event contains the registers.
    pub const REGISTERS: u16 = 4;
    /// All defined bits.
    pub const ALL: u16 = RECORD | HOLD | REGISTERS;
}

/// A comparison of two numbers, which are unsigned unless the relation says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Relation {
    /// The numbers are equal.
    Equal,
    /// The numbers differ.
    NotEqual,
    /// The first is smaller.
    Below,
    /// The first is not smaller.
    NotBelow,
    /// The first has all bits of the second.
    AllOf,
    /// The first has some bit of the second.
    AnyOf,
    /// The first is smaller; both are signed.
    Less,
    /// The first is not smaller; both are signed.
    NotLess,
}

impl Relation {
    /// All relations, in the order of their numbers from 0.
    pub const ALL: [Relation; 8] = [
        Relation::Equal,
        Relation::NotEqual,
        Relation::Below,
        Relation::NotBelow,
        Relation::AllOf,
        Relation::AnyOf,
        Relation::Less,
        Relation::NotLess,
    ];

    /// Whether the relation holds.
    pub const fn holds(self, first: u64, second: u64) -> bool {
        match self {
            Relation::Equal => first == second,
            Relation::NotEqual => first != second,
            Relation::Below => first < second,
            Relation::NotBelow => first >= second,
            Relation::AllOf => first & second == second,
            Relation::AnyOf => first & second != 0,
            Relation::Less => (first as i64) < second as i64,
            Relation::NotLess => first as i64 >= second as i64,
        }
    }
}

/// The number that a condition looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A register, by the index of its word in the reply to `registers`.
    Register(u16),
    /// Memory. The condition does not hold if it cannot be read.
    Memory {
        /// Address of the first byte.
        address: u64,
        /// Bytes: 1, 2, 4 or 8.
        size: u16,
    },
    /// The number of hits so far, including this one.
    Hits,
    /// A rule of the session ([`crate::rule`]): the condition holds if the rule acts on the hit. Its number is [`Condition::value`], and the relation
    /// is [`Relation::Equal`]. The condition does not hold if there is no such rule.
    Rule {
        /// The number from which `taken` counts on.
        taken: u64,
    },
}

/// A condition for the actions of a breakpoint: one comparison with a constant, or a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The left side.
    pub subject: Subject,
    /// The comparison.
    pub relation: Relation,
    /// The right side.
    pub value: u64,
}

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The stack pointer.
    Stack,
    /// The address 0.
    Zero,
    /// A register, by the index of its word in the reply to `registers`. If the thread has no such register, the event has no memory.
    Register(u16),
}

/// Memory that an event contains, up to the first byte that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// Base of the address.
    pub base: Base,
    /// Offset from the base in bytes; the sum wraps.
    pub offset: u64,
    /// Number of bytes, at most [`Memory::MOST`].
    pub size: u16,
}

impl Base {
    /// The kind of the base, and the number of its register.
    pub(crate) const fn numbers(self) -> (u64, u16) {
        match self {
            Base::Stack => (0, 0),
            Base::Zero => (1, 0),
            Base::Register(number) => (2, number),
        }
    }

    pub(crate) const fn from_numbers(kind: u64, number: u16) -> Option<Base> {
        match (kind, number) {
            (0, 0) => Some(Base::Stack),
            (1, 0) => Some(Base::Zero),
            (2, number) => Some(Base::Register(number)),
            _ => None,
        }
    }
}

impl Memory {
    /// No memory.
    pub const NONE: Memory = Memory::stack(0);
    /// The largest number of bytes.
    pub const MOST: u16 = 4096;

    /// `size` bytes from `base` plus `offset` on.
    pub const fn new(base: Base, offset: u64, size: u16) -> Memory {
        Memory { base, offset, size }
    }

    /// `size` bytes from the stack pointer on.
    pub const fn stack(size: u16) -> Memory {
        Memory::new(Base::Stack, 0, size)
    }
}

/// A breakpoint: a record of six words in the blob of `insert`. Unused words and bits are 0.
///
/// | word | content |
/// |---|---|
/// | 0 | address |
/// | 1 | bits 0 to 15: [`action`]s; 16 to 31: base register of the event's memory; 32 to 47: bytes of memory in the event, at most 4096; 48 to 63: base of that memory: stack pointer (0), zero (1), register (2) |
/// | 2 | bits 0 to 15: no condition (0), or a condition on a register (1), memory (2), the number of hits (3), or a rule (4); 16 to 31: relation; 32 to 47: register, or bytes of memory |
/// | 3 | address of the condition's memory, or the number from which the hits are counted that the rule takes |
/// | 4 | value that the condition compares with, or the number of the rule |
/// | 5 | offset of the event's memory from its base |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Address of the instruction.
    pub address: u64,
    /// Bits of [`action`].
    pub actions: u16,
    /// Memory that events contain.
    pub memory: Memory,
    /// Condition for the actions. Hits are counted even if it does not hold.
    pub condition: Option<Condition>,
}

/// The number of a condition that is a rule.
const RULE: u16 = 4;

impl Site {
    /// Words of a record with all that is counted.
    pub const COUNTS: usize = 4;
    /// The offset in bytes of the number of hits that the breakpoint's rule took, in a record.
    pub const TAKEN: u64 = 24;
    /// Words in a record.
    pub const WORDS: usize = 6;
    /// Bytes in a record.
    pub const BYTES: usize = 8 * Site::WORDS;

    /// The number of the breakpoint's rule, if it has one.
    pub fn rule(&self) -> Option<u64> {
        self.condition
            .filter(|condition| matches!(condition.subject, Subject::Rule { .. }))
            .map(|condition| condition.value)
    }

    /// What the kernel has counted in a record, of which this is the beginning: hits, and the hits that the breakpoint's rule took, or all bits
    /// set if it has no rule.
    pub const fn counts(record: &[u64; Site::COUNTS]) -> [u64; 2] {
        let [hits, _, condition, taken] = *record;
        [hits, if condition as u16 == RULE { taken } else { u64::MAX }]
    }

    /// The record as words.
    pub fn words(&self) -> [u64; Site::WORDS] {
        let (condition, at, value) = self.condition.map_or((0, 0, 0), |condition| {
            let (kind, extra, at) = match condition.subject {
                Subject::Register(number) => (1, number, 0),
                Subject::Memory { address, size } => (2, size, address),
                Subject::Hits => (3, 0, 0),
                Subject::Rule { taken } => (RULE as u64, 0, taken),
            };
            (kind | (condition.relation as u64) << 16 | u64::from(extra) << 32, at, condition.value)
        });
        let Memory { base, offset, size } = self.memory;
        let (base, number) = base.numbers();
        let what = u64::from(self.actions) | u64::from(number) << 16 | u64::from(size) << 32 | base << 48;
        [self.address, what, condition, at, value, offset]
    }

    /// The record as bytes, in the byte order of the machine.
    pub fn bytes(&self) -> [u8; Site::BYTES] {
        let mut bytes = [0; Site::BYTES];
        for (to, word) in bytes.chunks_exact_mut(8).zip(self.words()) {
            for (to, byte) in to.iter_mut().zip(word.to_ne_bytes()) {
                *to = byte;
            }
        }
        bytes
    }

    /// The breakpoint that a record's bytes describe.
    ///
    /// # Errors
    /// As [`Site::from_words`].
    pub fn from_bytes(record: &[u8; Site::BYTES]) -> Result<Site, Failure> {
        let mut words = [0; Site::WORDS];
        for (word, bytes) in words.iter_mut().zip(record.chunks_exact(8)) {
            *word = bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        }
        Site::from_words(&words)
    }

    /// The breakpoint that a record describes.
    ///
    /// # Errors
    /// [`Status::Value`] with the index of the first word that has an undefined value.
    pub fn from_words(words: &[u64; Site::WORDS]) -> Result<Site, Failure> {
        let [address, what, condition, at, value, offset] = *words;
        let wrong = |word| Failure::new(Status::Value, word);
        let (actions, number, size) = (what as u16, (what >> 16) as u16, (what >> 32) as u16);
        let Some(base) = Base::from_numbers(what >> 48, number) else { return Err(wrong(1)) };
        if actions & !action::ALL != 0 || size > Memory::MOST {
            return Err(wrong(1));
        }
        let condition = if condition == 0 { None } else { Some(test(condition, at, value).ok_or(wrong(2))?) };
        let at_is_used =
            matches!(condition, Some(Condition { subject: Subject::Memory { .. } | Subject::Rule { .. }, .. }));
        if at != 0 && !at_is_used {
            return Err(wrong(3));
        }
        if value != 0 && condition.is_none() {
            return Err(wrong(4));
        }
        Ok(Site { address, actions, memory: Memory { base, offset, size }, condition })
    }
}

fn test(word: u64, address: u64, value: u64) -> Option<Condition> {
    let (kind, relation, extra) = (word as u16, (word >> 16) as u16, (word >> 32) as u16);
    let subject = match (kind, extra, word >> 48) {
        (1, number, 0) => Subject::Register(number),
        (2, size @ (1 | 2 | 4 | 8), 0) => Subject::Memory { address, size },
        (3, 0, 0) => Subject::Hits,
        (RULE, 0, 0) if relation == 0 => Subject::Rule { taken: address },
        _ => return None,
    };
    let relation = *Relation::ALL.get(usize::from(relation))?;
    Some(Condition { subject, relation, value })
}

/// The records of a blob; `None` if its length is not a multiple of [`Site::BYTES`].
pub fn records(blob: &[u8]) -> Option<Records<'_>> {
    (blob.len() % Site::BYTES == 0).then_some(Records(blob))
}

/// The records of a blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Records<'a>(&'a [u8]);

impl<'a> Records<'a> {
    /// Number of records.
    pub const fn len(self) -> usize {
        self.0.len() / Site::BYTES
    }

    /// Whether there is no record.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The records in their order, each as [`Site::from_bytes`] takes it.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8; Site::BYTES]> {
        self.0.chunks_exact(Site::BYTES).filter_map(|record| record.first_chunk())
    }
}
