//! An arena: its header, its slots and entries by number.

use core::fmt;

use super::entry::{Entry, Stored};
use super::layout::{ENTRY_SIZE, Layout, MAGIC, VERSION, header};
use super::memory::{Inaccessible, Memory};

/// The number of an entry and of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u32);

/// Why an operation on the table failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The memory cannot be accessed.
    Inaccessible(Inaccessible),
    /// All entries are in use.
    Full,
    /// The arena holds an impossible value: the program wrote to it.
    Corrupt {
        /// Offset from the arena's start in bytes.
        offset: u64,
    },
}

impl From<Inaccessible> for Error {
    fn from(inaccessible: Inaccessible) -> Error {
        Error::Inaccessible(inaccessible)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Inaccessible(at) => write!(f, "arena not accessible at offset {:#x}", at.offset),
            Error::Full => f.write_str("arena full"),
            Error::Corrupt { offset } => write!(f, "arena corrupt at offset {offset:#x}"),
        }
    }
}

impl core::error::Error for Error {}

/// One arena. The back end supplies address and layout; they are never read from the memory.
#[derive(Clone, Debug)]
pub struct Arena<M> {
    pub(super) memory: M,
    pub(super) base: u64,
    pub(super) layout: Layout,
}

impl<M: Memory> Arena<M> {
    /// Makes an arena at address `base` in zeroed memory, for code of `architecture` (ELF's `e_machine`). `gate` is the code of a system call
    /// instruction.
    ///
    /// # Errors
    /// The memory is too small.
    pub fn create(memory: M, base: u64, layout: Layout, architecture: u32, gate: [u8; 8]) -> Result<Arena<M>, Error> {
        let mut arena = Arena { memory, base, layout };
        arena.memory.write(header::MAGIC, &MAGIC)?;
        arena.write_u32(header::VERSION, VERSION)?;
        arena.write_u32(header::ARCHITECTURE, architecture)?;
        arena.write_u32(header::CAPACITY, layout.capacity())?;
        arena.write_u32(header::INDEX_LENGTH, layout.index_length())?;
        arena.memory.write(header::GATE, &gate)?;
        Ok(arena)
    }

    /// Opens an arena that was made before. Whatever its memory contains now, results are bounded by the layout.
    pub const fn open(memory: M, base: u64, layout: Layout) -> Arena<M> {
        Arena { memory, base, layout }
    }

    /// The arena's memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }
    /// The arena's memory, for changes.
    pub fn memory_mut(&mut self) -> &mut M {
        &mut self.memory
    }
    /// The address of the arena in the debuggee.
    pub fn base(&self) -> u64 {
        self.base
    }
    /// The layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }
    /// The address of the system call instruction.
    pub fn gate(&self) -> u64 {
        self.base + header::GATE
    }
    /// Whether `address` lies in the arena.
    pub fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.layout.size()
    }
    /// Number of entries in use.
    ///
    /// # Errors
    /// The memory cannot be read.
    pub fn count(&self) -> Result<u32, Error> {
        self.read_u32(header::COUNT)
    }
    /// Number of entries ever used; entries from this number on are free.
    ///
    /// # Errors
    /// The memory cannot be read.
    pub fn high_water(&self) -> Result<u32, Error> {
        Ok(self.read_u32(header::HIGH_WATER)?.min(self.layout.capacity()))
    }
    /// Whether [`Arena::insert`] would fail with [`Error::Full`].
    ///
    /// # Errors
    /// The memory cannot be read.
    pub fn is_full(&self) -> Result<bool, Error> {
        Ok(self.read_u32(header::FREE)? == 0 && self.high_water()? == self.layout.capacity())
    }

    /// The address of a slot.
    #[inline]
    pub fn slot(&self, number: Number) -> u64 {
        self.base.wrapping_add(self.layout.slot(number.0))
    }

    /// The slot that contains `pc`, and the offset in it in bytes.
    pub fn slot_at(&self, pc: u64) -> Option<(Number, u8)> {
        let (number, offset) = self.layout.slot_at(pc.checked_sub(self.base)?)?;
        Some((Number(number), offset))
    }

    /// The entry with the given number.
    ///
    /// # Errors
    /// The number is too large, or the memory cannot be read.
    pub fn entry(&self, number: Number) -> Result<Entry, Error> {
        Ok(self.stored(self.check(number)?)?.entry())
    }

    /// The stored entry of a number that was checked.
    #[inline]
    pub(super) fn stored(&self, number: Number) -> Result<Stored, Inaccessible> {
        let mut stored = Stored([0; ENTRY_SIZE as usize]);
        self.memory.read(self.layout.entry(number.0), &mut stored.0)?;
        Ok(stored)
    }

    /// Replaces an entry that [`Arena::insert`] made. The site must stay the same.
    ///
    /// # Errors
    /// The number is too large, or the memory cannot be written.
    pub fn set_entry(&mut self, number: Number, entry: &Entry) -> Result<(), Error> {
        let offset = self.layout.entry(self.check(number)?.0);
        Ok(self.memory.write(offset, &entry.encode())?)
    }

    pub(super) fn check(&self, number: Number) -> Result<Number, Error> {
        if number.0 < self.layout.capacity() { Ok(number) } else { Err(Error::Corrupt { offset: self.layout.size() }) }
    }

    #[inline]
    pub(super) fn read_u32(&self, offset: u64) -> Result<u32, Error> {
        let mut raw = [0; 4];
        self.memory.read(offset, &mut raw)?;
        Ok(u32::from_le_bytes(raw))
    }

    pub(super) fn write_u32(&mut self, offset: u64, value: u32) -> Result<(), Error> {
        Ok(self.memory.write(offset, &value.to_le_bytes())?)
    }
}
