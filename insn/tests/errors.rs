//! What is not an instruction, why, and which byte decided.

mod common;

use common::decode_padded;
use insn::x86::ErrorKind::{self, Lock, Mvex, Opcode, Operand, Prefix, Reserved, SameRegister, TooLong};
use insn::x86::{Bits, Mode, Vendor, decode};

fn check(mode: Mode, table: &[(&str, ErrorKind, u8)]) {
    for (text, kind, offset) in table {
        let error = decode_padded(text, mode).expect_err(text);
        assert_eq!((error.kind, error.offset), (*kind, *offset), "{text}: {error}");
    }
}

#[test]
fn lock_is_for_memory_destinations_of_some_instructions() {
    check(
        Mode::AMD_64,
        &[
            ("f0 90", Lock, 0),
            ("f0 01c0", Lock, 0),
            ("f0 48 8b00", Lock, 0),
            ("66 f0 3900", Lock, 1),
            ("f0 0fa3 00", Lock, 0),
            ("f0 0fbae0 01", Lock, 0),
            ("f0 0f20 e0", Lock, 0),
            ("f0 e8 00000000", Lock, 0),
        ],
    );
    for text in ["f0 0100", "f0 48 0fc108", "f0 0fb101", "f0 48 0fc708", "f0 8700", "f0 f600 00", "f0 0fab00"] {
        let ok = decode_padded(text, Mode::AMD_64).is_ok();
        assert_eq!(ok, text != "f0 f600 00", "{text}");
    }
    assert!(decode_padded("f0 0f20c0", Mode::INTEL_64).is_err());
}

#[test]
fn legacy_prefixes_and_rex_do_not_go_before_vex_evex_xop_and_rex2() {
    check(
        Mode::INTEL_64,
        &[
            ("66 c5f8 58c0", Prefix, 1),
            ("f2 c5f8 58c0", Prefix, 1),
            ("f3 c4e178 58c0", Prefix, 1),
            ("f0 c5f8 58c0", Prefix, 1),
            ("48 c5f8 58c0", Prefix, 1),
            ("66 62f17c48 58c0", Prefix, 1),
            ("40 62f17c48 58c0", Prefix, 1),
            ("66 8fe97802 f8", Prefix, 1),
            ("48 d50001c0", Prefix, 1),
        ],
    );
    for text in ["67 c5f8 5800", "2e c5f8 5800", "64 62f17c48 5800"] {
        assert!(decode_padded(text, Mode::INTEL_64).is_ok(), "{text}");
    }
}

#[test]
fn reserved_fields_must_be_as_the_manual_says() {
    check(
        Mode::INTEL_64,
        &[
            // VEX.vvvv without an operand there.
            ("c5e8 51c0", Reserved, 2),
            // z without a mask, and z with a memory destination.
            ("62f17cc8 58c0", Reserved, 4),
            ("62f17cc9 1100", Reserved, 4),
            // aaa without masking; a gather without a mask.
            ("62f17d49 73f801", Reserved, 4),
            // b with a register where there is neither rounding nor SAE, and with memory where nothing is broadcast.
            ("62f17c58 28c0", Reserved, 4),
            ("62f17c58 2800", Reserved, 4),
        ],
    );
    check(Mode::INTEL_32, &[("62f97c48 58c0", Reserved, 1), ("62f17c40 58c0", Reserved, 1)]);
}

#[test]
fn fixed_w_and_vector_lengths_are_checked() {
    check(
        Mode::INTEL_64,
        &[
            ("c4e2f5 0cc0", Opcode, 3),
            ("c4e279 16c0", Opcode, 3),
            ("62f17c68 58c0", Opcode, 4),
            ("62f1fc48 58c0", Prefix, 4),
            ("c4e37900 c000", Opcode, 3),
        ],
    );
}

#[test]
fn memory_and_register_forms_are_told_apart() {
    check(
        Mode::INTEL_64,
        &[
            ("8d c0", Operand, 1),
            ("0f13 c0", Operand, 2),
            ("0f50 00", Operand, 2),
            ("0fb2 c0", Operand, 2),
            ("c5f8 2bc0", Operand, 3),
            ("c4e279 8cc0", Operand, 4),
            ("0fc7 c8", Operand, 2),
        ],
    );
}

#[test]
fn gathers_and_tile_products_need_different_registers() {
    check(
        Mode::INTEL_64,
        &[
            ("c4e2f9 90 0c00", SameRegister, 4),
            ("c4e271 90 0c00", SameRegister, 4),
            ("c4e279 90 0400", SameRegister, 4),
            ("62f27d49 90 0400", SameRegister, 5),
            ("c4e27b 5e c0", SameRegister, 4),
            ("62f67e48 56c1", SameRegister, 5),
        ],
    );
    for text in ["c4e273 5e c2", "c4e269 90 0408", "62f27d49 90 0408", "62f67648 56c2"] {
        assert!(decode_padded(text, Mode::INTEL_64).is_ok(), "{text}");
    }
}

#[test]
fn holes_of_groups_and_x87_are_no_instructions() {
    check(
        Mode::INTEL_64,
        &[
            ("8ec8", Opcode, 0),
            ("8cf0", Opcode, 0),
            ("c6 4800", Opcode, 0),
            ("ff f8", Opcode, 0),
            ("d9 08", Operand, 1),
            ("d9 d1", Operand, 1),
            ("d9 ef", Operand, 1),
            ("df e1", Operand, 1),
            ("db 20", Operand, 1),
            ("0f20 c8", Opcode, 1),
            ("44 0f20 d0", Operand, 3),
            ("0fa6 00", Opcode, 1),
            ("0f04", Opcode, 1),
            ("0f24 c0", Opcode, 1),
            ("f3 0f28 c0", Prefix, 2),
            ("0fd6 c0", Prefix, 1),
            ("0fb8 c0", Prefix, 1),
        ],
    );
}

#[test]
fn what_is_gone_in_64_bit_mode_stays_in_32() {
    for text in [
        "06",
        "0e",
        "16",
        "1e",
        "27",
        "2f",
        "37",
        "3f",
        "60",
        "61",
        "82c000",
        "9a 000000000000",
        "ce",
        "d400",
        "d500",
        "d6",
        "ea 000000000000",
    ] {
        assert!(decode_padded(text, Mode::INTEL_32).is_ok(), "{text}");
    }
    check(
        Mode::INTEL_64,
        &[
            ("06", Opcode, 0),
            ("27", Opcode, 0),
            ("37", Opcode, 0),
            ("60", Opcode, 0),
            ("82c000", Opcode, 0),
            ("9a 000000000000", Opcode, 0),
            ("ce", Opcode, 0),
            ("d400", Opcode, 0),
            ("d6", Opcode, 0),
            ("ea 000000000000", Opcode, 0),
        ],
    );
    // With memory these are still les, lds, bound and pop outside 64-bit mode.
    for (text, len) in [("c400", 2), ("c500", 2), ("6200", 2), ("8f00", 2)] {
        assert_eq!(decode_padded(text, Mode::INTEL_32).unwrap().len(), len, "{text}");
    }
    assert!(decode_padded("c400", Mode::new(Bits::B16, Vendor::Intel)).is_ok());
}

#[test]
fn fifteen_bytes_are_the_limit() {
    let fits = "66666666 66666666 66666666 66 89c0";
    assert_eq!(decode_padded(fits, Mode::INTEL_64).unwrap().len(), 15);
    let long = format!("66 {fits}");
    check(Mode::INTEL_64, &[(long.as_str(), TooLong, 14)]);
    check(Mode::INTEL_64, &[("66666666 66666666 66666666 666666 66", TooLong, 14)]);
    // The sixteenth byte is not looked at: exactly fifteen are as good as more.
    let bytes = common::hex(&long);
    assert_eq!(decode(&bytes[..15], Mode::INTEL_64).unwrap_err().kind, TooLong);
}

#[test]
fn knights_corner_is_refused_by_name() {
    check(Mode::INTEL_64, &[("62f17848 58c0", Mvex, 2)]);
    check(Mode::INTEL_32, &[("62f17848 5800", Mvex, 2)]);
}

#[test]
fn lenient_modes_accept_what_zen_4_ignores() {
    // W of vpermq, mask registers above k7, a broadcast bit with registers, reserved aaa.
    for text in ["c4e37d00 c100", "c4e19541c1", "62f215d90cc1", "c57d4ac5", "62411ef87bda"] {
        assert!(decode_padded(text, Mode::AMD_64).is_err(), "{text}");
        assert!(decode_padded(text, Mode::AMD_64.lenient()).is_ok(), "{text}");
    }
}
