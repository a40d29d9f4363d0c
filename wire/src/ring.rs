//! The ring: events in shared memory, for programs that map the channel's file.
//!
//! A program maps the file from offset 0, with `MAP_SHARED`: one page and a power of two of pages after it, which are the ring, at
//! most [`MOST`] bytes. The first page holds the ring's position and size. From then on the kernel puts events into the ring instead of the
//! stream that is read. Each event is a message as in the stream; a message that reaches the ring's end continues at its beginning.
//! Events that do not fit are lost and counted, except those that must be delivered (a thread is held, a process has ended): these go to
//! the stream. The tags give the order of all events.
//!
//! The reader takes the bytes between [`TAIL`] and [`HEAD`], then stores the new tail. The kernel trusts neither word.

/// The largest size of a ring in bytes.
pub const MOST: u64 = 16 << 20;
/// Index of the word in the first page that holds the ring's size in bytes.
pub const SIZE: usize = 0;
/// Index of the word in the first page that holds the ring's offset in the mapping, in bytes.
pub const START: usize = 1;
/// Index of the word in the first page that holds the number of bytes ever written. The kernel stores it after the bytes.
pub const HEAD: usize = 8;
/// Index of the word in the first page that holds the number of bytes ever read. The reader stores it.
pub const TAIL: usize = 16;

/// Free bytes; 0 if the tail is impossible.
pub const fn room(head: u64, tail: u64, size: u64) -> u64 {
    size.saturating_sub(head.wrapping_sub(tail))
}

/// The location of `length` bytes after the first `position` bytes ever written or read: the offset of the first byte in the ring, and how
/// many bytes lie before the ring's end. The others lie at its beginning. `size` is a power of two and at least `length`.
pub const fn parts(position: u64, length: usize, size: u64) -> (usize, usize) {
    let offset = position & size.wrapping_sub(1);
    let before = size.saturating_sub(offset);
    (offset as usize, if before < length as u64 { before as usize } else { length })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_room_for_what_is_not_unread() {
        assert_eq!(room(0, 0, 4096), 4096);
        assert_eq!(room(100, 60, 4096), 4056);
        assert_eq!(room(4096, 0, 4096), 0);
        assert_eq!(room(8, u64::MAX - 7, 4096), 4080);
    }

    #[test]
    fn a_tail_that_cannot_be_leaves_no_room() {
        assert_eq!(room(100, 101, 4096), 0);
        assert_eq!(room(1 << 40, 0, 4096), 0);
    }

    #[test]
    fn what_reaches_the_end_goes_on_at_the_beginning() {
        assert_eq!(parts(4096 * 3 + 8, 16, 4096), (8, 16));
        assert_eq!(parts(4088, 16, 4096), (4088, 8));
        assert_eq!(parts(4080, 16, 4096), (4080, 16));
        assert_eq!(parts(u64::MAX - 7, 4096, 4096), (4088, 8));
    }
}
