//! Branches that a slot alone passes.

use insn::x86::Mode;
use stepping::Progress::{self, After, Before};
use stepping::x86::{Code, Exit};

use crate::{emulate, hex};

const SITE: u64 = 0x5555_1234_5678;
const SLOT: u64 = SITE + 0x10_0000;

fn alone(text: &str, mode: Mode) -> Code {
    emulate(text, mode, SITE).slot().assemble_near(SLOT).unwrap()
}

/// What a relative jump holds that goes to `to`, the operand at this offset.
fn distance(offset: u64, to: u64) -> [u8; 4] {
    (to.wrapping_sub(SLOT + offset + 4) as u32).to_le_bytes()
}

fn meanings(code: &Code, offsets: &[u8]) -> Vec<(u64, Progress)> {
    let meaning = |offset: &u8| code.original(*offset).map(|place| (place.pc, place.progress)).unwrap();
    offsets.iter().map(meaning).collect()
}

#[test]
fn a_jump_within_reach_is_a_jump_from_the_slot() {
    for (text, to) in [("eb10", SITE + 0x12), ("e900010000", SITE + 0x105)] {
        let code = alone(text, Mode::INTEL_64);
        assert_eq!((code.exit, code.bytes[0], &code.bytes[1..5]), (Exit::Jump, 0xe9, &distance(1, to)[..]));
        assert_eq!(meanings(&code, &[0]), [(SITE, Before)]);
    }
}

#[test]
fn a_conditional_jump_goes_to_its_target_or_behind_itself() {
    for (text, behind, to) in [("7510", SITE + 2, SITE + 0x12), ("0f850c000000", SITE + 6, SITE + 0x12)] {
        let code = alone(text, Mode::INTEL_64);
        assert_eq!((&code.bytes[..2], &code.bytes[2..6]), (&[0x0f, 0x85][..], &distance(2, to)[..]));
        assert_eq!((code.bytes[6], &code.bytes[7..11]), (0xe9, &distance(7, behind)[..]));
        assert_eq!((code.exit, meanings(&code, &[0, 6])), (Exit::Jump, vec![(SITE, Before), (behind, After)]));
    }
}

#[test]
fn a_call_stores_its_return_address_by_a_word_and_moves_the_stack_pointer_last() {
    let code = alone("e800010000", Mode::INTEL_64);
    let (back, target) = ((SITE + 5).to_le_bytes(), SITE + 0x105);
    assert_eq!(code.bytes[..9], [&[0x48, 0xc7, 0x44, 0x24, 0xf8], &back[..4]].concat());
    assert_eq!(code.bytes[9..17], [&[0xc7, 0x44, 0x24, 0xfc], &back[4..]].concat());
    assert_eq!(code.bytes[17..22], [0x48, 0x8d, 0x64, 0x24, 0xf8]);
    assert_eq!((code.bytes[22], &code.bytes[23..27], code.exit), (0xe9, &distance(23, target)[..], Exit::Jump));
    // Until the stack pointer has moved all of it can be done again.
    let expected = [(SITE, Before), (SITE, Before), (SITE, Before), (target, After)];
    assert_eq!(meanings(&code, &[0, 9, 17, 22]), expected);
}

#[test]
fn a_call_of_32_bit_code_pushes_its_return_address() {
    let code = emulate("e800010000", Mode::INTEL_32, 0x804_8000).slot().assemble_near(0x900_0000).unwrap();
    assert_eq!(code.bytes[..6], hex("6805800408 e9"));
    assert_eq!(code.exit, Exit::Jump);
}

#[test]
fn returns_and_jumps_by_operands_are_copies() {
    for text in ["c3", "c20800", "ffe0", "ff642410"] {
        let code = alone(text, Mode::INTEL_64);
        assert_eq!((code.exit, &code.bytes[..hex(text).len()]), (Exit::Jump, &hex(text)[..]));
    }
    let code = alone("ff2500010000", Mode::INTEL_64);
    assert_eq!((code.exit, &code.bytes[..2]), (Exit::Jump, &[0xff, 0x25][..]));
    assert_eq!(code.bytes[2..6], distance(2, SITE + 0x106));
}

#[test]
fn what_is_truncated_counts_or_reads_its_target_for_a_call_is_no_such_code() {
    for (text, mode) in [("66e90001", Mode::AMD_64), ("ffd0", Mode::INTEL_64), ("e210", Mode::INTEL_64)] {
        assert_ne!(alone(text, mode).exit, Exit::Jump, "{text}");
    }
}

#[test]
fn a_jump_of_such_code_arrives_wherever_the_slot_lies() {
    let (behind, target) = (SITE + 5, SITE + 0x105);
    let call = emulate("e800010000", Mode::INTEL_64, SITE).slot();
    let mut whole = 0;
    for edge in [behind + (1 << 31), behind - (1 << 31), target + (1 << 31), target - (1 << 31)] {
        for slot in edge - 64..edge + 64 {
            let code = call.assemble_near(slot).unwrap();
            if code.exit == Exit::Jump {
                let to = i32::from_le_bytes(code.bytes[23..27].try_into().unwrap());
                assert_eq!((slot + 27).wrapping_add_signed(to.into()), target, "{slot:#x}");
                whole += 1;
            }
        }
    }
    assert!(whole > 100, "{whole}");
}

#[test]
fn where_scratch_registers_may_serve_a_branch_s_copy_only_faults() {
    for text in ["c3", "ffe0", "eb10", "7510"] {
        assert_eq!(emulate(text, Mode::INTEL_64, SITE).slot().assemble(SLOT).unwrap().exit, Exit::Step, "{text}");
    }
}
