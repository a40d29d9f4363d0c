//! Buffers that the kernel cannot read or write, whole or in part.

use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::AsRawFd;

use crossing::Random;

const PAGE: usize = 4096;

/// A buffer of which the end, the beginning or all cannot be accessed.
pub(crate) struct Torn {
    /// Three pages, of which the middle one is there.
    pages: *mut u8,
}

impl Torn {
    pub(crate) fn new() -> Torn {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new mappings, and a part of them.
        unsafe {
            let pages = libc::mmap(std::ptr::null_mut(), 3 * PAGE, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(pages, libc::MAP_FAILED, "{}", Error::last_os_error());
            let pages = pages.cast::<u8>();
            assert_eq!(libc::mprotect(pages.add(PAGE).cast(), PAGE, libc::PROT_READ | libc::PROT_WRITE), 0);
            Torn { pages }
        }
    }

    /// Writes `bytes`, a page at most, from the end of readable memory, or from another buffer. Returns how many were taken.
    pub(crate) fn write(&self, random: &mut Random, file: &File, bytes: &[u8]) -> Result<usize> {
        let bytes = &bytes[..bytes.len().min(PAGE)];
        // SAFETY: the middle page is there, and is written by nobody else.
        let start = unsafe {
            let start = self.pages.add(2 * PAGE - bytes.len());
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
            start
        };
        let (start, length) = self.wrong(random, start, bytes.len());
        // SAFETY: the kernel looks at the address; it is read only.
        told(unsafe { libc::write(file.as_raw_fd(), start.cast(), length) })
    }

    /// Reads into a buffer that is not there, or not whole. What was read is lost.
    pub(crate) fn read(&self, random: &mut Random, file: &File) -> Result<usize> {
        let room = random.below(PAGE as u64) as usize;
        // SAFETY: within the pages.
        let start = unsafe { self.pages.add(2 * PAGE - room) };
        let (start, length) = self.wrong(random, start, room);
        // SAFETY: the kernel looks at the address; of ours only the middle page can be written, which nobody else uses.
        told(unsafe { libc::read(file.as_raw_fd(), start.cast(), length) })
    }

    /// The buffer as it is, or one that is wrong.
    fn wrong(&self, random: &mut Random, start: *mut u8, length: usize) -> (*mut u8, usize) {
        let behind = random.below(3 * PAGE as u64) as usize;
        match random.below(6) {
            0 => (start, length),
            1 => (std::ptr::null_mut(), behind),
            2 => (std::ptr::without_provenance_mut(0xffff_8880_0000_0000), behind),
            3 => (std::ptr::without_provenance_mut(usize::MAX - behind), 2 * behind),
            4 => (self.pages, behind),
            _ => (start, length + behind),
        }
    }
}

impl Drop for Torn {
    fn drop(&mut self) {
        // SAFETY: nobody else knows the pages.
        unsafe { libc::munmap(self.pages.cast(), 3 * PAGE) };
    }
}

fn told(count: isize) -> Result<usize> {
    usize::try_from(count).map_err(|_| Error::last_os_error())
}
