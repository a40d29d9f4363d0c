//! Rules: on which hits of breakpoints the kernel acts, and the numbers that it compares and sums up there.

use crate::site::{Base, Relation};

/// Clauses of a rule at most.
pub const MOST_CLAUSES: usize = 64;
/// Rules of a session at most.
pub const MOST_RULES: usize = 1024;
/// Aggregates of a session at most.
pub const MOST_AGGREGATES: usize = 16;
/// Values of an aggregate's key at most.
pub const MOST_KEYS: usize = 4;
/// Bytes of the rows of an aggregate at most.
pub const MOST_BYTES: usize = 4 << 20;

/// Words of a rule's limits: number of the first hits without actions; of the others, each of this number has actions; hits with actions at most;
/// hits with actions at most within a period; the period in nanoseconds. A 0 is no limit.
pub const LIMITS: usize = 5;
/// Words of an aggregate's histogram: a kind of [`buckets`]; first value, width and number of the buckets of one width, else 0.
pub const HISTOGRAM: usize = 4;

/// Histograms of an aggregate's rows.
pub mod buckets {
    /// There is none.
    pub const NONE: u64 = 0;
    /// 65 buckets: zero, and from each power of two to the next.
    pub const LOG2: u64 = 1;
    /// Buckets of one width. The first bucket has all smaller values, and the last one all larger ones.
    pub const LINEAR: u64 = 2;
}

/// A number that a thread has at a hit, in two words.
///
/// | word | content |
/// |---|---|
/// | 0 | bits 0 to 15: a register (1), memory (2), the number of hits (3), the address of the breakpoint (4), the thread's number (5), the number of the process (6); 16 to 31: register, or base register of the memory; 32 to 47: bytes, 1, 2, 4 or 8; 48 to 63: base of the memory as in [`Site`](crate::site::Site) |
/// | 1 | offset of the memory from its base |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// The lowest bytes of a register.
    Register {
        /// The index of its word in the reply to `registers`.
        number: u16,
        /// Bytes: 1, 2, 4 or 8.
        size: u8,
    },
    /// Memory. Breakpoint instructions in it have their original bytes.
    Memory {
        /// Base of the address.
        base: Base,
        /// Offset from the base in bytes; the sum wraps.
        offset: u64,
        /// Bytes: 1, 2, 4 or 8.
        size: u8,
    },
    /// The number of hits of the breakpoint, including this one.
    Hits,
    /// The address of the breakpoint.
    Address,
    /// The thread's number.
    Thread,
    /// The session's number for the process.
    Debuggee,
}

impl Value {
    /// Words of a value.
    pub const WORDS: usize = 2;

    /// Number of bytes.
    pub const fn size(self) -> u8 {
        match self {
            Value::Register { size, .. } | Value::Memory { size, .. } => size,
            _ => 8,
        }
    }

    /// The value as words.
    pub const fn words(self) -> [u64; Value::WORDS] {
        match self {
            Value::Register { number, size } => [1 | (number as u64) << 16 | (size as u64) << 32, 0],
            Value::Memory { base, offset, size } => {
                let (base, number) = base.numbers();
                [2 | (number as u64) << 16 | (size as u64) << 32 | base << 48, offset]
            }
            Value::Hits => [3, 0],
            Value::Address => [4, 0],
            Value::Thread => [5, 0],
            Value::Debuggee => [6, 0],
        }
    }

    /// The value that words describe; `None` if they describe none.
    pub const fn from_words(words: [u64; Value::WORDS]) -> Option<Value> {
        let [what, offset] = words;
        let (kind, number, size, base) = (what as u16, (what >> 16) as u16, (what >> 32) as u16, what >> 48);
        match (kind, size) {
            (1, 1 | 2 | 4 | 8) if base == 0 && offset == 0 => Some(Value::Register { number, size: size as u8 }),
            (2, 1 | 2 | 4 | 8) => match Base::from_numbers(base, number) {
                Some(base) => Some(Value::Memory { base, offset, size: size as u8 }),
                None => None,
            },
            _ => match (what, offset) {
                (3, 0) => Some(Value::Hits),
                (4, 0) => Some(Value::Address),
                (5, 0) => Some(Value::Thread),
                (6, 0) => Some(Value::Debuggee),
                _ => None,
            },
        }
    }
}

/// A comparison of a value with a constant, in four words.
///
/// | word | content |
/// |---|---|
/// | 0, 1 | the value |
/// | 2 | bits 0 to 15: relation; bit 16: another alternative begins |
/// | 3 | right side, as many bytes as the value has: a signed one has its sign in all bits above |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Whether another alternative begins with this clause. A filter holds if all clauses of one of its alternatives do.
    pub begins: bool,
    /// The left side.
    pub value: Value,
    /// The comparison. Its signed relations take as many bytes as the value has for a signed number.
    pub relation: Relation,
    /// The right side.
    pub right: u64,
}

impl Clause {
    /// Words of a clause.
    pub const WORDS: usize = 4;
    /// Bytes of a clause.
    pub const BYTES: usize = 8 * Clause::WORDS;

    /// The clause as words.
    pub const fn words(&self) -> [u64; Clause::WORDS] {
        let [what, offset] = self.value.words();
        [what, offset, self.relation as u64 | (self.begins as u64) << 16, self.right]
    }

    /// The clause that words describe; `None` if they describe none.
    pub fn from_words(words: [u64; Clause::WORDS]) -> Option<Clause> {
        let [what, offset, how, right] = words;
        let value = Value::from_words([what, offset])?;
        let relation = *Relation::ALL.get(usize::from(how as u16))?;
        (how >> 17 == 0).then_some(Clause { begins: how >> 16 & 1 != 0, value, relation, right })
    }

    /// Whether the clause holds for the value's number.
    pub const fn holds(&self, number: u64) -> bool {
        let unused = 64_u32.wrapping_sub(8 * self.value.size() as u32) & 63;
        let number = match self.relation {
            Relation::Less | Relation::NotLess => ((number << unused) as i64 >> unused) as u64,
            _ => number << unused >> unused,
        };
        self.relation.holds(number, self.right)
    }
}

/// Whether a filter holds: all clauses of one of its alternatives do. A filter without a clause holds. A clause whose value cannot be read does not
/// hold.
pub fn holds(clauses: &[Clause], mut number: impl FnMut(Value) -> Option<u64>) -> bool {
    let mut all = true;
    for (index, clause) in clauses.iter().enumerate() {
        if clause.begins && index > 0 {
            if all {
                return true;
            }
            all = true;
        }
        all = all && number(clause.value).is_some_and(|number| clause.holds(number));
    }
    all
}
