//! What runs as a copy.

use crate::same;

#[test]
fn ordinary_instructions_are_as_in_place() {
    same(
        &[
            0x9100_0400, // add x0, x0, #1
            0xb100_0402, // adds x2, x0, #1
            0xf940_0002, // ldr x2, [x0]
            0xf800_8402, // str x2, [x0], #8
            0xa9bf_0be0, // stp x0, x2, [sp, #-16]!
            0x4ea1_8402, // add v2.4s, v0.4s, v1.4s
            0x04a1_0002, // add z2.s, z0.s, z1.s
            0x0420_bc20, // movprfx z0, z1
            0xf820_0002, // ldadd x0, x2, [x0]
            0xc8e0_fc02, // casal x0, x2, [x0]
            0x4c40_7002, // ld1 {v2.16b}, [x0]
        ],
        |_, _| {},
    );
}

#[test]
fn system_registers_barriers_and_caches_are_as_in_place() {
    same(
        &[
            0xd53b_d042, // mrs x2, tpidr_el0
            0xd53b_4202, // mrs x2, nzcv
            0xd51b_4202, // msr nzcv, x2
            0xd53b_4402, // mrs x2, fpcr
            0xd503_3fdf, // isb
            0xd503_3bbf, // dmb ish
            0xd503_30ff, // sb
            0xd503_203f, // yield
            0xd503_209f, // sev
            0xd503_229f, // csdb
            0xd503_221f, // esb
            0xd503_3f5f, // clrex
            0xd503_201f, // nop
            0xd503_245f, // bti c
            0xd50b_7420, // dc zva, x0
            0xd50b_7a20, // dc cvac, x0
        ],
        |_, _| {},
    );
}
