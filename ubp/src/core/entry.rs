use super::layout::ENTRY_SIZE;
use crate::arch::MAX_LEN;

/// The state of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// The entry and its slot are free.
    Free = 0,
    /// A breakpoint instruction is at the site.
    Active = 1,
    /// The original bytes are back at the site; a thread may still be in the slot, or handle the trap.
    Retired = 2,
    /// The site is no longer mapped.
    Inactive = 3,
}

impl State {
    #[inline]
    fn from_byte(byte: u8) -> State {
        match byte {
            1 => State::Active,
            2 => State::Retired,
            3 => State::Inactive,
            _ => State::Free,
        }
    }
}

/// The table entry of one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Address of the instruction; in a free entry the link to the next free entry.
    pub site: u64,
    bytes: [u8; 16],
    length: u8,
    /// State of the entry.
    pub state: State,
    /// Number of breakpoints that share the site.
    pub references: u32,
    /// A byte that the back end may use.
    pub mark: u8,
}

impl Entry {
    /// Size of an entry in an arena, in bytes.
    pub const SIZE: u64 = ENTRY_SIZE;

    /// An active entry with one reference. `bytes` is the instruction; bytes beyond the longest instruction are ignored.
    pub fn new(site: u64, bytes: &[u8]) -> Entry {
        let mut kept = [0; 16];
        let length = bytes.len().min(MAX_LEN);
        for (to, from) in kept.iter_mut().zip(bytes).take(length) {
            *to = *from;
        }
        Entry { site, bytes: kept, length: length as u8, state: State::Active, references: 1, mark: 0 }
    }

    /// The original instruction at the site.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&[])
    }

    /// The original instruction padded with zeroes, and its length. Decoding is faster with 16 bytes.
    pub(super) fn padded(&self) -> (&[u8; 16], usize) {
        (&self.bytes, usize::from(self.length))
    }

    /// Replaces the instruction.
    pub fn set_bytes(&mut self, bytes: &[u8]) {
        let other = Entry::new(self.site, bytes);
        (self.bytes, self.length) = (other.bytes, other.length);
    }

    /// A free entry that links to the next free entry.
    pub(super) const fn free(next: u32) -> Entry {
        Entry { site: next as u64, bytes: [0; 16], length: 0, state: State::Free, references: 0, mark: 0 }
    }

    pub(super) fn encode(&self) -> [u8; ENTRY_SIZE as usize] {
        let mut out = [0; ENTRY_SIZE as usize];
        let tail = [self.length, self.state as u8, self.mark, 0];
        let parts = self.site.to_le_bytes().into_iter().chain(self.bytes).chain(tail);
        for (to, from) in out.iter_mut().zip(parts.chain(self.references.to_le_bytes())) {
            *to = from;
        }
        out
    }

    #[inline]
    pub(super) fn decode(raw: &[u8; ENTRY_SIZE as usize]) -> Entry {
        // Destructured for speed: an entry is decoded at every hit.
        let [s0, s1, s2, s3, s4, s5, s6, s7, bytes @ .., length, state, mark, _, r0, r1, r2, r3] = *raw;
        Entry {
            site: u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
            bytes,
            length: length.min(MAX_LEN as u8),
            state: State::from_byte(state),
            references: u32::from_le_bytes([r0, r1, r2, r3]),
            mark,
        }
    }
}

/// An entry as stored in an arena. Single fields are read without decoding the whole entry.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
pub struct Stored(pub(super) [u8; ENTRY_SIZE as usize]);

impl Stored {
    /// The field [`Entry::site`].
    #[inline]
    pub fn site(&self) -> u64 {
        let [s0, s1, s2, s3, s4, s5, s6, s7, ..] = self.0;
        u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7])
    }

    /// The field [`Entry::state`].
    #[inline]
    pub fn state(&self) -> State {
        State::from_byte(self.0[25])
    }

    /// The field [`Entry::mark`].
    #[inline]
    pub fn mark(&self) -> u8 {
        self.0[26]
    }

    /// The decoded entry.
    #[inline]
    pub fn entry(&self) -> Entry {
        Entry::decode(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_as_the_table_of_the_documentation_says() {
        let mut entry = Entry::new(0x1122334455667788, &[0x48, 0x89, 0xe5]);
        entry.references = 0x01020304;
        entry.state = State::Retired;
        entry.mark = 5;
        let raw = entry.encode();
        assert_eq!(raw[..8], [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
        assert_eq!(raw[8..12], [0x48, 0x89, 0xe5, 0]);
        assert_eq!(raw[24..], [3, 2, 5, 0, 4, 3, 2, 1]);
        assert_eq!(Entry::decode(&raw), entry);
        let stored = Stored(raw);
        assert_eq!((stored.site(), stored.state(), stored.mark()), (entry.site, entry.state, entry.mark));
        assert_eq!(stored.entry(), entry);
    }

    #[test]
    fn a_hostile_length_is_cut() {
        let mut raw = Entry::new(1, &[0x90]).encode();
        raw[24] = 0xff;
        assert_eq!(Entry::decode(&raw).bytes().len(), MAX_LEN);
    }
}
