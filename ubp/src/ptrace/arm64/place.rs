//! The reach of slots, and the end of a program's addresses.

use crate::Arch;

/// Whether a slot that does not reach its site is of use: it ends with a trap in the place of the branch.
pub(in crate::ptrace) const FAR: bool = true;
/// New sites that are closer together than this get one arena.
pub(in crate::ptrace) const GROUP: u64 = 32 << 20;
/// The room between code and its arena, where there is enough of it. A branch reaches 128 MiB, across the sites of a group and
/// the arena.
pub(in crate::ptrace) const APART: u64 = 48 << 20;
pub(in crate::ptrace) use crate::arch::PAGE;

/// The address behind a program's last one. A kernel with 52-bit addresses gives out higher ones on demand only
/// (Documentation/arch/arm64/memory.rst).
pub(in crate::ptrace) fn end(_: Arch) -> u64 {
    1 << 48
}

/// Whether a slot anywhere in `start..end` reaches all of `low..=high`.
pub(in crate::ptrace) fn reaches(_: Arch, start: u64, end: u64, low: u64, high: u64) -> bool {
    crate::arch::reaches(start, end, low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_from_any_slot_reaches_every_site_or_the_arena_is_too_far() {
        let (start, end) = (0x4000_0000, 0x4010_0000);
        for (low, high, expected) in [
            (start - (126 << 20), start, true),
            (end, end + (125 << 20), true),
            (start - (128 << 20), start, false),
            (end, end + (128 << 20), false),
        ] {
            assert_eq!(reaches(Arch::Arm64, start, end, low, high), expected, "{low:#x} {high:#x}");
        }
    }
}
