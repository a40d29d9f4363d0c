//! Branch target identification.

use insn::arm64::Reg;
use stepping::Fault;
use stepping::arm64::Outcome;

use super::PC;
use crate::emulate;
use crate::machine::{Machine, memory};

const BTI: [u32; 4] = [0xd503_241f, 0xd503_245f, 0xd503_249f, 0xd503_24df];

#[test]
fn every_emulation_clears_the_branch_type_or_sets_its_own() {
    for (word, guarded, expected) in [
        (0xd503_201f, false, 0),
        (0xd503_245f, false, 0),
        (0x1400_0004, false, 0),
        (0x9400_0004, false, 0),
        (0x5400_0081, false, 0),
        (0xd65f_03c0, false, 0),
        (0x3000_0063, false, 0),
        (0xd61f_0020, false, 1),
        (0xd61f_0200, false, 1),
        (0xd63f_0020, false, 2),
    ] {
        let mut machine = Machine::new();
        (machine.branch_type, machine.guarded) = (2, guarded);
        emulate(word, PC).run(&mut machine, &mut memory()).unwrap();
        assert_eq!(machine.branch_type, expected, "{word:#010x}");
    }
}

#[test]
fn jumps_out_of_guarded_pages_are_free_only_through_x16_and_x17() {
    for number in 0..31 {
        let mut machine = Machine::new();
        machine.guarded = true;
        emulate(0xd61f_0000 | number << 5, PC).run(&mut machine, &mut memory()).unwrap();
        assert_eq!(machine.branch_type, if matches!(number, 16 | 17) { 1 } else { 3 }, "br x{number}");
    }
}

#[test]
fn landing_pads_admit_what_they_say() {
    // For each kind of pad: a free jump, a call, a jump.
    for (word, admitted) in BTI.into_iter().zip([[false; 3], [true, true, false], [true, false, true], [true; 3]]) {
        for (branch_type, admitted) in (1..).zip(admitted) {
            let mut machine = Machine::new();
            (machine.branch_type, machine.guarded) = (branch_type, true);
            let before = machine.clone();
            let result = emulate(word, PC).run(&mut machine, &mut memory());
            if admitted {
                assert_eq!((result, machine.branch_type), (Ok(Outcome::Done), 0), "{word:#010x} {branch_type}");
            } else {
                assert_eq!((result, machine), (Err(Fault::LandingPad(PC)), before), "{word:#010x} {branch_type}");
            }
        }
    }
}

#[test]
fn nothing_else_is_a_landing_pad_in_a_guarded_page() {
    for word in [0xd503_201f, 0x1400_0004, 0xd65f_03c0, 0x3000_0063] {
        let mut machine = Machine::new();
        (machine.branch_type, machine.guarded) = (2, true);
        assert_eq!(emulate(word, PC).run(&mut machine, &mut memory()), Err(Fault::LandingPad(PC)), "{word:#010x}");
        machine.branch_type = 0;
        assert_eq!(emulate(word, PC).run(&mut machine, &mut memory()), Ok(Outcome::Done), "{word:#010x}");
        machine.put(Reg::PC, PC);
    }
}
