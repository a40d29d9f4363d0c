//! The index from sites to entries: open addressing with linear probing.

use super::arena::{Arena, Error, Number};
use super::entry::Stored;
use super::memory::Memory;

/// Fibonacci hashing: the highest bits of the product are the well-mixed ones.
#[inline]
fn hash(site: u64, length: u32) -> u32 {
    let mixed = site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    ((mixed * u64::from(length)) >> 32) as u32
}

/// The most words of a chain that are followed: several times the longest chain of regularly spaced sites in a half-full index. A
/// longer chain, which only a hostile program can make, must not occupy a processor.
pub(super) const LONGEST: u32 = 1024;

/// The result of a probe.
pub(super) enum Probe {
    /// This index word names the entry of the site.
    Found(u32, Number, Stored),
    /// The site is not in the index; the chain ends at this empty word.
    Empty(u32),
}

impl<M: Memory> Arena<M> {
    #[inline]
    fn word_offset(&self, at: u32) -> u64 {
        self.layout.index() + 4 * u64::from(at)
    }

    #[inline]
    fn word(&self, at: u32) -> Result<Option<Number>, Error> {
        let value = self.read_u32(self.word_offset(at))?;
        match value.checked_sub(1) {
            None => Ok(None),
            Some(number) if number < self.layout.capacity() => Ok(Some(Number(number))),
            Some(_) => Err(Error::Corrupt { offset: self.word_offset(at) }),
        }
    }

    pub(super) fn set_word(&mut self, at: u32, number: Option<Number>) -> Result<(), Error> {
        let offset = self.word_offset(at);
        self.write_u32(offset, number.map_or(0, |number| number.0 + 1))
    }

    /// Looks for `site`. The chain ends at an empty word; at least half of an intact index is empty.
    #[inline(never)]
    pub(super) fn probe(&self, site: u64) -> Result<Probe, Error> {
        self.probe_within(site, &mut LONGEST.min(self.layout.index_length()))
    }

    /// [`Arena::probe`], inlined for the path of a hit. Follows at most `budget` words, and takes them off it.
    #[inline(always)]
    pub(super) fn probe_within(&self, site: u64, budget: &mut u32) -> Result<Probe, Error> {
        let length = self.layout.index_length();
        let mut at = hash(site, length);
        while *budget > 0 {
            *budget -= 1;
            match self.word(at)? {
                None => return Ok(Probe::Empty(at)),
                Some(number) => {
                    let stored = self.stored(number)?;
                    if stored.site() == site {
                        return Ok(Probe::Found(at, number, stored));
                    }
                    at = (at + 1) & (length - 1);
                }
            }
        }
        Err(Error::Corrupt { offset: self.layout.index() })
    }

    /// Empties the word at `hole` and moves later words of the chain back, so that no chain is broken.
    pub(super) fn unlink(&mut self, mut hole: u32) -> Result<(), Error> {
        let length = self.layout.index_length();
        let mut at = hole;
        for _ in 0..length.min(LONGEST) {
            at = (at + 1) & (length - 1);
            let Some(number) = self.word(at)? else {
                return self.set_word(hole, None);
            };
            let home = hash(self.stored(number)?.site(), length);
            // The word may move to the hole unless its home lies cyclically between hole and word.
            if at.wrapping_sub(home) & (length - 1) >= at.wrapping_sub(hole) & (length - 1) {
                self.set_word(hole, Some(number))?;
                hole = at;
            }
        }
        Err(Error::Corrupt { offset: self.layout.index() })
    }
}
