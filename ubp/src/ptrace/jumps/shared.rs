//! Memory that the tracer shares with debuggees.

use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::AsRawFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A mapping of a file that nobody can shrink. Whatever it contains, the processes that share it may have written.
#[derive(Debug)]
pub(in crate::ptrace) struct Shared {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: all accesses are atomic, or copies of bytes that are not looked at before the copy is made.
unsafe impl Send for Shared {}
// SAFETY: the same.
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps a file of `size` bytes, a multiple of eight, after it was sealed.
    pub(in crate::ptrace) fn new(file: &File, size: usize) -> Result<Shared> {
        // SAFETY: fcntl takes numbers.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL) } != 0 {
            return Err(Error::last_os_error());
        }
        if file.metadata()?.len() < size as u64 {
            return Err(Error::from(std::io::ErrorKind::UnexpectedEof));
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(null_mut(), size, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        match NonNull::new(start.cast::<u8>()).filter(|_| start != libc::MAP_FAILED) {
            Some(start) => Ok(Shared { start, size }),
            None => Err(Error::last_os_error()),
        }
    }

    /// The aligned word at an offset, as writes before that of the word left all others.
    pub(in crate::ptrace) fn load(&self, offset: usize) -> u64 {
        self.word(offset).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Writes the aligned word at an offset, after all writes and reads before.
    pub(in crate::ptrace) fn store(&self, offset: usize, value: u64) {
        if let Some(word) = self.word(offset) {
            word.store(value, Ordering::Release);
        }
    }

    /// Adds to the aligned word at an offset.
    pub(in crate::ptrace) fn add(&self, offset: usize, value: u64) {
        if let Some(word) = self.word(offset) {
            word.fetch_add(value, Ordering::AcqRel);
        }
    }

    /// Makes the aligned word at an offset at least `value`.
    pub(in crate::ptrace) fn raise(&self, offset: usize, value: u64) {
        if let Some(word) = self.word(offset) {
            word.fetch_max(value, Ordering::AcqRel);
        }
    }

    /// Puts zero into the aligned word at an offset. Returns what it was before.
    pub(in crate::ptrace) fn swap(&self, offset: usize) -> u64 {
        self.word(offset).map_or(0, |word| word.swap(0, Ordering::AcqRel))
    }

    /// Copies bytes out of the mapping, up to its end.
    pub(in crate::ptrace) fn copy(&self, offset: usize, buffer: &mut [u64]) {
        for (at, word) in (offset..).step_by(8).zip(buffer.iter_mut()) {
            *word = self.word(at).map_or(0, |word| word.load(Ordering::Relaxed));
        }
        fence(Ordering::Acquire);
    }

    fn word(&self, offset: usize) -> Option<&AtomicU64> {
        if offset % 8 != 0 || offset.checked_add(8)? > self.size {
            return None;
        }
        // SAFETY: the word lies in the mapping, which is aligned to pages, can be read and written, cannot shrink, and lives as long as this
        // value. All accesses of this process to it are atomic.
        Some(unsafe { self.start.add(offset).cast::<AtomicU64>().as_ref() })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and no reference into it outlives the value.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}
