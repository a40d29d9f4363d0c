//! Room for an arena in a debuggee's address space.

use super::super::arch::{APART, PAGE, end, reaches};
use crate::core::{Area, Use, places};
use crate::{Arch, Mapping};

/// What is mapped, by address, and the heap where no page of it is mapped yet.
pub(in crate::ptrace) fn areas(maps: &[Mapping], heap: u64) -> impl Iterator<Item = Area> {
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

/// The end of the initial thread's stack; 0 where it is not mapped.
pub(in crate::ptrace) fn stack_end(maps: &[Mapping]) -> u64 {
    maps.iter().find(|mapping| is(mapping, "[stack]")).map_or(0, |mapping| mapping.end.0)
}

/// Whether the kernel gives a mapping this name.
fn is(mapping: &Mapping, name: &str) -> bool {
    mapping.path.as_deref().is_some_and(|path| path.as_os_str() == name)
}

/// Addresses for a mapping of `size` bytes within reach of `low..=high`. First come those far enough away to leave room for
/// the program's later mappings, which then lie where they would have lain; then the nearest. `maps` is sorted by address;
/// `heap` is the start of the heap, which exists before its first page is mapped.
pub(in crate::ptrace) fn candidates(
    maps: &[Mapping],
    heap: u64,
    arch: Arch,
    size: u64,
    low: u64,
    high: u64,
) -> Vec<u64> {
    let mut found = anywhere(maps, heap, arch, size, low, high);
    found.retain(|&start| reaches(arch, start, start + size.next_multiple_of(PAGE), low, high));
    found
}

/// Addresses like those of [`candidates`], within reach or not.
pub(in crate::ptrace) fn anywhere(maps: &[Mapping], heap: u64, arch: Arch, size: u64, low: u64, high: u64) -> Vec<u64> {
    let size = size.next_multiple_of(PAGE);
    let (below, above) = (low.saturating_sub(APART.saturating_add(size)), high.saturating_add(APART));
    let places = |low, high| places(areas(maps, heap), end(arch), PAGE, size, low, high);
    let mut found: Vec<u64> = places(below, above).chain(places(low, high)).collect();
    let is_close = |start| below < start && start < above;
    found.sort_by_key(|&start| (is_close(start), start.abs_diff(low), start));
    found.dedup();
    found
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::Address;
    use crate::core::place::GROWTH;

    fn map(start: u64, end: u64, path: &str) -> Mapping {
        Mapping {
            start: Address(start),
            end: Address(end),
            read: true,
            write: false,
            execute: true,
            shared: false,
            offset: 0,
            device: 0,
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
    fn a_gap_that_begins_within_a_large_page_is_used_from_the_next_one_on() {
        const LARGE: u64 = 0x1_0000;
        let code = Area { start: 0x40_0000, end: 0x4a_9000, usage: Use::Fixed };
        let heap = Area { start: 0x3abf_a000, end: 0x3abf_a000, usage: Use::Heap };
        let found = places([code, heap].into_iter(), 1 << 48, LARGE, 0x8c_0000, 0x40_0280, 0x46_42e4);
        assert_eq!(found.collect::<Vec<_>>(), [0x4c_0000, 0x7abf_0000 + LARGE]);
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
    fn what_is_mapped_later_finds_room_beside_the_code() {
        let maps = [map(0x10_0000, 0x20_0000, "/bin/x"), map(0x7f00_0000_0000, 0x7f00_0010_0000, "/lib/y")];
        let found = candidates(&maps, 0, Arch::X86_64, 0x10_0000, 0x7f00_0000_0000, 0x7f00_000f_ffff);
        assert_eq!(found.first(), Some(&(0x7f00_0000_0000 - APART - 0x10_0000)), "{found:x?}");
        assert!(found.contains(&(0x7f00_0000_0000 - 0x10_1000)), "{found:x?}");
    }

    #[test]
    fn no_place_is_better_than_one_out_of_reach() {
        let maps = [map(0x10_0000, 0x7000_0000_0000, "/dev/huge")];
        assert_eq!(candidates(&maps, 0, Arch::X86_64, 0x10_0000, 0x3000_0000_0000, 0x3000_0000_1000), []);
    }
}
