//! Breakpoints as records of words.

use crate::{Failure, Status};

/// What happens to a thread at a breakpoint; all else passes it.
pub mod action {
    /// An event is written.
    pub const RECORD: u16 = 1;
    /// The thread is held, and an event tells of it.
    pub const HOLD: u16 = 2;
    /// With [`RECORD`]: the event has the registers.
    pub const REGISTERS: u16 = 4;
    /// All bits that mean something.
    pub const ALL: u16 = RECORD | HOLD | REGISTERS;
}

/// How two numbers compare, both without a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They are the same.
    Equal,
    /// They are not.
    NotEqual,
    /// The first is smaller.
    Below,
    /// The first is not smaller.
    NotBelow,
    /// The first has all bits of the second.
    AllOf,
    /// The first has some bit of the second.
    AnyOf,
}

impl Relation {
    /// In the order of their numbers, from 0.
    pub const ALL: [Relation; 6] =
        [Relation::Equal, Relation::NotEqual, Relation::Below, Relation::NotBelow, Relation::AllOf, Relation::AnyOf];

    /// Whether it holds.
    pub const fn holds(self, first: u64, second: u64) -> bool {
        match self {
            Relation::Equal => first == second,
            Relation::NotEqual => first != second,
            Relation::Below => first < second,
            Relation::NotBelow => first >= second,
            Relation::AllOf => first & second == second,
            Relation::AnyOf => first & second != 0,
        }
    }
}

/// The number that a condition looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A register, by its word in what `registers` gives.
    Register(u16),
    /// So many bytes of memory at an address; the condition does not hold where they cannot be read.
    Memory {
        /// The address.
        address: u64,
        /// 1, 2, 4 or 8.
        size: u16,
    },
    /// The hits so far, this one included.
    Hits,
}

/// One simple comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What is looked at.
    pub subject: Subject,
    /// How it compares with the value.
    pub relation: Relation,
    /// The value.
    pub value: u64,
}

/// What an address of memory is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The stack pointer.
    Stack,
    /// 0.
    Zero,
    /// A register, by its word in what `registers` gives; memory at one that is not there is left out.
    Register(u16),
}

/// Memory that an event has: as many of its bytes as can be read, up to the first that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What its address is counted from.
    pub base: Base,
    /// What is added to that, wrapping.
    pub offset: u64,
    /// Bytes, at most [`Memory::MOST`].
    pub size: u16,
}

impl Memory {
    /// None.
    pub const NONE: Memory = Memory::stack(0);
    /// The most bytes.
    pub const MOST: u16 = 4096;

    /// So many bytes from the stack pointer on.
    pub const fn stack(size: u16) -> Memory {
        Memory { base: Base::Stack, offset: 0, size }
    }
}

/// A breakpoint: six words in the blob of `insert`.
///
/// | word | what |
/// |---|---|
/// | 0 | its address |
/// | 1 | bits 0 to 15: [`action`]s; 16 to 31: the register that memory is counted from, else 0; 32 to 47: bytes of memory that an event has, at most 4096; 48 to 63: they are counted from the stack pointer (0), 0 (1), the register (2) |
/// | 2 | bits 0 to 15: no condition (0), or one on a register (1), memory (2), the hits (3); 16 to 31: the relation; 32 to 47: the register, or the size |
/// | 3 | the address of memory, else 0 |
/// | 4 | the value to compare with |
/// | 5 | what is added to what memory is counted from |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Where.
    pub address: u64,
    /// Bits of [`action`].
    pub actions: u16,
    /// Memory that an event has.
    pub memory: Memory,
    /// When it acts; it counts always.
    pub condition: Option<Condition>,
}

impl Site {
    /// Words of a record.
    pub const WORDS: usize = 6;
    /// Bytes of a record.
    pub const BYTES: usize = 8 * Site::WORDS;

    /// The record.
    pub fn words(&self) -> [u64; Site::WORDS] {
        let (condition, at, value) = self.condition.map_or((0, 0, 0), |condition| {
            let (kind, extra, at) = match condition.subject {
                Subject::Register(number) => (1, number, 0),
                Subject::Memory { address, size } => (2, size, address),
                Subject::Hits => (3, 0, 0),
            };
            (kind | (condition.relation as u64) << 16 | u64::from(extra) << 32, at, condition.value)
        });
        let Memory { base, offset, size } = self.memory;
        let (base, number) = match base {
            Base::Stack => (0, 0),
            Base::Zero => (1, 0),
            Base::Register(number) => (2, number),
        };
        let what = u64::from(self.actions) | u64::from(number) << 16 | u64::from(size) << 32 | base << 48;
        [self.address, what, condition, at, value, offset]
    }

    /// The bytes of the record.
    pub fn bytes(&self) -> [u8; Site::BYTES] {
        let mut bytes = [0; Site::BYTES];
        for (to, word) in bytes.chunks_exact_mut(8).zip(self.words()) {
            for (to, byte) in to.iter_mut().zip(word.to_ne_bytes()) {
                *to = byte;
            }
        }
        bytes
    }

    /// The site of a record's bytes.
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

    /// The site of a record.
    ///
    /// # Errors
    /// [`Status::Value`] with the number of the first word that has no such value.
    pub fn from_words(words: &[u64; Site::WORDS]) -> Result<Site, Failure> {
        let [address, what, condition, at, value, offset] = *words;
        let wrong = |word| Failure::new(Status::Value, word);
        let (actions, number, size) = (what as u16, (what >> 16) as u16, (what >> 32) as u16);
        let base = match (what >> 48, number) {
            (0, 0) => Base::Stack,
            (1, 0) => Base::Zero,
            (2, number) => Base::Register(number),
            _ => return Err(wrong(1)),
        };
        if actions & !action::ALL != 0 || size > Memory::MOST {
            return Err(wrong(1));
        }
        let condition = if condition == 0 { None } else { Some(test(condition, at, value).ok_or(wrong(2))?) };
        let at_is_used = matches!(condition, Some(Condition { subject: Subject::Memory { .. }, .. }));
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
