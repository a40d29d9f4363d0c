//! Breakpoints as records of words.

use crate::{Failure, Status};

/// What happens to a thread at a breakpoint; all else passes it.
pub mod action {
    /// An event is written.
    pub const RECORD: u32 = 1;
    /// The thread is held, and an event tells of it.
    pub const HOLD: u32 = 2;
    /// With [`RECORD`]: the event has the registers.
    pub const REGISTERS: u32 = 4;
    /// All bits that mean something.
    pub const ALL: u32 = RECORD | HOLD | REGISTERS;
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

/// A breakpoint: six words in the blob of `insert`.
///
/// | word | what |
/// |---|---|
/// | 0 | its address |
/// | 1 | bits 0 to 31: [`action`]s; bits 32 to 63: bytes of the stack that an event has, at most 4096 |
/// | 2 | bits 0 to 15: no condition (0), or one on a register (1), memory (2), the hits (3); 16 to 31: the relation; 32 to 47: the register, or the size |
/// | 3 | the address of memory, else 0 |
/// | 4 | the value to compare with |
/// | 5 | 0 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Where.
    pub address: u64,
    /// Bits of [`action`].
    pub actions: u32,
    /// Bytes of the stack that an event has.
    pub stack: u32,
    /// When it acts; it counts always.
    pub condition: Option<Condition>,
}

impl Site {
    /// Words of a record.
    pub const WORDS: usize = 6;
    /// Bytes of a record.
    pub const BYTES: usize = 8 * Site::WORDS;
    /// The most bytes of the stack that an event has.
    pub const MOST_STACK: u32 = 4096;

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
        [self.address, u64::from(self.actions) | u64::from(self.stack) << 32, condition, at, value, 0]
    }

    /// The bytes of the record.
    pub fn bytes(&self) -> [u8; Site::BYTES] {
        let mut bytes = [0; Site::BYTES];
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(self.words()) {
            *to = word.to_ne_bytes();
        }
        bytes
    }

    /// The site of a record.
    ///
    /// # Errors
    /// [`Status::Value`] with the number of the first word that has no such value.
    pub fn from_words(words: &[u64; Site::WORDS]) -> Result<Site, Failure> {
        let [address, what, condition, at, value, rest] = *words;
        let wrong = |word| Failure::new(Status::Value, word);
        let (actions, stack) = (what as u32, (what >> 32) as u32);
        if actions & !action::ALL != 0 || stack > Site::MOST_STACK {
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
        if rest != 0 {
            return Err(wrong(5));
        }
        Ok(Site { address, actions, stack, condition })
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

/// The sites of a blob, each with what is wrong with it; nothing where the blob is no whole number of records.
pub fn sites(blob: &[u8]) -> Option<impl ExactSizeIterator<Item = Result<Site, Failure>> + '_> {
    let (records, []) = blob.as_chunks::<{ Site::BYTES }>() else { return None };
    Some(records.iter().map(|record| {
        let mut words = [0; Site::WORDS];
        for (word, bytes) in words.iter_mut().zip(record.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        Site::from_words(&words)
    }))
}
