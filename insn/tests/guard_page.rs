//! No byte behind the slice is read: the last page before an inaccessible one holds the bytes.

use insn::x86::{Bits, MAX_LEN, Mode, Vendor, decode};

const PAGE: usize = 4096;

/// A writable page followed by one that faults.
struct Guarded(*mut u8);

impl Guarded {
    fn new() -> Guarded {
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no other memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                2 * PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        // SAFETY: the second page belongs to the mapping made above.
        assert_eq!(unsafe { libc::mprotect(start.cast::<u8>().add(PAGE).cast(), PAGE, libc::PROT_NONE) }, 0);
        Guarded(start.cast())
    }

    /// The bytes, moved to the very end of the accessible page.
    fn at_the_end(&mut self, bytes: &[u8]) -> &[u8] {
        assert!(bytes.len() <= PAGE);
        // SAFETY: the last `bytes.len()` bytes of the first page are mapped, initialized and borrowed from self alone.
        let place = unsafe { std::slice::from_raw_parts_mut(self.0.add(PAGE - bytes.len()), bytes.len()) };
        place.copy_from_slice(bytes);
        place
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: unmaps what `new` mapped; no slice of it outlives self.
        unsafe { libc::munmap(self.0.cast(), 2 * PAGE) };
    }
}

#[test]
fn nothing_behind_the_slice_is_read() {
    let mut page = Guarded::new();
    let starts: &[&[u8]] = &[
        &[0x48, 0x8b, 0x84, 0x24],
        &[0x62, 0xf1, 0x7c, 0x48, 0x58, 0x84, 0x24],
        &[0xc4, 0xe3, 0x79, 0x0f, 0x84, 0x24],
        &[0x0f, 0x0f, 0x84, 0x24],
        &[0xd5, 0x00, 0xa1],
        &[0x66; MAX_LEN],
        &[0x0f],
        &[0xe8],
    ];
    for bits in [Bits::B16, Bits::B32, Bits::B64] {
        for vendor in [Vendor::Intel, Vendor::Amd] {
            for first in 0..=255 {
                for len in 0..=MAX_LEN + 1 {
                    let mut bytes = vec![first; len];
                    let _ = decode(page.at_the_end(&bytes), Mode::new(bits, vendor));
                    for start in starts {
                        for (to, from) in bytes.iter_mut().zip(*start) {
                            *to = *from;
                        }
                        if let Ok(insn) = decode(page.at_the_end(&bytes), Mode::new(bits, vendor).lenient()) {
                            assert!(insn.len() <= len);
                        }
                    }
                }
            }
        }
    }
}
