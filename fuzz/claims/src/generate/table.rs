use arbitrary::Arbitrary;

/// What is done to a breakpoint table. Numbers are taken modulo what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Arbitrary)]
pub enum Change {
    /// Enters a site.
    Insert {
        /// Which.
        site: u8,
        /// Its instruction's bytes.
        bytes: [u8; 3],
    },
    /// Frees an entry.
    Release(u8),
    /// Marks an entry as one without a breakpoint, to be freed later.
    Retire(u8),
    /// Looks for a site.
    Find(u8),
    /// Somebody writes to the memory.
    Tamper {
        /// Where.
        offset: u16,
        /// What.
        value: u32,
    },
    /// Somebody writes a small number to a word of the index, a link or a count.
    Confuse {
        /// Which word.
        word: u16,
        /// What.
        value: u8,
    },
}

/// A table's life.
#[derive(Clone, Debug, PartialEq, Eq, Arbitrary)]
pub struct Session {
    /// How many entries it has, modulo what is allowed.
    pub capacity: u8,
    /// How far sites lie from each other.
    pub stride: u64,
    /// What the memory holds before.
    pub content: Vec<u8>,
    /// What happens.
    pub changes: Vec<Change>,
}
