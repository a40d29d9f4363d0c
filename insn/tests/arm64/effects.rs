//! Registers, flags and memory that instructions read and write.

use crate::insn;
use insn::Access;
use insn::arm64::{Address, Exclusive, Extend, LandingPad, Memory, Nzcv, PcRelative, Reg, RegSet, Trap, Writeback};

#[test]
fn registers_are_those_that_fields_and_implication_name() {
    let table = [
        (0x8b02_0020, "x1 x2", "x0"),
        (0x9100_03ff, "sp", "sp"),
        (0xeb02_003f, "x1 x2", "nzcv"),
        (0x9a82_0020, "x1 x2 nzcv", "x0"),
        (0xf282_4680, "x0", "x0"),
        (0x1000_001f, "pc", ""),
        (0xa9bf_7bfd, "x29 x30 sp", "sp"),
        (0xf840_8420, "x1", "x0 x1"),
        (0xf861_7862, "x1 x3", "x2"),
        (0xf8e1_0020, "x1", "x0"),
        (0x4822_7c44, "x2 x3 x4 x5", "x2 x3"),
        (0x4e22_8420, "z1 z2", "z0"),
        (0x4e28_4820, "z0 z1", "z0"),
        (0x1e62_2820, "z1 z2 fpsr fpcr", "z0 fpsr"),
        (0x0c40_003e, "x1", "z0 z1 z30 z31"),
        (0x0422_0020, "z1 z2", "z0"),
        (0x0400_0441, "z1 z2 p1", "z1"),
        (0xd65f_0bff, "x30 sp", "pc"),
        (0xd503_233f, "x30 sp", "x30"),
        (0xd53b_d040, "tpidr_el0", "x0"),
        (0xd53b_4200, "nzcv", "x0"),
        (0x1d01_0440, "x0 x1 x2", "x0 x1 x2 nzcv"),
        (0x9400_0000, "pc", "x30 pc"),
        // ld1b of {z4-z7}, {z2, z3} and {z17, z25} under pn9.
        (0xa003_8424, "x1 x3 p9", "z4 z5 z6 z7"),
        (0xa003_0422, "x1 x3 p9", "z2 z3"),
        (0xa103_0431, "x1 x3 p9", "z17 z25"),
        // ld1h of {z4-z7} under pn9; whilelt of {p2, p3}.
        (0xa003_a424, "x1 x3 p9", "z4 z5 z6 z7"),
        (0x2522_5432, "x1 x2", "p2 p3 nzcv"),
        // whilele of {p2, p3}; fmla by an element of z7, one of the first eight.
        (0x2522_5433, "x1 x2", "p2 p3 nzcv"),
        (0x6437_0020, "z0 z1 z7 fpsr fpcr", "z0 fpsr"),
        // gcsss1 x1; gcsss2 x1.
        (0xd50b_7741, "x1 gcspr", "gcspr"),
        (0xd52b_7761, "gcspr", "x1 gcspr"),
    ];
    let names = |set: insn::arm64::RegSet| set.iter().map(|r| r.to_string()).collect::<Vec<_>>().join(" ");
    for (word, reads, writes) in table {
        let insn = insn(word);
        assert_eq!((names(insn.reads()), names(insn.writes())), (reads.to_owned(), writes.to_owned()), "{word:#010x}");
    }
}

#[test]
fn what_is_written_is_overwritten_but_for_sticky_and_wide_state() {
    let table = [
        (0x8b02_0020, "x0"),
        // movk, which reads what it keeps; a post-indexed load; bl; ins, into one element.
        (0xf282_4680, "x0"),
        (0xf840_8420, "x0 x1"),
        (0x9400_0000, "x30"),
        (0x6e04_0420, "z0"),
        // fadd, whose exceptions add up in FPSR; smstart, by which vectors may stay as they are.
        (0x1e62_2820, "z0"),
        (0xd503_477f, ""),
    ];
    let names = |set: RegSet| set.iter().map(|r| r.to_string()).collect::<Vec<_>>().join(" ");
    for (word, overwrites) in table {
        let insn = insn(word);
        assert_eq!(names(insn.overwrites()), overwrites, "{word:#010x}");
        assert!(insn.overwrites().difference(insn.writes()).is_empty(), "{word:#010x}");
    }
}

#[test]
fn vector_conversions_from_fixed_point_note_exceptions() {
    // ucvtf and fcvtzu by an immediate; sshll, beside them, computes with integers.
    for word in [0x6f13_e70c, 0x4f55_ffec] {
        assert!(insn(word).writes().contains(Reg::FPSR), "{word:#010x}");
    }
    assert!(!insn(0x0f0b_a420).writes().contains(Reg::FPSR));
}

#[test]
fn memory_operands_tell_address_size_and_access() {
    let sp = Address::Register(Reg::SP);
    let x1 = Address::Register(Reg::general(1));
    let table = [
        (0xa9bf_7bfd, sp, -16, Some(Writeback::Pre), 16, Access::Write),
        (0xf840_8420, x1, 8, Some(Writeback::Post), 8, Access::Read),
        (0x3dc0_0420, x1, 16, None, 16, Access::Read),
        (0x5800_0040, Address::Pc, 8, None, 8, Access::Read),
        (0xd8ff_ffe0, Address::Pc, -4, None, 0, Access::None),
        (0xc85f_7c20, x1, 0, None, 8, Access::Read),
        (0xc8e2_7c20, x1, 0, None, 8, Access::ReadWrite),
        (0x0cdf_0020, x1, 32, Some(Writeback::Post), 32, Access::Read),
        (0xf87f_f420, x1, -8, None, 8, Access::Read),
    ];
    for (word, base, displacement, writeback, size, access) in table {
        let memory = insn(word).memory().unwrap_or_else(|| panic!("{word:#010x} has no memory operand"));
        assert_eq!(
            (memory.base, memory.displacement, memory.writeback, memory.size, memory.access),
            (base, displacement, writeback, size, access),
            "{word:#010x}"
        );
    }
    let [to, from] = insn(0x1d01_0440).memories().map(|memory| memory.expect("a copy has two"));
    assert_eq!((to.base, to.access), (Address::Register(Reg::general(0)), Access::Write));
    assert_eq!((from.base, from.access), (x1, Access::Read));
}

#[test]
fn what_is_written_beside_operands_is_told() {
    // mrs x0, rndr; mrs x0, rndrrs
    for word in [0xd53b_2400, 0xd53b_2420] {
        assert_eq!(insn(word).flags_written(), Nzcv::ALL, "{word:#010x}");
    }
    // ctermeq x1, x0 keeps z and c.
    assert_eq!(insn(0x25a0_2020).flags_read(), Nzcv::C);
    assert_eq!(insn(0x25a0_2020).flags_written(), Nzcv::N.union(Nzcv::V));
    // zero {za} and zero {zt0}
    assert!(insn(0xc008_00ff).writes().contains(Reg::ZA));
    assert!(insn(0xc048_0001).writes().contains(Reg::ZT0));
    // smstop sm; smstop; msr svcr, x0
    for word in [0xd503_427f, 0xd503_467f, 0xd51b_4240] {
        for reg in [Reg::vector(0), Reg::vector(31), Reg::predicate(0), Reg::predicate(15), Reg::FFR, Reg::FPSR] {
            assert!(insn(word).writes().contains(reg), "{word:#010x} {reg}");
        }
        assert_eq!(insn(word).writes().contains(Reg::ZA), word != 0xd503_427f, "{word:#010x}");
    }
    // smstop za
    let [za, vector] = [Reg::ZA, Reg::vector(0)].map(|reg| insn(0xd503_447f).writes().contains(reg));
    assert_eq!((za, vector), (true, false));
    // Addresses are signed with the pc by autiasppc, retaasppc, paciasppc, pacnbiasppc.
    for word in [0xf380_003f, 0x5500_021f, 0xdac1_a3fe, 0xdac1_83fe] {
        assert!(insn(word).reads().contains(Reg::PC), "{word:#010x}");
    }
}

/// Base, index with its extension and shift, displacement, write-back; size, access.
fn text(memory: &Memory) -> String {
    let base = match memory.base {
        Address::Register(base) => base.to_string(),
        Address::Elements(base) => format!("{base}.d"),
        other => format!("{other:?}"),
    };
    let extend = match memory.extend {
        Extend::Uxtw => "uxtw",
        Extend::Sxtw => "sxtw",
        _ => "lsl",
    };
    let index = memory.index.map(|index| format!(" {index} {extend} {}", memory.shift)).unwrap_or_default();
    let unit = if memory.by_vector_length { "vl" } else { "" };
    let writeback = memory.writeback.map(|when| format!(" {when:?}")).unwrap_or_default();
    format!("{base}{index} {:+}{unit}{writeback}, {} {:?}", memory.displacement, memory.size, memory.access)
}

#[test]
fn every_way_to_address_memory_is_told() {
    let table = [
        // ldur x0, [x1, #-8]
        (0xf85f_8020, "x1 -8, 8 Read"),
        // str x2, [x1, #-8]!
        (0xf81f_8c22, "x1 -8 Pre, 8 Write"),
        // stg x0, [x1]; st2g x0, [x1]; stz2g x0, [x1]
        (0xd920_0820, "x1 +0, 16 Write"),
        (0xd9a0_0820, "x1 +0, 32 Write"),
        (0xd9e0_0820, "x1 +0, 32 Write"),
        // ldnp x2, x3, [x1, #-16]
        (0xa87f_0c22, "x1 -16, 16 Read"),
        // ldp x2, x3, [x1], #16
        (0xa8c1_0c22, "x1 +16 Post, 16 Read"),
        // ldraa x2, [x1, #-8]!
        (0xf87f_fc22, "x1 -8 Pre, 8 Read"),
        // ld1 {v0.2s}, [x1], #8
        (0x0cdf_7820, "x1 +8 Post, 8 Read"),
        // ld1b {z0.b}, p1/z, [x1, #-2, mul vl]
        (0xa40e_a420, "x1 -2vl, 0 Read"),
        // prfb pldl1keep, p1, [x1, #-3, mul vl]
        (0x85fd_0420, "x1 -3vl, 0 None"),
        // ldr p1, [x1, #-3, mul vl]
        (0x85bf_1421, "x1 -3vl, 0 Read"),
        // ldr z1, [x1, #-9, mul vl]
        (0x85be_5c21, "x1 -9vl, 0 Read"),
        // ldr za[w12, 3], [x1, #3, mul vl]
        (0xe100_0023, "x1 +3vl, 0 Read"),
        // ld1rqb {z0.b}, p1/z, [x1, #-32]
        (0xa40e_2420, "x1 -32, 16 Read"),
        // ld1rd {z0.d}, p1/z, [x1, #24]
        (0x85c3_e420, "x1 +24, 8 Read"),
        // ld1d {z0.d}, p1/z, [z2.d, #24]
        (0xc5a3_c440, "z2.d +24, 8 Read"),
        // stg x2, [x1, #-32]!
        (0xd93f_ec22, "x1 -32 Pre, 16 Write"),
        // ldapur x0, [x1, #-3]
        (0xd95f_d020, "x1 -3, 8 Read"),
        // stilp x2, x3, [x1, #-16]!
        (0xd903_0822, "x1 -16 Pre, 16 Write"),
        // ldr x2, [x1, w3, uxtw #3]
        (0xf863_5822, "x1 x3 uxtw 3 +0, 8 Read"),
        // ldr x2, [x1, w3, sxtw]
        (0xf863_c822, "x1 x3 sxtw 0 +0, 8 Read"),
        // ldr x2, [x1, x3, lsl #3]
        (0xf863_7822, "x1 x3 lsl 3 +0, 8 Read"),
        // ldr x2, [x1, x3]
        (0xf863_6822, "x1 x3 lsl 0 +0, 8 Read"),
        // cpyfp [x1]!, [x2]!, x3!
        (0x1902_0461, "x1 +0, 0 Write; x2 +0, 0 Read"),
        // setp [x1]!, x2!, x3
        (0x19c3_0441, "x1 +0, 0 Write"),
        // gcspushm x1
        (0xd50b_7701, "gcspr -8, 8 Write"),
        // gcspopm x1
        (0xd52b_7721, "gcspr +0, 8 Read"),
        // gcsss1 x1
        (0xd50b_7741, "x1 +0, 8 ReadWrite"),
        // gcsss2 x1
        (0xd52b_7761, "gcspr +0, 8 Read"),
        // gcsstr x2, [x1]
        (0xd91f_0c22, "x1 +0, 8 Write"),
        // ld1d {z0.d}, p1/z, [x1, x3, lsl #3]
        (0xa5e3_4420, "x1 x3 lsl 3 +0, 0 Read"),
        // ld1b {z0.b}, p1/z, [x1, x3]
        (0xa403_4420, "x1 x3 lsl 0 +0, 0 Read"),
        // ld1d {z0.d}, p1/z, [x1, z3.d]
        (0xc5c3_c420, "x1 z3 lsl 0 +0, 8 Read"),
        // ld1d {z0.d}, p1/z, [x1, z3.d, lsl #3]
        (0xc5e3_c420, "x1 z3 lsl 3 +0, 8 Read"),
        // ld1w {z0.s}, p1/z, [x1, z3.s, uxtw #2]
        (0x8523_4420, "x1 z3 uxtw 2 +0, 4 Read"),
        // ld1w {z0.s}, p1/z, [x1, z3.s, sxtw #2]
        (0x8563_4420, "x1 z3 sxtw 2 +0, 4 Read"),
        // ldnt1d {z0.d}, p1/z, [z2.d, x3]
        (0xc583_c440, "z2.d x3 lsl 0 +0, 8 Read"),
        // ld1w {z0.s}, p1/z, [x1, z3.s, sxtw]
        (0x8543_4420, "x1 z3 sxtw 0 +0, 4 Read"),
        // ldiapp x2, x3, [x1], #16
        (0xd943_0822, "x1 +16 Post, 16 Read"),
        // ldapr x2, [x1], #8
        (0xd9c0_0822, "x1 +8 Post, 8 Read"),
        // stlr x2, [x1, #-8]!
        (0xd980_0822, "x1 -8 Pre, 8 Write"),
    ];
    for (word, expected) in table {
        let found: Vec<String> = insn(word).memories().iter().flatten().map(text).collect();
        assert_eq!(found.join("; "), expected, "{word:#010x}");
    }
}

#[test]
fn what_depends_on_its_own_address_says_how() {
    let x0 = Reg::general(0);
    let table = [
        (0x1000_0080, PcRelative::Address { register: x0, distance: 16 }),
        (0x70ff_ffe0, PcRelative::Address { register: x0, distance: -1 }),
        (0xb000_001f, PcRelative::Page { register: Reg::XZR, distance: 0x1000 }),
        (0x1800_0040, PcRelative::Load { register: x0, distance: 8, size: 4, signed: false }),
        (0x9800_0040, PcRelative::Load { register: x0, distance: 8, size: 4, signed: true }),
        (0x9c00_0041, PcRelative::Load { register: Reg::vector(1), distance: 8, size: 16, signed: false }),
        (0xd800_0040, PcRelative::Prefetch { distance: 8 }),
        (0x5400_0040, PcRelative::Branch(8)),
        (0xdac1_a3fe, PcRelative::Modifier { distance: 0 }),
        (0x5500_005f, PcRelative::Modifier { distance: -8 }),
    ];
    for (word, relative) in table {
        assert_eq!(insn(word).pc_relative(), Some(relative), "{word:#010x}");
    }
    for word in [0xd65f_03c0, 0xd503_201f, 0xf940_0020] {
        assert_eq!(insn(word).pc_relative(), None, "{word:#010x}");
    }
    assert_eq!(insn(0xb000_0000).pc_relative().map(|way| way.address(0x1234_5678)), Some(0x1234_6000));
}

#[test]
fn exclusives_landing_pads_and_traps_are_told() {
    assert_eq!(insn(0xc85f_7c20).exclusive(), Some(Exclusive::Load));
    assert_eq!(insn(0xc802_7c20).exclusive(), Some(Exclusive::Store));
    assert_eq!(insn(0x8904_7c22).exclusive(), Some(Exclusive::Store));
    assert_eq!(insn(0xc95f_fc22).exclusive(), Some(Exclusive::Load));
    assert_eq!(insn(0xd503_3f5f).exclusive(), Some(Exclusive::Clear));
    assert_eq!(insn(0xc8df_fc20).exclusive(), None);
    let pads = [
        (0xd503_241f, LandingPad::None),
        (0xd503_245f, LandingPad::Call),
        (0xd503_249f, LandingPad::Jump),
        (0xd503_24df, LandingPad::Both),
        (0xd503_233f, LandingPad::PacSp),
    ];
    for (word, pad) in pads {
        assert_eq!(insn(word).landing_pad(), Some(pad), "{word:#010x}");
    }
    assert_eq!(insn(0xd503_23bf).landing_pad(), None);
    // brk and hlt stop whatever comes, but as what they are.
    for word in [0xd420_0000, 0xd440_0000] {
        assert_eq!(insn(word).landing_pad(), Some(LandingPad::Both), "{word:#010x}");
    }
    assert_eq!(insn(0xd400_0021).trap(), Some(Trap::Svc(1)));
    assert_eq!(insn(0xd420_0040).trap(), Some(Trap::Brk(2)));
    assert_eq!(insn(0xd440_0060).trap(), Some(Trap::Hlt(3)));
    assert_eq!(insn(0x0000_0004).trap(), Some(Trap::Udf(4)));
}

#[test]
fn unpredictable_is_told_apart_from_allocated() {
    // Writeback of what is loaded, a status that is stored, a pair of one register, a copy onto itself, a field that should be ones.
    for word in [0xf840_0c00, 0xc800_7c20, 0xa940_0020, 0x1d00_0440, 0xc840_7c20, 0xa8c1_0422, 0xc823_0c82, 0xc801_7c22]
    {
        assert!(insn(word).is_unpredictable(), "{word:#010x}");
    }
    for word in [0xf840_0c20, 0xf840_0fff, 0xc802_7c20, 0xa940_0420, 0x1d01_0440, 0xa900_0020] {
        assert!(!insn(word).is_unpredictable(), "{word:#010x}");
    }
    // A pair of which no register is the base, or one has sp's number; a status that is none of a pair; one of st64bv that is the base.
    for word in [0xa8c1_0c22, 0xa8c1_7fe2, 0xc821_0c82, 0xc81f_7fe2, 0xf83a_b346] {
        assert!(!insn(word).is_unpredictable(), "{word:#010x}");
    }
    // A copy whose destination, source and count are not three registers below 31.
    for word in [0x1d00_0440, 0x1d02_0440, 0x1d01_0442, 0x1d01_045f, 0x1d1f_0440, 0x1d01_07e0] {
        assert!(insn(word).is_unpredictable(), "{word:#010x}");
    }
    // A set whose destination, value and count are not three, or the first or the last is 31.
    for word in [0x19c1_0441, 0x19c2_0441, 0x19c3_0421, 0x19c3_045f, 0x19c3_07e1] {
        assert!(insn(word).is_unpredictable(), "{word:#010x}");
    }
    for word in [0x19c3_0441, 0x19df_0441] {
        assert!(!insn(word).is_unpredictable(), "{word:#010x}");
    }
}

#[test]
fn encodings_with_few_free_bits_are_allocated_too() {
    let p1 = RegSet::EMPTY.with(Reg::predicate(1));
    let ffr = RegSet::EMPTY.with(Reg::FFR);
    let none = RegSet::EMPTY;
    // rdffr p1; wrffr p1; setffr; pfalse p1
    let table = [(0x2519_f001, ffr, p1), (0x2528_9020, p1, ffr), (0x252c_9000, none, ffr), (0x2518_e401, none, p1)];
    for (word, reads, writes) in table {
        assert_eq!((insn(word).reads(), insn(word).writes()), (reads, writes), "{word:#010x}");
    }
    // pfirst p1, p2, p1
    let pfirst = insn(0x2558_c041);
    assert!(pfirst.reads().contains(Reg::predicate(1)) && pfirst.reads().contains(Reg::predicate(2)));
    assert!(pfirst.writes().contains(Reg::predicate(1)) && pfirst.flags_written() == Nzcv::ALL);
}

#[test]
fn sets_of_condition_flags_have_what_sets_have() {
    let (both, one) = (Nzcv::N.union(Nzcv::C), Nzcv::C.union(Nzcv::V));
    assert_eq!(both.intersection(one), Nzcv::C);
    assert_eq!(both.difference(one), Nzcv::N);
    assert_eq!(both.complement(), Nzcv::Z.union(Nzcv::V));
}
