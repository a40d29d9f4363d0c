use stepping::SLOT_SIZE;

/// The first eight bytes of an arena.
pub const MAGIC: [u8; 8] = *b"ubparena";
/// The version of the layout.
pub const VERSION: u32 = 1;

pub(super) const HEADER_SIZE: u64 = 64;
pub(super) const ENTRY_SIZE: u64 = 32;
const SLOT: u64 = SLOT_SIZE as u64;

/// Offsets of the header's fields.
pub(super) mod header {
    pub(in crate::core) const MAGIC: u64 = 0;
    pub(in crate::core) const VERSION: u64 = 8;
    pub(in crate::core) const ARCHITECTURE: u64 = 12;
    pub(in crate::core) const CAPACITY: u64 = 16;
    pub(in crate::core) const INDEX_LENGTH: u64 = 20;
    pub(in crate::core) const COUNT: u64 = 24;
    pub(in crate::core) const HIGH_WATER: u64 = 28;
    pub(in crate::core) const FREE: u64 = 32;
    pub(in crate::core) const GATE: u64 = 40;
}

/// Offsets and sizes of the parts of an arena, for a given capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    capacity: u32,
}

impl Layout {
    /// The largest capacity of an arena, in entries.
    pub const MAX_CAPACITY: u32 = 1 << 24;

    /// The layout for `capacity` entries, limited to 1 to [`Layout::MAX_CAPACITY`].
    #[inline]
    pub const fn new(capacity: u32) -> Layout {
        let capacity = if capacity == 0 { 1 } else { capacity };
        Layout { capacity: if capacity > Layout::MAX_CAPACITY { Layout::MAX_CAPACITY } else { capacity } }
    }
    /// The layout of an arena with this header; `None` if it is not the header of an arena of this version.
    pub fn of_header(header: &[u8; 64]) -> Option<Layout> {
        let word = |at: u64| header.get(at as usize..)?.first_chunk().copied().map(u32::from_le_bytes);
        let capacity = word(header::CAPACITY)?;
        let is_arena = header.starts_with(&MAGIC) && word(header::VERSION) == Some(VERSION);
        let layout = Layout::new(capacity);
        let agrees = layout.capacity == capacity && word(header::INDEX_LENGTH) == Some(layout.index_length());
        (is_arena && agrees).then_some(layout)
    }
    /// Number of entries, and of slots.
    #[inline]
    pub const fn capacity(self) -> u32 {
        self.capacity
    }
    /// Number of index words.
    #[inline]
    pub const fn index_length(self) -> u32 {
        (self.capacity * 2).next_power_of_two()
    }
    /// Offset of the index in bytes.
    #[inline]
    pub const fn index(self) -> u64 {
        HEADER_SIZE
    }
    /// Offset of the entries in bytes.
    #[inline]
    pub const fn entries(self) -> u64 {
        (HEADER_SIZE + 4 * self.index_length() as u64).next_multiple_of(64)
    }
    /// Offset of the slots in bytes.
    #[inline]
    pub const fn slots(self) -> u64 {
        self.entries() + ENTRY_SIZE * self.capacity as u64
    }
    /// Size of the arena in bytes.
    #[inline]
    pub const fn size(self) -> u64 {
        self.slots() + SLOT * self.capacity as u64
    }
    /// Offset of entry `number`.
    #[inline]
    pub(super) const fn entry(self, number: u32) -> u64 {
        self.entries() + ENTRY_SIZE * number as u64
    }
    /// Offset of slot `number`.
    #[inline]
    pub(super) const fn slot(self, number: u32) -> u64 {
        self.slots() + SLOT * number as u64
    }
    /// The slot that contains the byte at `offset`, and the offset in the slot.
    pub(super) const fn slot_at(self, offset: u64) -> Option<(u32, u8)> {
        if offset < self.slots() || offset >= self.size() {
            return None;
        }
        let inside = offset - self.slots();
        Some(((inside / SLOT) as u32, (inside % SLOT) as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_as_the_table_of_the_documentation_says() {
        let layout = Layout::new(100);
        assert_eq!(layout.index_length(), 256);
        assert_eq!(layout.index(), 64);
        assert_eq!(layout.entries(), 64 + 1024);
        assert_eq!(layout.slots(), 64 + 1024 + 3200);
        assert_eq!(layout.size(), 64 + 1024 + 3200 + 3200);
        assert_eq!((layout.entry(3), layout.slot(3)), (1088 + 96, 4288 + 96));
        assert_eq!(Layout::new(1).entries() % 64, 0);
    }

    #[test]
    fn a_slot_address_gives_its_slot_and_nothing_else_does() {
        let layout = Layout::new(5);
        assert_eq!(layout.slot_at(layout.slots() - 1), None);
        assert_eq!(layout.slot_at(layout.slots()), Some((0, 0)));
        assert_eq!(layout.slot_at(layout.slots() + 4 * 32 + 31), Some((4, 31)));
        assert_eq!(layout.slot_at(layout.size()), None);
    }
}
