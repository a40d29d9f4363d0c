use crate::arm64::{BREAKPOINT, Code, Exit, Place, Progress, SLOT_SIZE, Scratch};
use crate::slot::MAX_PLACES;

const WORDS: usize = SLOT_SIZE / 4;
/// The instruction `b` with distance 0.
const BRANCH: u32 = 0x1400_0000;
/// Reach of `b` and `bl` in bytes.
const REACH: i64 = 1 << 27;

/// Slot code while it is being written.
pub(super) struct Draft {
    at: u64,
    words: [u32; WORDS],
    /// Number of words written.
    len: u8,
    places: [Option<(u8, Place)>; MAX_PLACES],
    /// Offset of the first trap that replaces a branch out of reach.
    trap: Option<u8>,
}

impl Draft {
    pub(super) fn new(at: u64) -> Draft {
        Draft { at, words: [BREAKPOINT; WORDS], len: 0, places: [None; MAX_PLACES], trap: None }
    }

    /// Number of bytes written.
    fn offset(&self) -> u8 {
        self.len.wrapping_mul(4)
    }

    /// The address of the next word.
    pub(super) fn here(&self) -> u64 {
        self.at.wrapping_add(self.offset().into())
    }

    /// Appends a word. The last word of the slot stays a breakpoint instruction.
    pub(super) fn push(&mut self, word: u32) {
        if let Some(place) = self.words.iter_mut().take(WORDS - 1).nth(self.len.into()) {
            *place = word;
            self.len = self.len.wrapping_add(1);
        }
    }

    /// Defines the meaning of the address after the words written so far.
    pub(super) fn mark(&mut self, pc: u64, progress: Progress) {
        let offset = self.offset();
        if let Some(free) = self.places.iter_mut().find(|place| place.is_none()) {
            *free = Some((offset, Place { pc, progress, register: None }));
        }
    }

    /// The distance field of a branch from here to `to`, if it reaches.
    pub(super) fn distance(&self, to: u64) -> Option<u32> {
        let distance = to.wrapping_sub(self.here()) as i64;
        let reaches = (-REACH..REACH).contains(&distance) && distance & 3 == 0;
        reaches.then_some((distance >> 2) as u32 & 0x3ff_ffff)
    }

    /// Appends a branch to the original address `to`, or a trap if it does not reach.
    pub(super) fn go(&mut self, to: u64) {
        match self.distance(to) {
            Some(distance) => {
                self.mark(to, Progress::After);
                self.push(BRANCH | distance);
            }
            None => {
                self.trap(to);
                self.push(BREAKPOINT);
            }
        }
    }

    /// Notes that a trap follows, after which the thread continues at the original address `to`.
    pub(super) fn trap(&mut self, to: u64) {
        self.mark(to, Progress::After);
        self.trap = self.trap.or(Some(self.offset()));
    }

    /// Whether the code contains a trap.
    pub(super) fn traps(&self) -> bool {
        self.trap.is_some()
    }

    /// How a thread leaves the code written so far.
    pub(super) fn exit(&self) -> Exit {
        self.trap.map_or(Exit::Jump, Exit::Trap)
    }

    pub(super) fn finish(self, exit: Exit, scratch: Option<Scratch>) -> Code {
        let mut bytes = [0; SLOT_SIZE];
        for (to, word) in bytes.chunks_exact_mut(4).zip(self.words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let filling = self.words.iter().rev().take_while(|word| **word == BREAKPOINT).count();
        let len = WORDS.saturating_sub(filling).wrapping_mul(4) as u8;
        Code { bytes, len, exit, scratch, places: self.places, held_off: None, once: false }
    }
}
