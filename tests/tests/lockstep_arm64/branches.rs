//! Branches.

use crate::same;

#[test]
fn direct_branches_are_as_in_place() {
    same(
        &[
            0x1400_0004, // b .+16
            0x17ff_fffc, // b .-16
            0x9400_0004, // bl .+16
        ],
        |_, _| {},
    );
}

#[test]
fn conditional_branches_are_as_in_place() {
    let conditions: Vec<u32> = (0..16).map(|condition| 0x5400_0080 | condition).collect();
    same(&conditions, |_, _| {});
    for value in [0, 1, 1 << 3, 1 << 32, 1 << 35, u64::MAX] {
        same(
            &[
                0x3400_0082, // cbz w2, .+16
                0xb400_0082, // cbz x2, .+16
                0x3500_0082, // cbnz w2, .+16
                0xb500_0082, // cbnz x2, .+16
                0xb400_009f, // cbz xzr, .+16
                0xb618_0082, // tbz x2, #35, .+16
                0xb718_0082, // tbnz x2, #35, .+16
                0x3618_0082, // tbz w2, #3, .+16
                0x3718_0082, // tbnz w2, #3, .+16
            ],
            |state, _| state.general[2] = value,
        );
    }
}

#[test]
fn indirect_branches_are_as_in_place() {
    same(
        &[
            0xd61f_0020, // br x1
            0xd63f_0020, // blr x1
            0xd63f_03c0, // blr x30
            0xd65f_03c0, // ret
            0xd65f_0020, // ret x1
        ],
        |_, _| {},
    );
}

#[test]
fn the_top_byte_of_a_target_is_ignored_as_in_place() {
    same(&[0xd61f_0020, 0xd63f_0020, 0xd65f_0020], |state, _| state.general[1] |= 0x5a << 56);
}

#[test]
fn a_target_that_is_not_mapped_faults_as_in_place() {
    same(&[0xd61f_0020, 0xd63f_0020, 0xd65f_0020], |state, _| state.general[1] = 0x10_0000);
}
