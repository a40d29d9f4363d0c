//! What faults, and where.

use crate::same;

#[test]
fn what_is_undefined_here_is_so_at_the_site() {
    same(
        &[
            0x0000_0007, // udf #7
            0xd400_0002, // hvc #0
            0xd400_0003, // smc #0
            0xd4a0_0001, // dcps1
            0xd69f_03e0, // eret
            0xd518_1000, // msr sctlr_el1, x0
        ],
        |_, _| {},
    );
}

#[test]
fn data_that_are_not_mapped_fault_at_the_site() {
    same(
        &[
            0xf940_0002, // ldr x2, [x0]
            0xf800_8402, // str x2, [x0], #8
            0xa940_0c02, // ldp x2, x3, [x0]
            0xf820_0002, // ldadd x0, x2, [x0]
        ],
        |state, _| state.general[0] = 0x10_0000,
    );
}
