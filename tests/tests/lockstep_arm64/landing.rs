//! Branch target identification, in guarded pages.

use crossing::skip;
use stepping::arm64::Registers;

use crate::lab::Lab;
use crate::same_in;

/// Whether guarded pages are guarded here; says so where they are not.
fn guards(test: &str) -> bool {
    const HWCAP2_BTI: u64 = 1 << 17;
    // SAFETY: getauxval takes a number.
    let guards = unsafe { libc::getauxval(libc::AT_HWCAP2) & HWCAP2_BTI != 0 };
    if !guards {
        skip(test, "no branch target identification on this processor");
    }
    guards
}

#[test]
fn every_way_to_every_landing_pad_is_as_in_place() {
    if !guards("every_way_to_every_landing_pad_is_as_in_place") {
        return;
    }
    let pads = [
        0xd503_241f, // bti
        0xd503_245f, // bti c
        0xd503_249f, // bti j
        0xd503_24df, // bti jc
        0xd503_233f, // paciasp
        0xd503_201f, // nop
        0x9100_0400, // add x0, x0, #1
        0x1400_0004, // b .+16
    ];
    for branch_type in 0..4 {
        same_in(&mut Lab::new(true), &pads, |state, _| state.set_branch_type(branch_type));
        same_in(&mut Lab::new(false), &pads, |state, _| state.set_branch_type(branch_type));
    }
}

#[test]
fn branches_leave_their_type_as_in_place() {
    if !guards("branches_leave_their_type_as_in_place") {
        return;
    }
    let branches = [
        0xd61f_0020, // br x1
        0xd61f_0200, // br x16
        0xd63f_0020, // blr x1
        0xd65f_0020, // ret x1
        0x1400_0004, // b .+16
        0x9400_0004, // bl .+16
    ];
    for guarded in [true, false] {
        same_in(&mut Lab::new(guarded), &branches, |state, _| state.general[16] = state.general[1]);
    }
}
