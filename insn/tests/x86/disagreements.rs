//! Encodings on which decoders are known to disagree. The lengths of those that execute were taken from a Zen 4 and a Xeon of Intel's family 6, model 207.

use super::decode_padded;
use insn::x86::{Encoding, Mode};

fn lengths(mode: Mode, table: &[(&str, usize)]) {
    for (text, len) in table {
        assert_eq!(decode_padded(text, mode).map(|i| i.len()), Ok(*len), "{text}");
    }
}

#[test]
fn operand_size_before_near_branches() {
    lengths(Mode::AMD_64, &[("66e80000", 4), ("660f840000", 5), ("6648e800000000", 7), ("667400", 3)]);
    lengths(Mode::INTEL_64, &[("66e800000000", 6), ("660f8400000000", 7), ("6648e800000000", 7)]);
}

#[test]
fn misplaced_rex() {
    lengths(Mode::AMD_64, &[("486689c0", 4), ("404889c0", 4), ("4c26408900", 5)]);
    assert!(!decode_padded("486689c0", Mode::AMD_64).unwrap().w());
    assert_eq!(decode_padded("4c26408900", Mode::AMD_64).unwrap().reg(), 0);
}

#[test]
fn undefined_instructions() {
    lengths(Mode::AMD_64, &[("0fff", 2), ("0fb9", 2), ("0f0b", 2)]);
    lengths(Mode::INTEL_64, &[("0fffc0", 3), ("670fb94001", 5), ("0f0b", 2)]);
    // Xen's mark behind ud2 is no part of it.
    lengths(Mode::INTEL_64, &[("0f0b78656e", 2)]);
}

#[test]
fn control_registers() {
    lengths(Mode::AMD_64, &[("0f2000", 3), ("0f2080", 3), ("f00f20c0", 4)]);
    assert!(decode_padded("f00f20c0", Mode::INTEL_64).is_err());
}

#[test]
fn system_calls_and_the_trust_domains_call_in_32_bit_code() {
    lengths(Mode::AMD_32, &[("0f05", 2), ("0f07", 2), ("0f34", 2)]);
    lengths(Mode::INTEL_32, &[("0f34", 2), ("660f01cc", 4)]);
    for text in ["0f05", "0f07", "660f01cd"] {
        assert!(decode_padded(text, Mode::INTEL_32).is_err(), "{text}");
        assert!(decode_padded(text, Mode::INTEL_64).is_ok(), "{text}");
    }
}

#[test]
fn reserved_nops_and_prefetches() {
    for opcode in 0x18..=0x1f {
        lengths(Mode::AMD_64, &[(&format!("0f{opcode:02x}00"), 3), (&format!("0f{opcode:02x}c0"), 3)]);
    }
    lengths(Mode::AMD_64, &[("0f0d00", 3), ("660f0d00", 4)]);
    lengths(Mode::INTEL_64, &[("0f0dc0", 3)]);
    assert!(decode_padded("0f0dc0", Mode::AMD_64).is_err());
}

#[test]
fn immediates_that_no_prefix_changes() {
    lengths(
        Mode::AMD_64,
        &[("6648c20400", 5), ("66c20400", 4), ("66c7f80000", 5), ("48c7f800000000", 7), ("67a000000000", 6)],
    );
}

#[test]
fn apx_and_avx10() {
    lengths(Mode::INTEL_64, &[("d50001c0", 4), ("62f47c1801c0", 6), ("c4e77bf8c000000000", 9)]);
    assert_eq!(decode_padded("d50001c0", Mode::INTEL_64).unwrap().encoding(), Encoding::Rex2);
    // AVX10.2: vminmaxps, vcvtps2ibs, vcomxss, vmovd between registers.
    lengths(Mode::INTEL_64, &[("62f36d4852c101", 7), ("62f57d4869c1", 6), ("62f17e082fc1", 6), ("62f17e087ec1", 6)]);
}

#[test]
fn apx_legacy_instructions_in_map_4() {
    lengths(
        Mode::INTEL_64,
        &[
            ("62f46c18ffc1", 6),
            ("62f47c08ffc1", 6),
            ("62f47c0c01c8", 6),
            ("62f47c0c81c078563412", 10),
            ("62f47d0881c03412", 8),
            ("62f4040439c8", 6),
            ("62f47c0844c8", 6),
            ("62f46c1844c8", 6),
            ("62f47f0844c0", 6),
            ("62f47f1844c0", 6),
            ("62f46c188fc0", 6),
            ("62f46c18fff0", 6),
            ("62f47c08f0c8", 6),
            ("62f47c0860c8", 6),
            ("62f47d0866c8", 6),
            ("62f46d1866c8", 6),
            ("62f47c0888c8", 6),
        ],
    );
}

#[test]
fn extensions_that_some_decoders_miss() {
    let mode = Mode::INTEL_64;
    // XOP, 3DNow!, AMX, FP16, D6 outside 64-bit mode, LKGS, FRED, UINTR, key locker, CET, SHA512, SM3, SM4.
    lengths(
        mode,
        &[
            ("8fe97880c1", 5),
            ("0f0fc09e", 4),
            ("c4e2735ec2", 5),
            ("62f57c4858c1", 6),
            ("f20f00f7", 4),
            ("f20f01ca", 4),
            ("f30f01ca", 4),
            ("f30f01ec", 4),
            ("f30fc7f0", 4),
            ("f30f38dcc1", 5),
            ("f3480f1ec8", 5),
            ("c4e277cbc1", 5),
            ("c4e278dac1", 5),
            ("c4e272dac1", 5),
            ("c4e271e00411", 6),
            ("0f01e8", 3),
            ("0f01fc", 3),
            ("0f01fd", 3),
            ("f20f01ff", 4),
            ("0f38fc01", 4),
        ],
    );
    assert_eq!(decode_padded("d6", Mode::INTEL_32).unwrap().len(), 1);
    // udb.
    assert_eq!(decode_padded("d6", mode).unwrap().len(), 1);
}

#[test]
fn x87_aliases() {
    lengths(Mode::AMD_64, &[("dcd0", 2), ("dfd0", 2), ("d9d8", 2), ("ddc8", 2), ("dfc0", 2), ("ded0", 2)]);
}

#[test]
fn reserved_bits_that_zen_4_ignores() {
    lengths(Mode::AMD_64.lenient(), &[("c57d4ac5", 4), ("62411ef87bda", 6), ("62f215d90cc1", 6), ("c4e37d00c100", 6)]);
}
