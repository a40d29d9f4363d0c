//! Branches that compare nothing, or with zero.

use insn::arm64::{Condition, Nzcv, Reg};
use stepping::arm64::{Outcome, Registers};

use super::{PC, changes, taken};
use crate::emulate;
use crate::machine::{Machine, memory};

#[test]
fn direct_branches_go_as_far_as_they_say() {
    let machine = Machine::new();
    changes(&machine, 0x1400_0004, &[(Reg::PC, 0x1010)]);
    changes(&machine, 0x17ff_ffff, &[(Reg::PC, 0xffc)]);
    changes(&machine, 0x9400_0004, &[(Reg::PC, 0x1010), (Reg::X30, 0x1004)]);
}

#[test]
fn indirect_branches_go_where_the_register_says() {
    let machine = Machine::new();
    changes(&machine, 0xd61f_0020, &[(Reg::PC, 1000)]);
    changes(&machine, 0xd63f_0020, &[(Reg::PC, 1000), (Reg::X30, 0x1004)]);
    changes(&machine, 0xd65f_03c0, &[(Reg::PC, 30_000)]);
    changes(&machine, 0xd65f_0020, &[(Reg::PC, 1000)]);
}

#[test]
fn a_call_through_x30_goes_where_x30_said_before() {
    changes(&Machine::new(), 0xd63f_03c0, &[(Reg::PC, 30_000), (Reg::X30, 0x1004)]);
}

#[test]
fn register_31_of_an_indirect_branch_is_zero() {
    let machine = Machine::new();
    changes(&machine, 0xd61f_03e0, &[(Reg::PC, 0)]);
    changes(&machine, 0xd63f_03e0, &[(Reg::PC, 0), (Reg::X30, 0x1004)]);
    changes(&machine, 0xd65f_03e0, &[(Reg::PC, 0)]);
}

#[test]
fn the_top_byte_of_a_target_is_ignored() {
    let mut machine = Machine::new();
    machine.put(Reg::general(1), 0x5a00_aaaa_bbbb_ccc0);
    changes(&machine, 0xd61f_0020, &[(Reg::PC, 0x0000_aaaa_bbbb_ccc0)]);
    machine.put(Reg::general(1), 0x0080_aaaa_bbbb_ccc0);
    changes(&machine, 0xd61f_0020, &[(Reg::PC, 0xff80_aaaa_bbbb_ccc0)]);
}

#[test]
fn a_target_that_is_not_aligned_faults_there_and_not_at_the_branch() {
    let mut machine = Machine::new();
    machine.put(Reg::general(1), 0x2001);
    changes(&machine, 0xd61f_0020, &[(Reg::PC, 0x2001)]);
}

#[test]
fn conditions_hold_as_the_flags_say() {
    for flags in 0..16 {
        let mut machine = Machine::new();
        machine.put(Reg::NZCV, flags << 28);
        for code in 0..16 {
            let holds = Condition::new(code).holds(Nzcv::from_bits(flags as u8));
            for consistent in [0, 0x10] {
                assert_eq!(taken(&machine, 0x5400_0080 | consistent | code), holds, "{flags:#x} {code}");
            }
        }
    }
}

#[test]
fn zero_is_looked_for_in_as_many_bits_as_the_register_has() {
    let mut machine = Machine::new();
    for (value, narrow, wide) in [(0, true, true), (1, false, false), (1 << 32, true, false), (1 << 31, false, false)] {
        machine.put(Reg::general(1), value);
        assert_eq!(taken(&machine, 0x3400_0081), narrow, "cbz w1, {value:#x}");
        assert_eq!(taken(&machine, 0x3500_0081), !narrow, "cbnz w1, {value:#x}");
        assert_eq!(taken(&machine, 0xb400_0081), wide, "cbz x1, {value:#x}");
        assert_eq!(taken(&machine, 0xb500_0081), !wide, "cbnz x1, {value:#x}");
    }
    assert!(taken(&machine, 0xb400_009f), "cbz xzr");
    assert!(!taken(&machine, 0xb700_009f), "tbnz xzr, #32");
}

#[test]
fn each_of_64_bits_can_be_tested() {
    for bit in 0..64 {
        let word = (bit & 0x20) << 26 | (bit & 31) << 19 | 0x81;
        let mut machine = Machine::new();
        machine.put(Reg::general(1), 1 << bit);
        assert!(!taken(&machine, 0x3600_0000 | word), "tbz x1, #{bit}");
        assert!(taken(&machine, 0x3700_0000 | word), "tbnz x1, #{bit}");
        machine.put(Reg::general(1), !(1 << bit));
        assert!(taken(&machine, 0x3600_0000 | word), "tbz x1, #{bit}");
        assert!(!taken(&machine, 0x3700_0000 | word), "tbnz x1, #{bit}");
    }
}

#[test]
fn nops_move_the_pc_alone() {
    for word in [0xd503_201f, 0xd503_24df, 0xd800_0040] {
        changes(&Machine::new(), word, &[(Reg::PC, 0x1004)]);
    }
}

#[test]
fn the_programs_own_breakpoint_leaves_all_as_it_is() {
    let mut machine = Machine::new();
    machine.put(Reg::PC, PC);
    machine.branch_type = 2;
    machine.guarded = true;
    let before = machine.clone();
    assert_eq!(emulate(0xd420_0020, PC).run(&mut machine, &mut memory()), Ok(Outcome::Breakpoint));
    assert_eq!(machine, before);
    assert_eq!(machine.get(Reg::PC), PC);
}
