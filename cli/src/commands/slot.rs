//! The slot address that `explain` and `survey` assume for an instruction.

/// The distance of the slot's page from the instruction's page in bytes.
const DISTANCE: u64 = 0x1_0000;

/// Returns the address of the slot for the instruction at `at`. It is as near as the arenas of `ubp` usually are.
pub(super) fn slot_address(at: u64) -> u64 {
    let page = at & !0xfff;
    page.checked_sub(DISTANCE).unwrap_or(page.wrapping_add(DISTANCE))
}
