//! Registers, flags, conditions, instructions and errors as text and as values.

use std::collections::HashSet;

use insn::arm64::{Condition, ErrorKind, Nzcv, Reg, decode};

use crate::insn;

#[test]
fn every_register_has_a_name_of_its_own() {
    let names: HashSet<String> = (0..128).map(|n| Reg::from_number(n).to_string()).collect();
    assert_eq!(names.len(), 128);
    for (register, name) in [
        (Reg::general(0), "x0"),
        (Reg::general(30), "x30"),
        (Reg::XZR, "xzr"),
        (Reg::SP, "sp"),
        (Reg::vector(31), "z31"),
        (Reg::predicate(15), "p15"),
    ] {
        assert_eq!((register.to_string(), format!("{register:?}")), (name.to_owned(), name.to_owned()));
        assert_eq!(Reg::from_number(register.number()), register);
    }
    let number = |register: Reg| (register.as_general(), register.as_vector());
    assert_eq!(number(Reg::general(30)), (Some(30), None));
    assert_eq!(number(Reg::vector(31)), (None, Some(31)));
    assert_eq!(number(Reg::XZR), (None, None));
    assert_eq!(number(Reg::SP), (None, None));
    assert_eq!(number(Reg::predicate(0)), (None, None));
}

#[test]
fn flags_are_told_by_their_letters() {
    assert_eq!(format!("{:?}", Nzcv::ALL), "{n, z, c, v}");
    assert_eq!(format!("{:?}", Nzcv::Z.union(Nzcv::V)), "{z, v}");
    assert!(Nzcv::EMPTY.is_empty() && !Nzcv::C.is_empty());
    assert_eq!(Nzcv::from_bits(0xf2), Nzcv::C);
}

#[test]
fn a_condition_holds_by_the_flags_that_it_depends_on_alone() {
    for code in 0..16 {
        let condition = Condition::new(code);
        assert_eq!(u32::from(condition.code()), code);
        for flags in (0..16).map(Nzcv::from_bits) {
            for bit in [Nzcv::N, Nzcv::Z, Nzcv::C, Nzcv::V] {
                let changed = Nzcv::from_bits(flags.bits() ^ bit.bits());
                let matters = condition.holds(flags) != condition.holds(changed);
                assert!(!matters || condition.flags().contains(bit), "{code} {flags:?} {bit:?}");
            }
        }
        let varies = (0..16).map(Nzcv::from_bits).any(|flags| condition.holds(flags) != condition.holds(Nzcv::EMPTY));
        assert_eq!(varies, !condition.flags().is_empty(), "{code}");
    }
}

#[test]
fn conditions_hold_with_the_flags_of_the_manual() {
    // eq cs mi vs hi ge gt: a bit for each value of NZCV.
    let table = [0xf0f0u16, 0xcccc, 0xff00, 0xaaaa, 0x0c0c, 0xaa55, 0x0a05];
    for (condition, with) in table.into_iter().enumerate() {
        for flags in 0..16 {
            let holds = Condition::new(2 * condition as u32).holds(Nzcv::from_bits(flags));
            assert_eq!(holds, with >> flags & 1 == 1, "{condition} {flags:#06b}");
        }
    }
}

#[test]
fn each_pair_of_conditions_are_opposites_but_for_the_last() {
    for code in (0..14).step_by(2) {
        for flags in (0..16).map(Nzcv::from_bits) {
            assert_ne!(Condition::new(code).holds(flags), Condition::new(code + 1).holds(flags), "{code} {flags:?}");
        }
    }
    assert!(
        (0..16).map(Nzcv::from_bits).all(|flags| Condition::new(14).holds(flags) && Condition::new(15).holds(flags))
    );
}

#[test]
fn an_instruction_is_told_by_its_word() {
    assert_eq!(format!("{:?}", insn(0xd503_201f)), "Insn(0xd503201f)");
    assert_eq!(insn(0xd503_201f).word(), 0xd503_201f);
    // b.ne; csel x0, x1, x2, ge; ccmp x1, x2, #0, lo; cbz
    let conditions = [(0x5400_0041, Some(1)), (0x9a82_a020, Some(10)), (0xfa42_3020, Some(3)), (0xb400_0040, None)];
    for (word, code) in conditions {
        assert_eq!(insn(word).condition(), code.map(Condition::new), "{word:#010x}");
    }
    // cmp x0, x1; b.eq
    assert_eq!((insn(0xeb01_001f).flags_read(), insn(0xeb01_001f).flags_written()), (Nzcv::EMPTY, Nzcv::ALL));
    assert_eq!((insn(0x5400_0040).flags_read(), insn(0x5400_0040).flags_written()), (Nzcv::Z, Nzcv::EMPTY));
}

#[test]
fn an_error_tells_the_word() {
    let error = decode(0x0200_0000).unwrap_err();
    assert_eq!((error.kind, error.word), (ErrorKind::Undefined, 0x0200_0000));
    assert_eq!(error.to_string(), "undefined: 0x02000000");
}
