use arbitrary::Arbitrary;

/// An operation on a breakpoint table. Numbers are taken modulo the number of existing objects.
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
    /// The debuggee writes to the memory.
    Tamper {
        /// Where.
        offset: u16,
        /// What.
        value: u32,
    },
    /// The debuggee writes a small number to a word of the index, a link or a count.
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
    /// The number of entries, modulo the number allowed.
    pub capacity: u8,
    /// The distance of the sites from each other.
    pub stride: u64,
    /// The memory's first contents.
    pub content: Vec<u8>,
    /// The operations.
    pub changes: Vec<Change>,
}
