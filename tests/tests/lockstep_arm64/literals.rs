//! What depends on the address of the site.

use crate::same;

#[test]
fn addresses_are_as_in_place() {
    same(
        &[
            0x3000_0063, // adr x3, .+13
            0x3000_007f, // adr xzr, .+13
            0xb000_0023, // adrp x3, .+0x5000
            0xb000_003f, // adrp xzr, .+0x5000
        ],
        |_, _| {},
    );
}

#[test]
fn literals_are_as_in_place() {
    same(
        &[
            0x1800_0043, // ldr w3, .+8
            0x5800_0043, // ldr x3, .+8
            0x9800_0043, // ldrsw x3, .+8
            0x5800_005f, // ldr xzr, .+8
            0x1c00_0043, // ldr s3, .+8
            0x5c00_0043, // ldr d3, .+8
            0x9c00_0043, // ldr q3, .+8
            0x9c00_0040, // ldr q0, .+8
            0xd800_0040, // prfm pldl1keep, .+8
        ],
        |_, _| {},
    );
}

#[test]
fn literals_that_are_not_mapped_fault_as_in_place() {
    // A distance of -0x8000 is below all mappings around the site.
    for form in [0x1800_0003, 0x5800_0003, 0x9800_0003, 0x5800_001f, 0x1c00_0003, 0x9c00_0003, 0x5800_0000] {
        same(&[form | 0xfc_0000], |_, _| {});
    }
}
