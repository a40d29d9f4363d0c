//! The ring of events of a channel.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use wire::ring::{HEAD, SIZE, START, TAIL, parts};
use wire::{Split, split};

/// Bytes of a page.
pub fn page_size() -> usize {
    // SAFETY: it takes no memory.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// A channel's file, mapped.
pub struct Ring {
    base: *mut u8,
    mapped: usize,
}

// SAFETY: what is shared is read and written atomically, or belongs to the one that takes.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `pages` pages.
    ///
    /// # Errors
    /// The kernel's.
    pub fn map(file: &File, pages: usize) -> io::Result<Ring> {
        Ring::map_as(file, (1 + pages) * page_size(), libc::MAP_SHARED, 0)
    }

    /// Maps `mapped` bytes of the file, first page included.
    ///
    /// # Errors
    /// The kernel's.
    pub fn map_as(file: &File, mapped: usize, flags: i32, from: i64) -> io::Result<Ring> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses where, and nothing is there.
        let base = unsafe { libc::mmap(ptr::null_mut(), mapped, protection, flags, file.as_raw_fd(), from) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Ring { base: base.cast(), mapped })
    }

    /// A word of the first page.
    pub fn word(&self, number: usize) -> &AtomicU64 {
        // SAFETY: the page is mapped as long as this lives; all write to it by words.
        unsafe { &*self.base.cast::<AtomicU64>().add(number) }
    }

    /// Takes the next message; nothing if the ring is empty.
    ///
    /// # Panics
    /// Where there is no whole message.
    pub fn take(&self) -> Option<Vec<u8>> {
        let (head, tail) = (self.word(HEAD).load(Acquire), self.word(TAIL).load(Acquire));
        let bytes = self.bytes(tail, (head - tail) as usize);
        if bytes.is_empty() {
            return None;
        }
        let Ok(Split::Message(_, rest)) = split(&bytes) else { panic!("no message: {bytes:x?}") };
        let message = bytes[..bytes.len() - rest.len()].to_vec();
        self.word(TAIL).store(tail + message.len() as u64, Release);
        Some(message)
    }

    fn bytes(&self, position: u64, length: usize) -> Vec<u8> {
        let (size, start) = (self.word(SIZE).load(Acquire), self.word(START).load(Acquire) as usize);
        assert_eq!(size as usize + start, self.mapped);
        let (offset, before) = parts(position, length, size);
        let piece = |offset: usize, length: usize| {
            // SAFETY: it lies in the ring, and the kernel writes there again when it was taken.
            unsafe { std::slice::from_raw_parts(self.base.add(start + offset), length) }
        };
        [piece(offset, before), piece(0, length - before)].concat()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it is this one's mapping, and nobody has a reference to it.
        unsafe { libc::munmap(self.base.cast(), self.mapped) };
    }
}
