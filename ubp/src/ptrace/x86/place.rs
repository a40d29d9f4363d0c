//! The reach of slots, and the end of a program's addresses.

use crate::Arch;

/// Whether a slot that does not reach its site is of use.
pub(in crate::ptrace) const FAR: bool = false;
/// New sites that are closer together than this get one arena.
pub(in crate::ptrace) const GROUP: u64 = 512 << 20;
/// The room between code and its arena, where there is enough of it: a quarter of a branch's reach.
pub(in crate::ptrace) const APART: u64 = 512 << 20;
pub(in crate::ptrace) use crate::arch::PAGE;

/// The address behind a program's last one (47 bits less a guard page; 32-bit programs end below 4 GiB less a page).
pub(in crate::ptrace) fn end(arch: Arch) -> u64 {
    if arch == Arch::I386 { 0xffff_d000 } else { 0x7fff_ffff_f000 }
}

/// Whether a slot anywhere in `start..end` reaches all of `low..=high`.
pub(in crate::ptrace) fn reaches(arch: Arch, start: u64, end: u64, low: u64, high: u64) -> bool {
    // Displacements of 32-bit code wrap at 4 GiB.
    arch == Arch::I386 || crate::arch::reaches(start, end, low, high)
}
