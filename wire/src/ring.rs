//! The ring of events: what a session's file is when it is mapped.
//!
//! `mmap` of the file from offset 0 on, shared, over one page and a power of two of pages behind it, at most [`MOST`] bytes: the first page
//! tells where the ring stands, those behind it are the ring. From then on events are put into it and not into the stream that is
//! read; each is a message as it would be read, and one that reaches the ring's end goes on at its beginning. What does not
//! fit is lost and counted, but events that must be told (a thread is held, a process has ended) are read then. Their tags tell
//! the order of all.
//!
//! A reader takes what lies between [`TAIL`] and [`HEAD`], and then stores the new tail. The kernel believes neither.

/// The most bytes of a ring.
pub const MOST: u64 = 16 << 20;
/// Word of the first page: bytes of the ring.
pub const SIZE: usize = 0;
/// Word of the first page: bytes from the mapping's beginning to the ring's.
pub const START: usize = 1;
/// Word of the first page: bytes that were ever put. Stored by the kernel when they stand in the ring.
pub const HEAD: usize = 8;
/// Word of the first page: bytes that were ever taken. Stored by the reader.
pub const TAIL: usize = 16;

/// Bytes that can be put. None where the tail is one that cannot be.
pub const fn room(head: u64, tail: u64, size: u64) -> u64 {
    size.saturating_sub(head.wrapping_sub(tail))
}

/// Where `length` bytes lie, of which `position` bytes were put or taken before: the offset in the ring of the first, and how many there
/// are before its end. The others stand at its beginning. `size` is a power of two, and no less than `length`.
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
