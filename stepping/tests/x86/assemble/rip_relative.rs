//! rip-relative operands, by displacement and by scratch register.

use insn::x86::{Mode, Reg};
use stepping::x86::{Exit, Progress, Scratch};

use crate::{code, hex};

const FAR: u64 = 0x70_0000_0000;

#[test]
fn the_displacement_is_rewritten_within_reach() {
    for (text, copy) in [
        ("488b0500010000", "488b0500f1ffff"),
        ("c6050001000012", "c60500f1ffff12"),
        ("c5f8100500010000", "c5f8100500f1ffff"),
        ("62f17c48100500010000", "62f17c48100500f1ffff"),
    ] {
        let (code, bytes) = code(text, Mode::INTEL_64, 0x1000, 0x2000);
        assert_eq!(bytes[..hex(copy).len()], hex(copy), "{text}");
        assert!(code.boosted() && code.scratch.is_none());
    }
}

#[test]
fn a_displacement_reaches_to_two_gib_exactly() {
    // Ends 7 bytes into the slot; the operand is at 0x1107.
    for (at, near) in [(0x1107 - 7 + 0x8000_0000_u64, true), (0x1107 - 7 + 0x8000_0001, false)] {
        let (code, _) = code("488b0500010000", Mode::INTEL_64, 0x1000, at);
        assert_eq!(code.scratch.is_none(), near, "{at:#x}");
    }
}

#[test]
fn the_scratch_register_is_one_that_the_instruction_does_not_use() {
    for (text, scratch, copy) in [
        ("488b0500010000", Reg::RCX, "488b8100000000"),
        ("480fa50500010000", Reg::RDX, "480fa58200000000"),
        ("48f72500010000", Reg::RCX, "48f7a100000000"),
        ("480fc70d00010000", Reg::RSI, "480fc78e00000000"),
        ("0fae2500010000", Reg::RCX, "0faea100000000"),
        ("c4e2fbf60500010000", Reg::RCX, "c4e2fbf68100000000"),
        ("c4e2ebf60500010000", Reg::RCX, "c4e2ebf68100000000"),
        ("c4e2f3f60500010000", Reg::RBX, "c4e2f3f68300000000"),
        ("660f3a610500010000 09", Reg::RBX, "660f3a618300000000 09"),
    ] {
        let (code, bytes) = code(text, Mode::INTEL_64, 0x1000, FAR);
        let value = 0x1100 + hex(text).len() as u64;
        assert_eq!(code.scratch, Some(Scratch { register: scratch, value }), "{text}");
        assert_eq!(bytes, hex(copy), "{text}");
        assert_eq!(code.exit, Exit::Trap(bytes.len() as u8));
        assert_eq!(code.original(code.len).unwrap().progress, Progress::After);
    }
}

#[test]
fn ignored_extension_bits_are_cleared() {
    for (text, copy) in [
        ("498b0500010000", "488b8100000000"),
        ("66418b0500010000", "66408b8100000000"),
        ("41418b0500010000", "41408b8100000000"),
        ("c4c178100500010000", "c4e178108000000000"),
        ("8fc878a20500010000 10", "8fe878a28000000000 10"),
        // C5 has none, and the prefix before it is another.
        ("65c5f8100500010000", "65c5f8108000000000"),
        ("62d17c48100500010000", "62f17c48108000000000"),
        ("d5018b0500010000", "d5008b8100000000"),
        ("d5118b0500010000", "d5008b8100000000"),
    ] {
        let (_, bytes) = code(text, Mode::INTEL_64, 0x1000, FAR);
        assert_eq!(bytes, hex(copy), "{text}");
    }
}

#[test]
fn thirty_two_bit_addresses_always_reach() {
    let (code, bytes) = code("67488d0500010000", Mode::INTEL_64, 0x1000, FAR + 0x1000);
    assert_eq!(bytes[..8], hex("67488d0500010000"));
    assert!(code.boosted() && code.scratch.is_none());
}

#[test]
fn far_transfers_with_a_scratch_register_are_stepped() {
    let (jump, _) = code("ff2d00010000", Mode::INTEL_64, 0x1000, FAR);
    assert_eq!(jump.exit, Exit::Step);
    assert!(jump.scratch.is_some());
    let (call, _) = code("ff1d00010000", Mode::INTEL_64, 0x1000, FAR);
    assert_eq!(call.exit, Exit::StepThenReturnAddress(4));
    assert!(call.scratch.is_some());
}
