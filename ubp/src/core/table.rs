//! Operations on the table: find, insert, release.

use stepping::SLOT_SIZE;

use super::arena::{Arena, Error, Number};
use super::entry::{Entry, State, Stored};
use super::index::Probe;
use super::layout::header;
use super::memory::Memory;

impl<M: Memory> Arena<M> {
    /// The entry of a site, in whatever state it is.
    ///
    /// # Errors
    /// The memory cannot be read, or is corrupt.
    pub fn find(&self, site: u64) -> Result<Option<(Number, Entry)>, Error> {
        match self.probe(site)? {
            Probe::Empty(_) => Ok(None),
            Probe::Found(_, number, stored) => Ok(Some((number, stored.entry()))),
        }
    }

    /// [`Arena::find`] without decoding, inlined for the path of a hit. Follows at most `budget` words of the index, and takes them off it.
    ///
    /// # Errors
    /// The errors of [`Arena::find`]. A search that has used up its budget ends as in a corrupt index.
    #[inline(always)]
    pub fn find_stored(&self, site: u64, budget: &mut u32) -> Result<Option<(Number, Stored)>, Error> {
        match self.probe_within(site, budget)? {
            Probe::Empty(_) => Ok(None),
            Probe::Found(_, number, stored) => Ok(Some((number, stored))),
        }
    }

    /// The number that the next [`Arena::insert`] uses. A slot can be assembled for its address beforehand.
    ///
    /// # Errors
    /// [`Error::Full`], or the memory cannot be read or is corrupt.
    pub fn next_number(&self) -> Result<Number, Error> {
        match self.read_u32(header::FREE)?.checked_sub(1) {
            Some(number) => self.check(Number(number)),
            None => {
                let number = self.read_u32(header::HIGH_WATER)?;
                if number < self.layout.capacity() { Ok(Number(number)) } else { Err(Error::Full) }
            }
        }
    }

    /// Adds a site with its slot. A retired or inactive entry of the same site is removed from the index, but not freed.
    ///
    /// # Errors
    /// [`Error::Full`], or the memory cannot be accessed or is corrupt.
    pub fn insert(&mut self, entry: &Entry, slot: &[u8; SLOT_SIZE]) -> Result<Number, Error> {
        let number = self.next_number()?;
        let free = self.read_u32(header::FREE)?;
        let at = match self.probe(entry.site)? {
            Probe::Empty(at) | Probe::Found(at, ..) => at,
        };
        if free == 0 {
            self.write_u32(header::HIGH_WATER, number.0 + 1)?;
        } else {
            let link = self.entry(number)?.site;
            let link = u32::try_from(link).ok().filter(|&link| link <= self.layout.capacity());
            self.write_u32(header::FREE, link.ok_or(Error::Corrupt { offset: self.layout.entry(number.0) })?)?;
        }
        self.memory.write(self.layout.slot(number.0), slot)?;
        self.set_entry(number, entry)?;
        self.set_word(at, Some(number))?;
        let count = self.count()?;
        self.write_u32(header::COUNT, count.saturating_add(1))?;
        Ok(number)
    }

    /// Rewrites a slot. No thread may be in it.
    ///
    /// # Errors
    /// The number is too large, or the memory cannot be written.
    pub fn set_slot(&mut self, number: Number, slot: &[u8; SLOT_SIZE]) -> Result<(), Error> {
        let offset = self.layout.slot(self.check(number)?.0);
        Ok(self.memory.write(offset, slot)?)
    }

    /// Frees an entry and its slot. No thread may be in the slot or enter it.
    ///
    /// # Errors
    /// The number is too large, or the memory cannot be accessed or is corrupt.
    pub fn release(&mut self, number: Number) -> Result<(), Error> {
        let entry = self.entry(number)?;
        if entry.state == State::Free {
            return Ok(());
        }
        match self.probe(entry.site)? {
            Probe::Found(at, found, _) if found == number => self.unlink(at)?,
            _ => {}
        }
        let next = self.read_u32(header::FREE)?;
        self.set_entry(number, &Entry::free(next))?;
        self.write_u32(header::FREE, number.0 + 1)?;
        let count = self.count()?;
        self.write_u32(header::COUNT, count.saturating_sub(1))
    }
}

#[cfg(all(test, feature = "std"))]
mod tests;
