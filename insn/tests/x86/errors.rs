//! What is not an instruction, why, and which byte decided.

use super::decode_padded;
use insn::x86::ErrorKind::{self, Lock, Mvex, Opcode, Operand, Prefix, Reserved, SameRegister, TooLong};
use insn::x86::{Bits, Mode, Reg, Vendor, decode};

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
    for prefix in ["f0", "66", "67", "f2", "f3"] {
        check(Mode::INTEL_64, &[(&format!("{prefix} d500a1 0000000000000000"), Prefix, 0)]);
    }
    assert!(decode_padded("2e d500a1 0000000000000000", Mode::INTEL_64).is_ok());
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
            ("62f27d48 90 0408", Reserved, 4),
        ],
    );
    // W of jmpabs' prefix; its extension bits extend nothing.
    check(Mode::INTEL_64, &[("d508a1 0000000000000000", Reserved, 1)]);
    for bit in [0, 1, 2, 4, 5, 6] {
        assert!(decode_padded(&format!("d5{:02x}a1 0000000000000000", 1 << bit), Mode::INTEL_64).is_ok());
    }
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
    // W that means nothing elsewhere.
    assert!(decode_padded("c4e3f916 c000", Mode::AMD_32).is_err());
    assert!(decode_padded("c4e3f916 c000", Mode::INTEL_32).is_ok());
}

#[test]
fn maps_that_do_not_exist_are_refused_at_their_byte() {
    check(
        Mode::INTEL_64,
        &[
            ("c4e078 58c0", Opcode, 1),
            ("c4e478 58c0", Opcode, 1),
            ("8feb78 58c0", Opcode, 1),
            ("62f07c48 58c0", Opcode, 1),
        ],
    );
}

#[test]
fn rex2_introduces_neither_prefixes_nor_escapes_nor_rows_that_have_other_uses() {
    let prefixes = [0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x62, 0x64, 0x65, 0x66, 0x67, 0xc4, 0xc5, 0xd5, 0xf0, 0xf2, 0xf3];
    for opcode in prefixes.into_iter().chain([0x40, 0x4f, 0x70, 0x7f, 0xa0, 0xaf, 0xe0, 0xef]) {
        check(Mode::INTEL_64, &[(&format!("d500{opcode:02x}"), Opcode, 2)]);
    }
    for opcode in [0x30, 0x3f, 0x80, 0x8f, 0x0f] {
        check(Mode::INTEL_64, &[(&format!("d580{opcode:02x}"), Opcode, 2)]);
    }
    // XSAVE and its kin, of memory; what registers have in their place is there.
    for text in ["d580ae20", "d580ae28", "d580ae30", "d580c718", "d580c720", "d580c728"] {
        check(Mode::INTEL_64, &[(text, Opcode, 2)]);
    }
    for text in ["f3 d580aee0", "d580ae18", "d580c7f0", "d58043c1", "d50083c000", "d50001c0", "d500f7d8"] {
        assert!(decode_padded(text, Mode::INTEL_64).is_ok(), "{text}");
    }
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
            ("f0 0f13 c0", Operand, 3),
        ],
    );
}

#[test]
fn gathers_and_tiles_are_not_addressed_by_16_bits() {
    check(Mode::INTEL_32, &[("67 c4e269 90 04", Operand, 5)]);
    for text in ["c4e269 90 0408", "67 c5f858 00", "67 c5f858 c1"] {
        assert!(decode_padded(text, Mode::INTEL_32).is_ok(), "{text}");
    }
}

#[test]
fn there_are_eight_masks_and_tiles() {
    check(
        Mode::INTEL_64,
        &[
            // Tiles in modrm.reg, modrm.rm and vvvv.
            ("c46273 5ec2", Operand, 4),
            ("c4c273 5ec2", Operand, 4),
            ("c4e233 5ec2", Operand, 4),
            ("c4627b 4b 0408", Operand, 4),
            ("c4627a 5fc1", Operand, 4),
            ("c4c27a 5fc1", Operand, 4),
            ("62d27e48 4ac1", Operand, 5),
            // Masks in modrm.reg and vvvv.
            ("c57990 c1", Operand, 3),
            ("c56c41 cb", Operand, 3),
            ("c5ac41 cb", Operand, 3),
        ],
    );
    for text in [
        "c4e273 5efa",
        "c4e243 5ec2",
        "c4e273 5ec7",
        "c4e27b 4b 3c08",
        "c4c27b 4b 0408",
        "c4e27a 5fc7",
        "c4e27a 5ff9",
        "62727e48 4ac1",
        "62f27e48 4ac7",
        "c5f990 f9",
        "c5ec41 fb",
        "c5c441 cb",
    ] {
        assert!(decode_padded(text, Mode::INTEL_64).is_ok(), "{text}");
    }
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
            ("62f67648 56c0", SameRegister, 5),
            ("c4e273 5e c0", SameRegister, 4),
            ("c4e273 5e c1", SameRegister, 4),
        ],
    );
    // The last has zmm0 and zmm16.
    for text in ["c4e273 5e c2", "c4e269 90 0408", "62f27d49 90 0408", "62f67648 56c2", "62b67648 56c0"] {
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
    let bytes = super::hex(&long);
    assert_eq!(decode(&bytes[..15], Mode::INTEL_64).unwrap_err().kind, TooLong);
}

#[test]
fn what_ends_too_early_is_truncated_at_its_end_whatever_would_follow() {
    for text in [
        "", "66", "48", "0f", "0f38", "c4", "c4e2", "c5", "c5f8", "62", "62f1", "62f17c", "8f", "8fe8", "d5", "d500",
        "8b", "8b04",
    ] {
        let bytes = super::hex(text);
        let error = decode(&bytes, Mode::INTEL_64).unwrap_err();
        assert_eq!((error.kind, usize::from(error.offset)), (ErrorKind::Truncated, bytes.len()), "{text}");
    }
}

#[test]
fn knights_corner_is_refused_by_name() {
    check(Mode::INTEL_64, &[("62f17848 58c0", Mvex, 2)]);
    check(Mode::INTEL_32, &[("62f17848 5800", Mvex, 2)]);
}

#[test]
fn lenient_modes_accept_what_zen_3_and_4_ignore() {
    // W of vpermq, mask registers above k7, a broadcast bit with registers, reserved aaa.
    for text in ["c4e37d00 c100", "c4e19541c1", "62f215d90cc1", "c57d4ac5", "62411ef87bda", "c57990c1"] {
        assert!(decode_padded(text, Mode::AMD_64).is_err(), "{text}");
        assert!(decode_padded(text, Mode::AMD_64.lenient()).is_ok(), "{text}");
        assert!(decode_padded(text, Mode::INTEL_64.lenient()).is_err(), "{text}: Intel's ignore nothing");
    }
    // Prefixes of rdpkru and wrpkru, by a Zen 3.
    for text in ["660f01ee", "f20f01ee", "f30f01ee", "660f01ef", "f20f01ef", "f30f01ef"] {
        assert!(decode_padded(text, Mode::AMD_64).is_err(), "{text}");
        let insn = decode_padded(text, Mode::AMD_64.lenient()).unwrap();
        let side = if text.ends_with('e') { insn.reads() } else { insn.writes() };
        assert!(side.contains(Reg::PKRU), "{text}");
    }
    // The broadcast bit is not ignored where memory would not be broadcast.
    assert!(decode_padded("62f17c5828c0", Mode::AMD_64.lenient()).is_err());
}
