//! The way back, near, far and at the edges of reach.

use insn::x86::Mode;
use stepping::x86::{Exit, SLOT_SIZE};

use crate::{code, emulate, hex};

#[test]
fn a_near_slot_jumps_back() {
    let (code, bytes) = code("48ffc0", Mode::INTEL_64, 0x1000, 0x2000);
    assert_eq!(bytes, hex("48ffc0 e9fbefffff"));
    assert!(code.boosted());
    assert!(code.bytes[8..].iter().all(|byte| *byte == 0xcc));
}

#[test]
fn neighbours_of_what_holds_the_trap_back_or_enters_the_kernel_are_plain_copies() {
    // verr and rstorssp beside sldt and sgdt, sysenter beside syscall, add beside enclu.
    for text in ["0f00e0", "f30f0128", "0f34", "01d7"] {
        let (_, bytes) = code(text, Mode::INTEL_64, 0x1000, 0x2000);
        assert_eq!(bytes[..hex(text).len()], hex(text));
        assert_eq!(bytes[hex(text).len()], 0xe9, "{text}");
        assert_eq!(bytes.len(), hex(text).len() + 5, "{text}");
    }
}

#[test]
fn a_far_slot_jumps_through_an_aligned_address() {
    let (code, bytes) = code("48ffc0", Mode::INTEL_64, 0x1000, 0x10_0000_0000);
    assert_eq!(bytes, hex("48ffc0 ff2507000000 cccccccccccccc 0310000000000000"));
    assert!(code.boosted());
    let (_, bytes) = crate::code("48ffc0", Mode::INTEL_64, 0x1000, 0x10_0000_0007);
    assert_eq!(bytes, hex("48ffc0 ff2500000000 0310000000000000"));
}

#[test]
fn long_copies_trap_where_a_far_jump_has_no_room() {
    for (text, boosted) in
        [("48b81122334455667788", true), ("6648b81122334455667788", false), ("666666666666660f1f8400000000", false)]
    {
        let Ok(insn) = insn::x86::decode(&hex(text), Mode::INTEL_64) else { continue };
        let code = match stepping::x86::plan(&insn, 0x1000) {
            stepping::x86::Plan::Slot(slot) => slot,
            stepping::x86::Plan::Emulate(emulate) => emulate.slot(),
            other => panic!("{other:?}"),
        };
        let code = code.assemble(0x10_0000_0000).unwrap();
        assert_eq!(code.boosted(), boosted, "{text}");
        assert_eq!(code.bytes[SLOT_SIZE - 1], 0xcc);
        if !boosted {
            assert_eq!(code.exit, Exit::Trap(insn.len() as u8));
        }
    }
}

#[test]
fn reach_ends_at_two_gib() {
    // The jump of `inc %rax` ends 8 bytes into the slot.
    let next = 0x10_0000_1003_u64;
    for (at, near) in [
        (next - 8 - 0x7fff_ffff, true),
        (next - 8 - 0x8000_0000, false),
        (next - 8 + 0x8000_0000, true),
        (next - 8 + 0x8000_0001, false),
    ] {
        let (_, bytes) = code("48ffc0", Mode::INTEL_64, next - 3, at);
        assert_eq!(bytes[3] == 0xe9, near, "{at:#x}");
    }
}

#[test]
fn distances_wrap_at_the_ends_of_the_address_space() {
    let (_, bytes) = code("48ffc0", Mode::INTEL_64, 0xffff_ffff_ffff_f000, 0x1000);
    assert_eq!(bytes, hex("48ffc0 e9fbdfffff"));
    let (_, bytes) = code("40", Mode::INTEL_32, 0xffff_ffff, 0x8000_0000);
    assert_eq!(bytes, hex("40 e9faffff7f"));
    for at in [0, 0x7fff_ffff, 0x8000_0000, 0xffff_ffe0] {
        let (code, bytes) = code("40", Mode::INTEL_32, 0x1000, at);
        assert!(code.boosted() && bytes.len() == 6, "{at:#x}");
    }
}

#[test]
fn branches_are_copied_so_that_they_fault_as_the_original() {
    // Only for a step: the target is absolute, wherever the slot lies.
    let code = emulate("e800000010", Mode::INTEL_64, 0x1000).slot().assemble(0x8000_0000_0000).unwrap();
    assert_eq!(code.bytes[..6], hex("ff1502000000"));
    assert_eq!(code.bytes[8..16], 0x1000_1005_u64.to_le_bytes());
    assert_eq!(code.exit, Exit::StepThenReturnAddress(8));
    let code = emulate("7410", Mode::INTEL_64, 0x1000).slot().assemble(0x2000).unwrap();
    assert_eq!(code.bytes[..6], hex("ff2502000000"));
    assert_eq!(code.exit, Exit::Step);
    // With a scratch register where the operand is out of reach.
    let code = emulate("ff2510000000", Mode::INTEL_64, 0x1000).slot().assemble(0x8000_0000_0000).unwrap();
    assert_eq!(code.scratch.unwrap().value, 0x1016);
    assert_eq!(code.exit, Exit::Step);
    assert_eq!(code.original(0).unwrap().pc, 0x1000);
}
