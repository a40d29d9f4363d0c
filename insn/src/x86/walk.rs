//! From one instruction to the next by lengths that are known of most.

use super::chunk::MAX_LEN;
use super::{Mode, quick};

/// The number of bytes whose lengths are known at a time.
pub(super) const PART: usize = 2048;
/// The lengths of the instructions at all bytes of a part; 0 where they are not known.
pub(super) type Lens = [u8; PART];

/// A walk through a part of code, which writes the offsets of the instructions that it passes.
pub(super) struct Walk<'a> {
    /// The part, and the bytes of an instruction behind it.
    pub(super) bytes: &'a [u8; PART + MAX_LEN],
    pub(super) mode: Mode,
    pub(super) lens: &'a Lens,
    /// The offset of the part in the code.
    pub(super) base: usize,
    pub(super) places: &'a mut [u32],
    /// The offset in the part of the next instruction.
    pub(super) at: usize,
    /// The number of places written.
    pub(super) found: usize,
}

impl<'a> Walk<'a> {
    /// A walk that passes nothing.
    pub(super) fn nowhere(bytes: &'a [u8; PART + MAX_LEN]) -> Walk<'a> {
        Walk { bytes, mode: Mode::INTEL_64, lens: &[0; PART], base: 0, places: &mut [], at: 0, found: 0 }
    }

    /// Passes all instructions of the part.
    pub(super) fn finish(&mut self) {
        while self.step() {}
    }

    /// Passes an instruction. Returns whether there was one, and a place for it.
    #[inline(always)]
    pub(super) fn step(&mut self) -> bool {
        let (Some(len), Some(place)) = (self.lens.get(self.at), self.places.get_mut(self.found)) else { return false };
        *place = (self.base + self.at) as u32;
        let mut len = usize::from(*len);
        let mut is_one = true;
        if len == 0 {
            len = other(self.bytes, self.mode, self.at);
            is_one = len != 0;
        }
        self.at += len.max(1);
        self.found += usize::from(is_one);
        true
    }
}

/// The length of an instruction of unknown length; 0 if there is none.
#[cold]
#[inline(never)]
fn other(bytes: &[u8; PART + MAX_LEN], mode: Mode, at: usize) -> usize {
    let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk());
    chunk.map_or(0, |chunk| quick::other(chunk, mode) as usize)
}
