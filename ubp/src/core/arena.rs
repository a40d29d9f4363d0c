//! An arena: its header, its slots and entries by number.

use core::fmt;

use super::entry::{Entry, Stored};
use super::layout::{ENTRY_SIZE, Layout, MAGIC, VERSION, header};
use super::memory::{Inaccessible, Memory};

/// The number of an entry and of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u32);

/// Why the table could not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The memory cannot be accessed.
    Inaccessible(Inaccessible),
    /// All entries are taken.
    Full,
    /// What stands there cannot be: somebody else wrote to the arena.
    Corrupt {
        /// Offset from the arena's start.
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

/// One arena. Address and layout are the back end's own knowledge, never read from the memory.
#[derive(Clone, Debug)]
pub struct Arena<M> {
    pub(super) memory: M,
    pub(super) base: u64,
    pub(super) layout: Layout,
}

impl<M: Memory> Arena<M> {
    /// Makes an arena in zeroed memory, for code of `architecture` (ELF's `e_machine`); `gate` enters the kernel.
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

    /// An arena that was made before. Whatever its memory holds by now, each answer is bounded by the layout.
    pub const fn open(memory: M, base: u64, layout: Layout) -> Arena<M> {
        Arena { memory, base, layout }
    }

    /// The memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }
    /// The memory.
    pub fn memory_mut(&mut self) -> &mut M {
        &mut self.memory
    }
    /// Where it begins in the debuggee.
    pub fn base(&self) -> u64 {
        self.base
    }
    /// Its parts.
    pub fn layout(&self) -> Layout {
        self.layout
    }
    /// Where the code lies that enters the kernel.
    pub fn gate(&self) -> u64 {
        self.base + header::GATE
    }
    /// Whether `address` lies in it.
    pub fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.layout.size()
    }
    /// Entries in use.
    ///
    /// # Errors
    /// The memory cannot be read.
    pub fn count(&self) -> Result<u32, Error> {
        self.read_u32(header::COUNT)
    }
    /// Entries that were ever used; numbers from there on are free.
    ///
    /// # Errors
    /// The memory cannot be read.
    pub fn high_water(&self) -> Result<u32, Error> {
        Ok(self.read_u32(header::HIGH_WATER)?.min(self.layout.capacity()))
    }
    /// Whether [`Arena::insert`] would find room.
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

    /// The slot that `pc` lies in, and how far in.
    pub fn slot_at(&self, pc: u64) -> Option<(Number, u8)> {
        let (number, offset) = self.layout.slot_at(pc.checked_sub(self.base)?)?;
        Some((Number(number), offset))
    }

    /// An entry.
    ///
    /// # Errors
    /// The number is too large, or the memory cannot be read.
    pub fn entry(&self, number: Number) -> Result<Entry, Error> {
        Ok(self.stored(self.check(number)?)?.entry())
    }

    /// The same, of a number that is not too large.
    #[inline]
    pub(super) fn stored(&self, number: Number) -> Result<Stored, Inaccessible> {
        let mut stored = Stored([0; ENTRY_SIZE as usize]);
        self.memory.read(self.layout.entry(number.0), &mut stored.0)?;
        Ok(stored)
    }

    /// Changes an entry that [`Arena::insert`] made, but not its site.
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
