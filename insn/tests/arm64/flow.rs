//! Flow and targets.

use crate::{insn, instructions};
use insn::Flow::{self, *};
use insn::Target;
use insn::arm64::{Reg, decode};

#[test]
fn direct_branches_go_as_far_as_their_fields_say() {
    let table: [(u32, Flow, i64); 12] = [
        (0x1400_0001, Jump, 4),
        (0x17ff_ffff, Jump, -4),
        (0x9600_0000, Call, -0x800_0000),
        (0x5400_0020, ConditionalJump, 4),
        (0x54ff_fff0, ConditionalJump, -4),
        (0xb400_0040, ConditionalJump, 8),
        (0x3500_0060, ConditionalJump, 12),
        (0x3600_0020, ConditionalJump, 4),
        (0xb707_fff0, ConditionalJump, -4),
        (0x7400_0020, ConditionalJump, 4),
        (0xf5e0_3fe3, ConditionalJump, -4),
        (0x74c0_8020, ConditionalJump, 4),
    ];
    for (word, flow, distance) in table {
        let insn = insn(word);
        assert_eq!((insn.flow(), insn.target()), (flow, Target::Relative(distance)), "{word:#010x}");
        assert_eq!(insn.target_address(0x1000), Some(0x1000u64.wrapping_add_signed(distance)), "{word:#010x}");
    }
}

#[test]
fn indirect_branches_go_to_registers() {
    let table = [
        (0xd61f_0020, Jump, Reg::general(1)),
        (0xd63f_0200, Call, Reg::general(16)),
        (0xd65f_03c0, Return, Reg::X30),
        (0xd65f_03e0, Return, Reg::XZR),
        (0xd65f_0bff, Return, Reg::X30),
        (0xd61f_085f, Jump, Reg::general(2)),
        (0xd73f_0c43, Call, Reg::general(2)),
        (0x5520_003f, Return, Reg::X30),
    ];
    for (word, flow, register) in table {
        let insn = insn(word);
        assert_eq!((insn.flow(), insn.target()), (flow, Target::Register(register)), "{word:#010x}");
        assert!(insn.writes().contains(Reg::PC), "{word:#010x}");
        assert_eq!(insn.writes().contains(Reg::X30), flow == Call, "{word:#010x}");
    }
}

#[test]
fn all_else_has_no_target() {
    let table = [
        (0xd503_201f, Next),
        (0xd400_0001, Syscall),
        (0xd420_0000, Trap),
        (0xd440_0000, Trap),
        (0xd400_0002, Privileged),
        (0xd69f_03e0, Privileged),
        (0xd518_1000, Privileged),
        (0xd503_44df, Privileged),
        (0xd53b_d040, Next),
        (0x0000_dead, Faulting),
        (0x1000_0000, Next),
        (0x5800_0000, Next),
    ];
    for (word, flow) in table {
        assert_eq!((insn(word).flow(), insn(word).target()), (flow, Target::None), "{word:#010x}");
    }
}

#[test]
fn what_is_unallocated_is_undefined() {
    // A reserved top-level encoding, add shifted by ror, a wide shift of w, an empty bitmask, cb of condition 4, dsb with Rt.
    for word in [0x2000_0000, 0x0bc0_0000, 0x0b00_8000, 0x1200_fc00, 0x7480_0000, 0xd503_3f80] {
        assert!(decode(word).is_err(), "{word:#010x}");
    }
}

#[test]
fn allocated_words_are_known_to_be_what_they_are_decoded_to() {
    for insn in instructions() {
        assert_eq!(insn::arm64::flow_of_allocated(insn.word()), insn.flow(), "{insn:?}");
        // Debug shows the word alone; equality is of the way, too.
        assert_eq!(insn::arm64::decode_allocated(insn.word()), insn, "{:?} and {:?}", insn.flow(), insn.target());
    }
}
