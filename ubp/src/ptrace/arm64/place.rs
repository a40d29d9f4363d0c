//! How far slots reach, and where programs' addresses end.

use crate::Arch;

/// Whether slots that reach no site are of use: a copy out of reach has a trap behind it in place of the branch.
pub(in crate::ptrace) const FAR: bool = true;
/// New sites closer together than this get one arena.
pub(in crate::ptrace) const GROUP: u64 = 32 << 20;
/// Room left between code and its arena where there is as much. A branch reaches 128 MiB, across the sites of a group and the arena.
pub(in crate::ptrace) const APART: u64 = 48 << 20;
pub(in crate::ptrace) use crate::arch::PAGE;

/// Behind the last address of a program; where the kernel has 52 bits, it gives out higher ones on demand only
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
