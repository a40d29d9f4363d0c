//! Slot code while it is being written.

use insn::x86::{Bits, Insn, Reg};

use crate::slot::MAX_PLACES;
use crate::x86::{Code, Exit, Place, Progress, SLOT_SIZE, Scratch};

/// Fills the rest of slots.
pub(super) const INT3: u8 = 0xcc;
pub(super) const NOP: u8 = 0x90;
/// Bytes of `jmp rel32`.
const NEAR_JUMP: u8 = 5;
/// Bytes of an indirect branch before its operand.
const INDIRECT: usize = 6;

pub(super) struct Draft {
    bits: Bits,
    at: u64,
    bytes: [u8; SLOT_SIZE],
    len: u8,
    places: [Option<(u8, Place)>; MAX_PLACES],
    held_off: Option<u8>,
    spare: Option<Spare>,
}

/// A function that finds a general register which an instruction neither reads nor writes. It is a pointer, so that code that never needs a
/// scratch register does not link it.
pub(super) type Spare = fn(&Insn) -> Option<u8>;

impl Draft {
    pub(super) fn new(bits: Bits, at: u64, spare: Option<Spare>) -> Draft {
        Draft { bits, at, bytes: [INT3; SLOT_SIZE], len: 0, places: [None; MAX_PLACES], held_off: None, spare }
    }

    /// The number of a scratch register, if scratch registers are permitted and one is free.
    pub(super) fn spare(&self, insn: &Insn) -> Option<u8> {
        self.spare.and_then(|spare| spare(insn))
    }

    /// Whether scratch registers are not permitted.
    pub(super) fn is_alone(&self) -> bool {
        self.spare.is_none()
    }

    /// Number of bytes written.
    pub(super) fn len(&self) -> u8 {
        self.len
    }

    /// Number of bytes that can still be written, with an `int3` left at the end.
    fn room(&self) -> usize {
        (SLOT_SIZE - 1).saturating_sub(usize::from(self.len))
    }

    /// Appends `bytes`. Callers respect [`Draft::room`]; bytes beyond it are dropped.
    #[inline(never)]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let rest = self.bytes.iter_mut().take(SLOT_SIZE - 1).skip(usize::from(self.len));
        let mut written = 0;
        for (to, from) in rest.zip(bytes) {
            *to = *from;
            written += 1;
        }
        self.len += written;
    }

    /// Replaces one byte.
    pub(super) fn patch(&mut self, offset: u8, value: u8) {
        if let Some(byte) = self.bytes.get_mut(usize::from(offset)) {
            *byte = value;
        }
    }

    /// Defines the meaning of the address after the bytes written so far.
    pub(super) fn mark(&mut self, pc: u64, progress: Progress, register: Option<(Reg, u64)>) {
        self.mark_at(self.len, Place { pc, progress, register });
    }

    /// Defines the meaning of an offset.
    #[inline(never)]
    pub(super) fn mark_at(&mut self, offset: u8, place: Place) {
        if let Some(free) = self.places.iter_mut().find(|place| place.is_none()) {
            *free = Some((offset, place));
        }
    }

    /// Notes that a single-step trap after the bytes written so far must be ignored.
    pub(super) fn hold_off(&mut self) {
        self.held_off = Some(self.len);
    }

    /// Distance in bytes from `offset` in the slot to `to`, if it fits 32 bits. Addresses of i386 wrap, so there it always does.
    #[inline(never)]
    pub(super) fn distance(&self, offset: u8, to: u64) -> Option<i32> {
        match self.bits {
            Bits::B64 => i32::try_from(to.wrapping_sub(self.at.wrapping_add(u64::from(offset))) as i64).ok(),
            _ => Some(self.wrapping_distance(offset, to)),
        }
    }

    /// Distance in bytes from `offset` in the slot to `to`, for addresses that wrap at 4 GiB.
    pub(super) fn wrapping_distance(&self, offset: u8, to: u64) -> i32 {
        to.wrapping_sub(self.at.wrapping_add(u64::from(offset))) as i32
    }

    /// Whether a relative jump reaches `to`.
    pub(super) fn near(&self, to: u64) -> bool {
        self.distance(self.len.saturating_add(NEAR_JUMP), to).is_some()
    }

    /// Size of a jump to `to` in bytes.
    pub(super) fn jump_len(&self, to: u64) -> usize {
        if self.near(to) {
            return usize::from(NEAR_JUMP);
        }
        INDIRECT + self.padding() + size_of::<u64>()
    }

    /// Whether there is room for a jump to `to`.
    pub(super) fn fits(&self, to: u64) -> bool {
        self.jump_len(to) <= self.room()
    }

    /// Appends a jump to `to`, relative if that reaches. Callers check [`Draft::fits`] first.
    #[inline(never)]
    pub(super) fn jump(&mut self, to: u64) {
        match self.distance(self.len.saturating_add(NEAR_JUMP), to) {
            Some(distance) => {
                self.push(&[0xe9]);
                self.push(&distance.to_le_bytes());
            }
            None => self.indirect(0x25, to),
        }
    }

    /// Appends an indirect branch to `to` (`ff` with modrm 25 for `jmp`, 15 for `call`), whose operand is the next eight aligned bytes.
    #[inline(never)]
    pub(super) fn indirect(&mut self, modrm: u8, to: u64) {
        let padding = self.padding();
        self.push(&[0xff, modrm, padding as u8, 0, 0, 0]);
        self.push([INT3; 7].get(..padding).unwrap_or(&[]));
        self.push(&to.to_le_bytes());
    }

    /// Padding between an indirect branch appended now and its operand, which is aligned because the program may have alignment checks on.
    fn padding(&self) -> usize {
        let end = self.at.wrapping_add(u64::from(self.len)).wrapping_add(INDIRECT as u64);
        (end.wrapping_neg() & 7) as usize
    }

    #[inline(never)]
    pub(super) fn finish(self, exit: Exit, scratch: Option<Scratch>) -> Code {
        Code {
            bytes: self.bytes,
            len: self.len,
            exit,
            scratch,
            places: self.places,
            held_off: self.held_off,
            once: false,
        }
    }
}
