//! Kinds, conditions and literals: a table of their own, held against those of flow and of memory operands.

use crate::{insn, instructions};
use insn::arm64::{Address, Kind, Memory, Nzcv, PcRelative};
use insn::{Access, Flow, Target};

#[test]
fn words_in_the_midst_of_others_have_a_kind_of_their_own() {
    let table = [
        (0xd503_201f, Kind::Hint),
        (0xd503_201e, Kind::Hint),
        (0xd527_2fff, Kind::Hint),
        (0xd503_20ff, Kind::Plain),
        (0xd503_211f, Kind::Plain),
        (0xd503_233f, Kind::PacSp),
        (0xd503_23bf, Kind::Plain),
        (0xd503_241f, Kind::Bti),
        (0xd503_24ff, Kind::Pacm),
        (0xd503_251f, Kind::Plain),
        (0xd503_3bbf, Kind::Barrier),
        (0xd53b_4200, Kind::Mrs),
        (0xd53b_4220, Kind::Plain),
        (0xd51b_4200, Kind::Msr),
        (0xd51b_4220, Kind::Plain),
        (0xc802_7c20, Kind::StoreExclusive),
        (0xc8a2_7c20, Kind::Plain),
        (0x0420_bc20, Kind::Prefix),
        (0x0460_b820, Kind::Plain),
    ];
    for (word, kind) in table {
        assert_eq!(insn(word).kind(), kind, "{word:#010x}");
    }
}

#[test]
fn branches_and_exceptions_are_of_a_kind_that_says_so() {
    for insn in instructions() {
        let (kind, flow) = (insn.kind(), insn.flow());
        let direct = matches!(
            kind,
            Kind::Branch | Kind::BranchCondition | Kind::BranchZero | Kind::BranchBit | Kind::BranchCompare
        );
        let indirect = matches!(kind, Kind::BranchRegister | Kind::BranchAuthenticated | Kind::ReturnAuthenticatedAt);
        assert_eq!(matches!(insn.target(), Target::Relative(_)), direct, "{insn:?}");
        assert_eq!(matches!(insn.target(), Target::Register(_)), indirect, "{insn:?}");
        assert_eq!(flow == Flow::ConditionalJump, direct && kind != Kind::Branch, "{insn:?}");
        let enters = kind == Kind::Svc || kind == Kind::TIndex && insn.word() >> 24 == 0xd4;
        assert_eq!(flow == Flow::Syscall, enters, "{insn:?}");
        assert_eq!(flow == Flow::Trap, matches!(kind, Kind::Brk | Kind::Hlt), "{insn:?}");
        assert_eq!(flow == Flow::Faulting, kind == Kind::Udf, "{insn:?}");
    }
}

#[test]
fn a_literal_is_the_memory_operand_that_counts_from_the_pc() {
    let mut literals = 0;
    for insn in instructions() {
        let told = match insn.pc_relative() {
            Some(PcRelative::Load { distance, size, .. }) => Some((distance, u16::from(size), Access::Read)),
            Some(PcRelative::Prefetch { distance }) => Some((distance, 0, Access::None)),
            _ => None,
        };
        let memory = insn.memory().filter(|memory| memory.base == Address::Pc);
        assert_eq!(
            told,
            memory.map(|Memory { displacement, size, access, .. }| (displacement, size, access)),
            "{insn:?}"
        );
        literals += usize::from(told.is_some());
    }
    assert!(literals > 10_000, "{literals} literals are few");
}

#[test]
fn what_a_condition_depends_on_is_read() {
    for insn in instructions() {
        let flags = insn.condition().map_or(Nzcv::EMPTY, |condition| condition.flags());
        assert!(insn.flags_read().contains(flags), "{insn:?}");
        assert!(insn.kind() != Kind::BranchCondition || insn.condition().is_some(), "{insn:?}");
    }
    // csel, ccmp, fcsel, b.ne
    for (word, code) in [(0x9a82_1020, 1), (0xfa42_a020, 10), (0x1e62_cc20, 12), (0x5400_0041, 1)] {
        assert_eq!(insn(word).condition().map(|condition| condition.code()), Some(code), "{word:#010x}");
    }
}
