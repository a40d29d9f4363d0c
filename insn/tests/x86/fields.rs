//! Where the parts of an instruction lie.

use super::{decode_padded, insn};
use insn::x86::{Bits, Encoding, Map, Mode, Prefixes, Vendor};

#[test]
fn offsets_of_opcode_modrm_sib_displacement_and_immediate() {
    // Text, prefixes, opcode, modrm, sib, displacement (offset, size, value), immediate (the same).
    type Row = (&'static str, usize, usize, Option<usize>, Option<usize>, Option<(u8, u8, i64)>, Option<(u8, u8, i64)>);
    let table: &[Row] = &[
        ("90", 0, 0, None, None, None, None),
        ("48 8b 05 f0ffffff", 1, 1, Some(2), None, Some((3, 4, -16)), None),
        ("66 c7 44 24 08 3412", 1, 1, Some(2), Some(3), Some((4, 1, 8)), Some((5, 2, 0x1234))),
        ("48 b8 f0debc9a78563412", 1, 1, None, None, None, Some((2, 8, 0x1234_5678_9abc_def0))),
        ("a0 8877665544332211", 0, 0, None, None, None, Some((1, 8, 0x1122_3344_5566_7788))),
        ("eb fe", 0, 0, None, None, None, Some((1, 1, -2))),
        ("f2 0f 10 40 10", 1, 2, Some(3), None, Some((4, 1, 16)), None),
        ("66 0f 3a 0f c1 04", 1, 3, Some(4), None, None, Some((5, 1, 4))),
        ("c5 f8 58 40 10", 2, 2, Some(3), None, Some((4, 1, 16)), None),
        ("c4 e3 79 0f c1 05", 3, 3, Some(4), None, None, Some((5, 1, 5))),
        ("62 f1 7c 48 58 40 01", 4, 4, Some(5), None, Some((6, 1, 1)), None),
        ("d5 10 8b 40 10", 2, 2, Some(3), None, Some((4, 1, 16)), None),
        ("c8 1000 02", 0, 0, None, None, None, Some((1, 2, 0x10))),
        ("0f 0f 40 10 9e", 0, 4, Some(2), None, Some((3, 1, 16)), None),
        ("0f 78 c1", 0, 1, Some(2), None, None, None),
        ("d5 90 af c0", 2, 2, Some(3), None, None, None),
        // Up to the fifteenth byte.
        (
            "36 36 36 48 c7 84 24 04030201 08070605",
            4,
            4,
            Some(5),
            Some(6),
            Some((7, 4, 0x0102_0304)),
            Some((11, 4, 0x0506_0708)),
        ),
    ];
    for (text, prefixes, opcode, modrm, sib, displacement, immediate) in table {
        let i = insn(text);
        let field = |f: Option<insn::x86::Field>| f.map(|f| (f.offset, f.size, f.value));
        assert_eq!(i.len(), super::hex(text).len(), "{text}");
        let found = (i.prefix_len(), i.opcode_offset(), i.modrm_offset(), i.sib_offset());
        assert_eq!(found, (*prefixes, *opcode, *modrm, *sib), "{text}");
        assert_eq!((field(i.displacement()), field(i.immediate())), (*displacement, *immediate), "{text}");
    }
    let enter = insn("c8 1000 02").immediate2().unwrap();
    assert_eq!((enter.offset, enter.size, enter.value), (3, 1, 2));
    let extrq = insn("66 0f 78 c1 04 08");
    assert_eq!((extrq.immediate().unwrap().value, extrq.immediate2().unwrap().value), (4, 8));
}

#[test]
fn encodings_and_maps() {
    let table = [
        ("89c0", Encoding::Legacy, Map::OneByte, 0x89),
        ("0fafc0", Encoding::Legacy, Map::M0F, 0xaf),
        ("660f3800c1", Encoding::Legacy, Map::M0F38, 0x00),
        ("660f3a0fc100", Encoding::Legacy, Map::M0F3A, 0x0f),
        ("0f0fc09e", Encoding::Legacy, Map::Amd3DNow, 0x9e),
        ("d51001c0", Encoding::Rex2, Map::OneByte, 0x01),
        ("d590afc0", Encoding::Rex2, Map::M0F, 0xaf),
        ("c5f858c0", Encoding::Vex, Map::M0F, 0x58),
        ("c4e27900c1", Encoding::Vex, Map::M0F38, 0x00),
        ("c4e37b f0c000", Encoding::Vex, Map::M0F3A, 0xf0),
        ("c4e77bf8c000000000", Encoding::Vex, Map::Map7, 0xf8),
        ("c4e551fdc1", Encoding::Vex, Map::Map5, 0xfd),
        ("8fe878a2c110", Encoding::Xop, Map::Xop8, 0xa2),
        ("8fe97880c1", Encoding::Xop, Map::Xop9, 0x80),
        ("8fea7810c100000000", Encoding::Xop, Map::XopA, 0x10),
        ("62f47c1801c0", Encoding::Evex, Map::Map4, 0x01),
        ("62f57c4858c0", Encoding::Evex, Map::Map5, 0x58),
        ("62f67d4898c0", Encoding::Evex, Map::Map6, 0x98),
    ];
    for (text, encoding, map, opcode) in table {
        let i = insn(text);
        assert_eq!(
            (i.encoding(), i.map(), i.opcode(), i.len()),
            (encoding, map, opcode, super::hex(text).len()),
            "{text}"
        );
    }
}

#[test]
fn register_numbers_have_their_extension_bits() {
    // Text, reg, rm, vvvv, w.
    let table = [
        ("89c8", 1, 0, 0, false),
        ("4d89c8", 9, 8, 0, true),
        ("41 57", 0, 15, 0, false),
        ("d55c 89c8", 25, 16, 0, true),
        ("c5e858c1", 0, 1, 2, false),
        ("c44108 58c1", 8, 9, 14, false),
        ("6281 74 40 58c1", 16, 25, 17, false),
        // X is a bit of rm where EVEX names a vector register there, and nowhere else.
        ("c4a178 58c1", 0, 1, 0, false),
        ("62b17608 2ac1", 0, 1, 1, false),
    ];
    for (text, reg, rm, vvvv, w) in table {
        let i = insn(text);
        assert_eq!((i.reg(), i.rm(), i.vvvv(), i.w()), (reg, rm, vvvv, w), "{text}");
    }
    // Outside 64-bit mode vvvv names one of eight.
    for (text, vvvv) in [("c5f858c1", 0), ("c5e858c1", 2), ("c4e130 58c1", 1)] {
        assert_eq!(decode_padded(text, Mode::INTEL_32).unwrap().vvvv(), vvvv, "{text}");
    }
}

#[test]
fn prefixes_are_listed() {
    let i = insn("f0 66 67 2e 0100");
    for bit in [Prefixes::LOCK, Prefixes::OPERAND_SIZE, Prefixes::ADDRESS_SIZE, Prefixes::SEGMENT] {
        assert!(i.prefixes().has(bit));
    }
    assert!(!i.prefixes().has(Prefixes::REP | Prefixes::REPNE));
    assert!(insn("f3a4").prefixes().has(Prefixes::REP));
    assert!(insn("f2a6").prefixes().has(Prefixes::REPNE));
}

#[test]
fn sizes_follow_prefixes_and_forms() {
    let table = [
        ("89c0", 4, 8),
        ("6689c0", 2, 8),
        ("4889c0", 8, 8),
        ("88c0", 1, 8),
        ("50", 8, 8),
        ("6650", 2, 8),
        ("67 8b00", 4, 4),
        ("ffe0", 8, 8),
        ("c3", 8, 8),
        ("0f20c0", 8, 8),
        ("0fb6c0", 4, 8),
        ("f6c101", 1, 8),
    ];
    for (text, operand, address) in table {
        assert_eq!((insn(text).operand_size(), insn(text).address_size()), (operand, address), "{text}");
    }
    let b16 = Mode::new(Bits::B16, Vendor::Intel);
    let outside = [
        ("66 67 8b00", Mode::INTEL_32, 2, 2),
        ("8b00", Mode::INTEL_32, 4, 4),
        ("8b00", b16, 2, 2),
        ("66 8b00", b16, 4, 2),
        ("67 8b00", b16, 2, 4),
    ];
    for (text, mode, operand, address) in outside {
        let i = decode_padded(text, mode).unwrap();
        assert_eq!((i.operand_size(), i.address_size()), (operand, address), "{text} {mode:?}");
    }
    // 66 before a near branch counts on AMD alone.
    let near = |text, mode| decode_padded(text, mode).unwrap().operand_size();
    for text in ["66e8 00000000", "66ffd0", "66ff20", "66c3", "66c2 0000", "66 7400", "66e200"] {
        assert_eq!((near(text, Mode::INTEL_64), near(text, Mode::AMD_64)), (8, 2), "{text}");
    }
}
