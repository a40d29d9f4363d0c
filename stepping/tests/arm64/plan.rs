//! Which way each class of instruction gets.

use stepping::arm64::{Exit, Plan, Refusal, plan, plan_in};

use crate::random::Random;
use crate::{code, emulate, insn};

#[test]
fn branches_without_authentication_are_emulated() {
    for word in [
        0x1400_0004, // b .+16
        0x9400_0004, // bl .+16
        0x5400_0081, // b.ne .+16
        0x5400_0091, // bc.ne .+16
        0x3400_0081, // cbz w1, .+16
        0xb500_0081, // cbnz x1, .+16
        0xb618_0081, // tbz x1, #35, .+16
        0x3718_0081, // tbnz w1, #3, .+16
        0xd61f_0020, // br x1
        0xd63f_0020, // blr x1
        0xd65f_03c0, // ret
        0x7402_0081, // cbgt w1, w2, .+16
        0x7402_8081, // cbbgt w1, w2, .+16
        0x7402_c081, // cbhgt w1, w2, .+16
        0xf502_8081, // cbgt x1, #5, .+16
    ] {
        emulate(word, 0x1000);
    }
}

#[test]
fn what_depends_on_its_address_and_what_does_nothing_is_emulated() {
    for word in [
        0x3000_0063, // adr x3, .+13
        0x3000_007f, // adr xzr, .+13
        0x9000_0003, // adrp x3, .
        0x1800_0043, // ldr w3, .+8
        0x5800_0043, // ldr x3, .+8
        0x9800_0043, // ldrsw x3, .+8
        0x5800_005f, // ldr xzr, .+8
        0xd800_0040, // prfm pldl1keep, .+8
        0xd503_201f, // nop
        0xd503_241f, // bti
        0xd503_245f, // bti c
        0xd503_249f, // bti j
        0xd503_24df, // bti jc
        0xd420_0020, // brk #1
    ] {
        emulate(word, 0x1000);
    }
}

#[test]
fn all_else_runs_as_a_copy_with_a_branch_back() {
    for word in [
        0x9100_0400, // add x0, x0, #1
        0xf862_6820, // ldr x0, [x1, x2]
        0xd400_0001, // svc #0
        0xd400_0002, // hvc #0
        0xd400_0003, // smc #0
        0xd440_0000, // hlt #0
        0xd4a0_0001, // dcps1
        0x0000_0007, // udf #7
        0xd69f_03e0, // eret
        0xd53b_d041, // mrs x1, tpidr_el0
        0xd51b_d041, // msr tpidr_el0, x1
        0xd51b_4401, // msr fpcr, x1
        0xd538_0001, // mrs x1, midr_el1
        0xd503_203f, // yield
        0xd503_205f, // wfe
        0xd503_207f, // wfi
        0xd503_221f, // esb
        0xd503_229f, // csdb
        0xd503_3fdf, // isb
        0xd503_3bbf, // dmb ish
        0xd503_30ff, // sb
        0xd50b_7421, // dc zva, x1
        0xd50b_7521, // ic ivau, x1
        0xd503_3f5f, // clrex
        0xd503_233f, // paciasp
        0xd503_23bf, // autiasp
        0xdac1_0041, // pacia x1, x2
        0xdac1_43e1, // xpaci x1
        0xdac1_901e, // autiasppcr x0
        0xf820_0441, // ldraa x1, [x2]
        0x0480_0020, // add z0.s, p0/m, z0.s, z1.s
        0xa401_6000, // ldff1b {z0.b}, p0/z, [x0, x1]
        0xd503_477f, // smstart
        0xf821_0002, // ldadd x1, x2, [x0]
        0xc8e1_fc02, // casal x1, x2, [x0]
        0x9adf_1041, // irg x1, x2
        0xd920_0841, // stg x1, [x2]
        0x1d01_0440, // cpyp [x0]!, [x1]!, x2!
        0x19c2_0420, // setp [x0]!, x1!, x2
        0xc85f_7c01, // ldxr x1, [x0]
        0xc87f_8801, // ldaxp x1, x2, [x0]
    ] {
        let (code, words) = code(word, 0x1000, 0x2000);
        // b 0x1004
        assert_eq!((code.exit, words.as_slice()), (Exit::Jump, &[word, 0x17ff_fc00][..]), "{word:#010x}");
    }
}

#[test]
fn authenticated_jumps_and_returns_are_copies_that_nobody_comes_back_from() {
    for word in [
        0xd65f_0bff, // retaa
        0xd65f_0fff, // retab
        0xd71f_0822, // braa x1, x2
        0xd61f_0c3f, // brabz x1
        0xd65f_0be3, // retaasppcr x3
    ] {
        let (code, words) = code(word, 0x1000, 0x2000);
        assert_eq!((code.exit, words.as_slice()), (Exit::Jump, &[word][..]), "{word:#010x}");
    }
}

#[test]
fn authenticated_calls_are_stepped_and_their_return_address_is_corrected() {
    for word in [
        0xd73f_0822, // blraa x1, x2
        0xd63f_083f, // blraaz x1
        0xd63f_0fdf, // blrabz x30
    ] {
        let (code, words) = code(word, 0x1000, 0x2000);
        assert_eq!((code.exit, words.as_slice()), (Exit::StepThenReturnAddress(8), &[word][..]), "{word:#010x}");
    }
}

#[test]
fn a_prefix_stands_before_a_breakpoint_and_not_before_a_branch() {
    for word in [
        0x0420_bc20, // movprfx z0, z1
        0x0491_2020, // movprfx z0.s, p0/m, z1.s
    ] {
        let (code, words) = code(word, 0x1000, 0x2000);
        assert_eq!((code.exit, words.as_slice()), (Exit::Trap(4), &[word][..]), "{word:#010x}");
    }
}

#[test]
fn what_signs_with_its_own_address_is_refused_by_name() {
    for word in [
        0xdac1_a3fe, // paciasppc
        0xdac1_a7fe, // pacibsppc
        0xdac1_83fe, // pacnbiasppc
        0xdac1_87fe, // pacnbibsppc
    ] {
        assert_eq!(plan(&insn(word), 0x1000), Plan::Refuse(Refusal::SignsWithAddress), "{word:#010x}");
    }
}

#[test]
fn what_changes_the_permissions_of_its_copy_is_refused_by_name() {
    for word in [
        0xd580_0020, // tchangef x0, x1
        0xd594_0121, // tchangeb x1, #9
        0xd4e0_0400, // tenter #32
        0xd6ff_03e0, // texit
    ] {
        assert_eq!(plan(&insn(word), 0x1000), Plan::Refuse(Refusal::ChangesPermissions), "{word:#010x}");
    }
}

#[test]
fn refusals_say_why_and_keep_their_numbers() {
    let all = [
        Refusal::StoreExclusive,
        Refusal::ExclusiveRegion { before: None, after: None },
        Refusal::ExclusiveOutOfReach,
        Refusal::SignsWithAddress,
        Refusal::Modifier,
        Refusal::Modified,
        Refusal::ChangesPermissions,
    ];
    for (refusal, number) in all.into_iter().zip(1..) {
        assert!(refusal.to_string().len() > 10);
        assert_eq!(refusal.number(), number);
    }
    let refusal = |before, after| Refusal::ExclusiveRegion { before, after }.to_string();
    assert!(refusal(Some(0x10), Some(0x20)).ends_with("; 0x10 and 0x20 are not"));
    assert!(refusal(None, Some(0x20)).ends_with("; 0x20 is not"));
}

#[test]
fn a_modifier_and_what_it_modifies_are_refused() {
    const PACM: u32 = 0xd503_24ff;
    const PACIASP: u32 = 0xd503_233f;
    assert_eq!(plan(&insn(PACM), 0x1000), Plan::Refuse(Refusal::Modifier));
    assert_eq!(plan_in(&insn(PACIASP), 0x1004, &[PACM, PACIASP], 1), Plan::Refuse(Refusal::Modified));
    assert!(matches!(plan_in(&insn(PACIASP), 0x1004, &[PACIASP, PACIASP], 1), Plan::Slot(_)));
}

#[test]
fn every_instruction_has_a_plan_and_only_named_ones_are_refused() {
    let mut random = Random(1);
    let mut refused = 0;
    for _ in 0..200_000 {
        let insn = random.insn();
        if let Plan::Refuse(reason) = plan(&insn, random.address()) {
            refused += 1;
            let named = matches!(
                reason,
                Refusal::StoreExclusive | Refusal::SignsWithAddress | Refusal::Modifier | Refusal::ChangesPermissions
            );
            assert!(named, "{insn:?}: {reason}");
        }
    }
    assert!(refused > 100, "{refused} refused");
}
