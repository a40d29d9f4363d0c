//! Which way each class of instruction gets.

use insn::x86::{Bits, Mode, Vendor, decode};
use stepping::x86::{Exit, Plan, Refusal, plan};

use crate::random::{MODES, Random};
use crate::{hex, insn, slot};

#[test]
fn near_branches_flags_and_nops_are_emulated() {
    for text in [
        "eb00",
        "e900000000",
        "e800000000",
        "7400",
        "0f8400000000",
        "e000",
        "e100",
        "e200",
        "e300",
        "67e300",
        "ffe0",
        "ffd0",
        "ff10",
        "ff20",
        "c3",
        "c20800",
        "f2c3",
        "3effe0",
        "9c",
        "9d",
        "90",
        "0f1f00",
        "f30f1efa",
        "cc",
    ] {
        assert!(matches!(plan(&insn(text, Mode::INTEL_64), 0x1000), Plan::Emulate(_)), "{text}");
    }
    assert!(matches!(plan(&insn("d500a1 1122334455667788", Mode::INTEL_64), 0), Plan::Emulate(_)));
}

#[test]
fn opcodes_that_look_like_branches_in_other_maps_are_copied() {
    for text in
        ["c5f1ebc2", "c5f174c2", "c5f877", "c5f1e8c2", "c5f0c2c200", "c5f171f205", "62f1f548ebc2", "62f17448c2c204"]
    {
        assert!(matches!(plan(&insn(text, Mode::AMD_64), 0x1000), Plan::Slot(_)), "{text}");
    }
}

#[test]
fn exchanges_and_pauses_are_no_nops() {
    for text in ["f390", "4990", "4190", "0f1800", "f30f1ec8", "f3480f1ec8"] {
        assert!(matches!(plan(&insn(text, Mode::INTEL_64), 0x1000), Plan::Slot(_)), "{text}");
    }
}

#[test]
fn only_int3_is_the_breakpoint_that_is_emulated() {
    assert!(matches!(plan(&insn("f1", Mode::INTEL_64), 0x1000), Plan::Slot(_)), "icebp");
    assert!(matches!(plan(&insn("cd03", Mode::INTEL_64), 0x1000), Plan::Slot(_)), "int 3 of two bytes");
}

#[test]
fn what_stores_its_own_address_is_refused_by_name() {
    assert_eq!(plan(&insn("0f01d7", Mode::INTEL_64), 0), Plan::Refuse(Refusal::Enclave));
    assert_eq!(plan(&insn("66c7f80000", Mode::INTEL_64), 0), Plan::Refuse(Refusal::TransactionTarget16));
    let bits16 = Mode::new(Bits::B16, Vendor::Intel);
    assert_eq!(plan(&decode(&hex("90"), bits16).unwrap(), 0), Plan::Refuse(Refusal::CodeSegment16));
}

#[test]
fn refusals_say_why_and_keep_their_numbers() {
    let all = [Refusal::CodeSegment16, Refusal::Enclave, Refusal::TransactionTarget16, Refusal::NoScratchRegister];
    for (refusal, number) in all.into_iter().zip(1..) {
        assert!(refusal.to_string().len() > 10);
        assert_eq!(refusal.number(), number);
    }
}

#[test]
fn an_operand_out_of_reach_is_refused_where_there_is_no_scratch_register() {
    let slot = slot("48030500100000", Mode::INTEL_64, 0x1000);
    let (near, far) = (0x2000, 0x7000_0000_0000);
    assert_eq!(slot.assemble_near(near).unwrap().bytes, slot.assemble(near).unwrap().bytes);
    assert_eq!(slot.assemble_near(far).unwrap_err(), Refusal::NoScratchRegister);
    assert!(slot.assemble(far).is_ok());
}

#[test]
fn far_transfers_leave_or_are_stepped() {
    for text in ["48cb", "ca0800", "48cf", "ff28", "f30f01ec"] {
        let code = slot(text, Mode::INTEL_64, 0x1000).assemble(0x2000).unwrap();
        assert_eq!(code.exit, Exit::Jump, "{text}");
        assert_eq!(usize::from(code.len), hex(text).len(), "{text}: no jump follows");
    }
    for (text, mode, size) in [
        ("ff18", Mode::INTEL_64, 4),
        ("66ff18", Mode::INTEL_64, 2),
        ("48ff18", Mode::INTEL_64, 8),
        ("48ff18", Mode::AMD_64, 4),
        ("9a000000000000", Mode::INTEL_32, 4),
        ("669a00000000", Mode::INTEL_32, 2),
    ] {
        let code = slot(text, mode, 0x1000).assemble(0x2000).unwrap();
        assert_eq!(code.exit, Exit::StepThenReturnAddress(size), "{text}");
    }
}

#[test]
fn every_instruction_has_a_plan_and_only_named_ones_are_refused() {
    let mut random = Random(1);
    for mode in MODES {
        for _ in 0..20_000 {
            let insn = random.insn(mode);
            let pc = random.address(mode);
            match plan(&insn, pc) {
                Plan::Refuse(Refusal::Enclave) => assert_eq!(insn.opcode(), 0x01),
                Plan::Refuse(Refusal::TransactionTarget16) => assert_eq!(insn.opcode(), 0xc7),
                Plan::Refuse(other) => panic!("{:02x?}: {other}", insn.bytes()),
                _ => (),
            }
        }
    }
}
