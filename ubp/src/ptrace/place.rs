//! Where in a debuggee's address space an arena can lie.

use crate::{Arch, Mapping};

/// How far a 32-bit displacement reaches, less what a slot and its site take.
const REACH: u64 = (1 << 31) - (1 << 20);
/// The lowest address that may be mapped (vm.mmap_min_addr is at most this by default).
const LOWEST: u64 = 0x1_0000;
/// Room left behind the heap, which grows up, and below a stack, which grows down.
const GROWTH: u64 = 1 << 30;
/// Behind the last address of a program (47 bits less a guard page; 32-bit programs end below 4 GiB less a page).
const END_64: u64 = 0x7fff_ffff_f000;
const END_32: u64 = 0xffff_d000;
const PAGE: u64 = 4096;

/// Whether a slot anywhere in `start..end` reaches all of `low..=high`.
pub(super) fn reaches(arch: Arch, start: u64, end: u64, low: u64, high: u64) -> bool {
    match arch {
        // Displacements wrap at 4 GiB.
        Arch::I386 => true,
        Arch::X86_64 => high.saturating_sub(start) <= REACH && end.saturating_sub(low) <= REACH,
    }
}

/// What a part of the address space is to its neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Stays as it is.
    Fixed,
    /// Grows up.
    Heap,
    /// Grows down.
    Stack,
}

/// A part of the address space that is taken.
struct Area {
    start: u64,
    end: u64,
    usage: Use,
}

/// What is mapped, by address, and the heap where none of it is mapped yet.
fn areas(maps: &[Mapping], heap: u64) -> impl Iterator<Item = Area> {
    let is = |mapping: &Mapping, name: &str| mapping.path.as_deref().is_some_and(|path| path.as_os_str() == name);
    let area = move |mapping: &Mapping| {
        let usage = match () {
            () if is(mapping, "[heap]") => Use::Heap,
            () if is(mapping, "[stack]") => Use::Stack,
            () => Use::Fixed,
        };
        Area { start: mapping.start.0, end: mapping.end.0, usage }
    };
    let is_mapped = heap == 0 || maps.iter().any(|mapping| is(mapping, "[heap]"));
    let (low, high) = maps.split_at(maps.partition_point(|mapping| mapping.start.0 < heap));
    let empty = (!is_mapped).then_some(Area { start: heap, end: heap, usage: Use::Heap });
    low.iter().map(area).chain(empty).chain(high.iter().map(area))
}

/// Addresses for a mapping of `size` bytes within reach of `low..=high`, nearest first. `maps` is sorted by address; `heap` is
/// where the heap begins, which is there before its first page is mapped.
pub(super) fn candidates(maps: &[Mapping], heap: u64, arch: Arch, size: u64, low: u64, high: u64) -> Vec<u64> {
    let size = size.next_multiple_of(PAGE);
    let end = match arch {
        Arch::X86_64 => END_64,
        Arch::I386 => END_32,
    };
    let mut found = Vec::new();
    let mut bottom = LOWEST;
    let mut below = Use::Fixed;
    for Area { start, end: behind, usage } in areas(maps, heap).chain([Area { start: end, end, usage: Use::Fixed }]) {
        let top = start.min(end);
        let first = bottom.saturating_add(if below == Use::Heap { GROWTH } else { PAGE });
        let last = top.saturating_sub(if usage == Use::Stack { GROWTH } else { PAGE });
        if let Some(last_start) = last.checked_sub(size).filter(|&start| start >= first) {
            // As near to the code as the gap allows.
            let wanted = if first > high { first } else { last_start.min(low) };
            let start = wanted.clamp(first, last_start) / PAGE * PAGE;
            if start >= first && reaches(arch, start, start + size, low, high) {
                found.push(start);
            }
        }
        bottom = bottom.max(behind);
        below = usage;
    }
    found.sort_by_key(|&start| start.abs_diff(low));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Address;

    fn map(start: u64, end: u64, path: &str) -> Mapping {
        Mapping {
            start: Address(start),
            end: Address(end),
            read: true,
            write: false,
            execute: true,
            shared: false,
            offset: 0,
            inode: 0,
            path: Some(path.into()),
            deleted: false,
        }
    }

    #[test]
    fn an_arena_is_near_the_code_but_not_at_zero_nor_behind_the_heap_nor_below_the_stack() {
        let maps = [
            map(0x40_0000, 0x50_0000, "/bin/x"),
            map(0x60_0000, 0x70_0000, "[heap]"),
            map(0x7f00_0000_0000, 0x7f00_0010_0000, "/lib/y"),
            map(0x7fff_0000_0000, 0x7fff_0002_0000, "[stack]"),
        ];
        for (low, high) in [(0x40_0000, 0x4f_ffff), (0x7f00_0000_0000, 0x7f00_000f_ffff)] {
            let found = candidates(&maps, 0x60_0000, Arch::X86_64, 0x10_0000, low, high);
            assert!(!found.is_empty());
            for start in found {
                assert!(start >= 0x1_0000 && start % PAGE == 0);
                assert!(!maps.iter().any(|m| start < m.end.0 && m.start.0 < start + 0x10_0000));
                assert!(reaches(Arch::X86_64, start, start + 0x10_0000, low, high));
                assert!(!(0x70_0000..0x70_0000 + GROWTH).contains(&start));
                assert!(!(0x7fff_0000_0000 - GROWTH..0x7fff_0000_0000).contains(&start));
            }
        }
    }

    #[test]
    fn a_heap_of_which_nothing_is_mapped_yet_has_room_to_grow() {
        let maps =
            [map(0x5555_5555_4000, 0x5555_5556_0000, "/bin/x"), map(0x7f00_0000_0000, 0x7f00_0010_0000, "/lib/y")];
        let heap = 0x5555_5557_2000;
        let found = candidates(&maps, heap, Arch::X86_64, 0x10_0000, 0x5555_5555_4000, 0x5555_5556_0000);
        assert!(!found.is_empty());
        assert!(
            found.iter().all(|&start| start + 0x10_0000 <= 0x5555_5555_4000 || start >= heap + GROWTH),
            "{found:x?}"
        );
    }

    #[test]
    fn the_gap_between_a_program_and_a_heap_far_behind_it_is_used() {
        let heap = 0x40_0000 + GROWTH - 0x1000;
        let maps = [map(0x40_0000, 0x50_0000, "/bin/x"), map(heap, heap + 0x1_0000, "[heap]")];
        for maps in [&maps[..1], &maps] {
            let found = candidates(maps, heap, Arch::X86_64, 0x100_0000, 0x40_0000, 0x50_0000);
            assert_eq!(found, [0x50_1000], "{found:x?}");
        }
    }

    #[test]
    fn the_lowest_addresses_are_left_alone() {
        let maps = [map(0x10_0000, 0x20_0000, "/bin/x")];
        let below = |size| {
            candidates(&maps, 0, Arch::X86_64, size, 0x10_0000, 0x1f_ffff).into_iter().filter(|&at| at < 0x10_0000)
        };
        assert_eq!(below(0xe_e000).collect::<Vec<_>>(), [0x1_1000]);
        assert_eq!(below(0xe_f000).count(), 0);
    }

    #[test]
    fn a_stack_close_above_the_code_has_room_to_grow() {
        let (start, end) = (0x7ffe_0000_0000, 0x7ffe_0010_0000);
        for (distance, expected) in [(GROWTH, 0), (GROWTH + 0x20_0000, 1)] {
            let stack = end + distance;
            let maps = [map(start, end, "/lib/y"), map(stack, stack + 0x2_0000, "[stack]")];
            let found = candidates(&maps, 0, Arch::X86_64, 0x10_0000, start, end - 1);
            assert_eq!(found.iter().filter(|&&at| at > end && at < stack).count(), expected, "{found:x?}");
        }
    }

    #[test]
    fn no_place_is_better_than_one_out_of_reach() {
        let maps = [map(0x10_0000, 0x7000_0000_0000, "/dev/huge")];
        assert_eq!(candidates(&maps, 0, Arch::X86_64, 0x10_0000, 0x3000_0000_0000, 0x3000_0000_1000), []);
    }
}
