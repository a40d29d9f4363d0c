//! Registers, instructions and errors as text, and as values in collections.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::{decode_padded, hex, insn};
use insn::x86::{ErrorKind, Flags, Mode, Reg, RegSet, decode};

#[test]
fn every_register_has_a_name_of_its_own() {
    let names: HashSet<String> = (0..128).map(|n| Reg::from_number(n).to_string()).collect();
    assert_eq!(names.len(), 128);
    let banks = [
        (Reg::gpr(0), "rax"),
        (Reg::gpr(7), "rdi"),
        (Reg::gpr(8), "r8"),
        (Reg::gpr(31), "r31"),
        (Reg::vector(0), "zmm0"),
        (Reg::vector(31), "zmm31"),
        (Reg::mask(7), "k7"),
        (Reg::mmx(0), "mm0"),
        (Reg::mmx(7), "mm7"),
        (Reg::bound(3), "bnd3"),
        (Reg::segment(0), "es"),
        (Reg::segment(5), "gs"),
        (Reg::tile(7), "tmm7"),
        (Reg::from_number(127), "reg127"),
    ];
    for (register, name) in banks {
        assert_eq!((register.to_string(), format!("{register:?}")), (name.to_owned(), name.to_owned()));
        assert_eq!(Reg::from_number(register.number()), register);
    }
    assert_eq!((Reg::gpr(31).as_gpr(), Reg::vector(0).as_gpr()), (Some(31), None));
}

#[test]
fn numbers_beyond_a_bank_wrap_into_it() {
    assert_eq!(
        (Reg::gpr(33), Reg::vector(34), Reg::mask(9), Reg::mmx(10), Reg::bound(7), Reg::tile(8), Reg::segment(6)),
        (Reg::RCX, Reg::vector(2), Reg::mask(1), Reg::mmx(2), Reg::bound(3), Reg::tile(0), Reg::GS)
    );
    assert_eq!(Reg::from_number(128), Reg::RAX);
}

#[test]
fn sets_hold_what_was_put_in_and_nothing_else() {
    let set = RegSet::EMPTY.with(Reg::RCX).with(Reg::FLAGS).with(Reg::TILECFG);
    assert_eq!(set.bits(), 1 << 1 | 1 << 95 | 1 << 112);
    assert_eq!(RegSet::from_bits(set.bits()), set);
    assert_eq!(format!("{set:?}"), "{rcx, flags, tilecfg}");
    for n in 0..128 {
        let register = Reg::from_number(n);
        let member = [Reg::RCX, Reg::FLAGS, Reg::TILECFG].contains(&register);
        assert_eq!(set.contains(register), member, "{register}");
        assert_eq!(set.without(register) == set, !member, "{register}");
    }
    assert_eq!(set.without(Reg::FLAGS), RegSet::EMPTY.with(Reg::RCX).with(Reg::TILECFG));
    assert_eq!(set.union(set), set);
    assert_eq!(set.union(RegSet::EMPTY.with(Reg::RAX)), set.with(Reg::RAX));
    assert!(RegSet::EMPTY.is_empty() && !set.is_empty());
}

#[test]
fn flags_are_sets_too() {
    let places = [
        (Flags::CF, 0x1),
        (Flags::PF, 0x4),
        (Flags::AF, 0x10),
        (Flags::ZF, 0x40),
        (Flags::SF, 0x80),
        (Flags::TF, 0x100),
        (Flags::IF, 0x200),
        (Flags::DF, 0x400),
        (Flags::OF, 0x800),
        (Flags::IOPL, 0x3000),
        (Flags::NT, 0x4000),
        (Flags::RF, 0x1_0000),
        (Flags::VM, 0x2_0000),
        (Flags::AC, 0x4_0000),
        (Flags::VIF, 0x8_0000),
        (Flags::VIP, 0x10_0000),
        (Flags::ID, 0x20_0000),
    ];
    for (flag, bits) in places {
        assert_eq!(flag.bits(), bits, "{flag:?}");
    }
    let both = Flags::CF.union(Flags::ZF);
    assert_eq!(both.bits(), 0x41);
    assert_eq!(both.union(Flags::CF), both);
    assert!(both.contains(Flags::CF) && both.contains(both) && !Flags::CF.contains(both));
    assert!(!both.is_empty() && Flags::from_bits(0).is_empty());
}

#[test]
fn instructions_are_equal_when_bytes_and_mode_are() {
    let one = insn("48 89c8");
    assert_eq!(one, decode(&hex("4889c8"), Mode::INTEL_64).unwrap());
    assert_ne!(one, insn("48 89c9"));
    assert_ne!(one, decode_padded("48 89c8", Mode::AMD_64).unwrap());
    let all: HashSet<_> = [one, one, insn("90"), decode_padded("90", Mode::INTEL_32).unwrap()].into_iter().collect();
    assert_eq!(all.len(), 3);
    let hash = |insn| BuildHasherDefault::<DefaultHasher>::default().hash_one(insn);
    assert_ne!(hash(one), hash(insn("90")));
    assert!(format!("{one:?}").starts_with("Insn([48, 89, c8], "), "{one:?}");
}

#[test]
fn an_error_names_the_byte_and_its_place() {
    let table = [
        ("f0 90", ErrorKind::Lock, "LOCK not allowed: byte 0xf0 at offset 0"),
        ("06", ErrorKind::Opcode, "no such opcode: byte 0x06 at offset 0"),
        ("48 c5f8 58c0", ErrorKind::Prefix, "prefix not allowed: byte 0xc5 at offset 1"),
        ("62f17848 58c0", ErrorKind::Mvex, "MVEX is not supported: byte 0x78 at offset 2"),
        ("8d c0", ErrorKind::Operand, "operand form not allowed: byte 0xc0 at offset 1"),
        ("c4e2f192 0408", ErrorKind::SameRegister, "registers must differ: byte 0x04 at offset 4"),
        ("66666666 66666666 66666666 666666 66", ErrorKind::TooLong, "longer than 15 bytes: byte 0x66 at offset 14"),
        ("c5e8 51c0", ErrorKind::Reserved, "reserved field set: byte 0x51 at offset 2"),
    ];
    for (text, kind, message) in table {
        let error = decode_padded(text, Mode::INTEL_64).expect_err(text);
        assert_eq!((error.kind, error.to_string().as_str()), (kind, message), "{text}");
    }
    let cut = decode(&[0x48, 0x89], Mode::INTEL_64).unwrap_err();
    assert_eq!((cut.kind, cut.to_string().as_str()), (ErrorKind::Truncated, "truncated after 2 bytes"));
}
