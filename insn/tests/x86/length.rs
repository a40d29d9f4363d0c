//! Lengths, in every mode and map.

use super::decode_padded;
use insn::x86::{Bits, Mode, Vendor};

fn check(mode: Mode, table: &[(&str, usize)]) {
    for (text, len) in table {
        let insn = decode_padded(text, mode).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(insn.len(), *len, "{text}");
    }
}

#[test]
fn vendors_differ_on_66_before_near_branches() {
    check(Mode::AMD_64, &[("66e8 0000", 4), ("660f84 0000", 5), ("66 48 e8 00000000", 7), ("66e9 0000", 4)]);
    check(Mode::INTEL_64, &[("66e8 00000000", 6), ("660f84 00000000", 7), ("66 48 e8 00000000", 7)]);
    check(Mode::INTEL_32, &[("66e8 0000", 4), ("66eb 00", 3)]);
}

#[test]
fn rex_counts_only_right_before_the_opcode() {
    check(
        Mode::AMD_64,
        &[
            ("48 66 89c0", 4),
            ("40 48 89c0", 4),
            ("4c 26 40 8900", 5),
            ("48 66 b8 0000", 5),
            ("66 48 b8 0000000000000000", 11),
        ],
    );
}

#[test]
fn ud0_and_ud1_have_a_modrm_on_intel_only() {
    check(Mode::AMD_64, &[("0fff", 2), ("0fb9", 2), ("0f0b", 2)]);
    check(Mode::INTEL_64, &[("67 0fb9 40 01", 5), ("0fff c0", 3), ("0f0b", 2)]);
}

#[test]
fn moves_of_control_registers_ignore_mod() {
    check(
        Mode::AMD_64,
        &[("0f20 00", 3), ("0f22 80", 3), ("0f21 04", 3), ("f0 0f20 c0", 4), ("67 0f20 00", 4), ("f0 0f20 00", 4)],
    );
    // cr8; and opcodes of the same numbers, or rows, have all sixteen.
    check(Mode::INTEL_64, &[("44 0f20 c0", 4), ("67 440faf 08", 5), ("67 4421 08", 4), ("d5c0 afc0", 4)]);
}

#[test]
fn reserved_nops_have_a_modrm() {
    check(
        Mode::AMD_64,
        &[
            ("0f18 00", 3),
            ("0f19 4000", 4),
            ("0f1d c0", 3),
            ("0f1e fa", 3),
            ("f30f1e fa", 4),
            ("0f1f 84 00 00000000", 8),
        ],
    );
    check(Mode::INTEL_64, &[("0f0d c0", 3)]);
}

#[test]
fn immediates_follow_operand_and_address_size() {
    check(
        Mode::INTEL_64,
        &[
            ("66 48 c2 0400", 5),
            ("66 c7f8 0000", 5),
            ("48 c7f8 00000000", 7),
            ("67 a0 00000000", 6),
            ("a0 0000000000000000", 9),
            ("48 b8 0000000000000000", 10),
            ("66 b8 0000", 4),
            ("c8 0000 00", 4),
            ("66 c8 0000 00", 5),
            ("f6 00 00", 3),
            ("f7 00 00000000", 6),
            ("66 f7 00 0000", 5),
            ("f7 10", 2),
            ("f6 c8 00", 3),
            ("69 c0 00000000", 6),
            ("66 0f78 c0 0000", 6),
            ("f2 0f78 c0 0000", 6),
        ],
    );
    check(
        Mode::INTEL_32,
        &[
            ("ea 00000000 0000", 7),
            ("66 9a 0000 0000", 6),
            ("a0 00000000", 5),
            ("67 a0 0000", 4),
            ("40", 1),
            ("62 00", 2),
            ("f7 00 00000000", 6),
            ("f7 c8 00000000", 6),
            ("f7 10", 2),
            ("f7 d0", 2),
            ("f7 20", 2),
        ],
    );
    check(
        Mode::new(Bits::B16, Vendor::Intel),
        &[
            ("b8 0000", 3),
            ("66 b8 00000000", 6),
            ("8b 06 0000", 4),
            ("67 8b 05 00000000", 7),
            ("8fea7810c1 00000000", 9),
        ],
    );
}

#[test]
fn modrm_and_sib_bring_displacements() {
    check(
        Mode::INTEL_64,
        &[
            ("8b 00", 2),
            ("8b 05 00000000", 6),
            ("8b 40 00", 3),
            ("8b 80 00000000", 6),
            ("8b 04 24", 3),
            ("8b 04 25 00000000", 7),
            ("8b 44 24 00", 4),
            ("8b 84 24 00000000", 7),
            ("41 8b 04 2d 00000000", 8),
            ("8b 44 25 00", 4),
        ],
    );
    check(Mode::INTEL_32, &[("67 8b 06 0000", 5), ("67 8b 46 00", 4), ("67 8b 86 0000", 5), ("67 8b 04", 3)]);
    check(
        Mode::INTEL_32,
        &[("8b 00", 2), ("8b 04 24", 3), ("8b 04 25 00000000", 7), ("8b 44 25 00", 4), ("62f17c48 58c0", 6)],
    );
}

#[test]
fn the_3dnow_opcode_is_the_last_byte() {
    check(Mode::AMD_64, &[("0f0f c0 9e", 4), ("0f0f 40 10 9e", 5)]);
    let insn = decode_padded("66 0f0f 40 10 9e", Mode::AMD_64).unwrap();
    assert_eq!((insn.opcode(), insn.opcode_offset(), insn.modrm_offset()), (0x9e, 5, Some(3)));
}
