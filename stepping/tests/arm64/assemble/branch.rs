//! Copies of branches, to raise the faults that emulation meets.

use insn::arm64::Reg;
use stepping::arm64::{BREAKPOINT, Exit, Progress, Scratch};

use crate::{emulate, words};

#[test]
fn the_copy_of_a_jump_goes_where_the_original_goes() {
    let code = emulate(0x1400_0004, 0x1000).slot().assemble(0x2000).unwrap();
    assert_eq!((words(&code), code.exit), (vec![0x17ff_fc04], Exit::Jump));
}

#[test]
fn the_copy_of_a_conditional_jump_has_both_ways() {
    for (word, over) in [
        (0x5400_0081, 0x5400_0041), // b.ne
        (0x3400_0081, 0x3400_0041), // cbz w1
        (0xb500_0081, 0xb500_0041), // cbnz x1
        (0xb618_0081, 0xb618_0041), // tbz x1, #35
        (0x7402_0081, 0x7402_0041), // cbgt w1, w2
        (0xf502_8081, 0xf502_8041), // cbgt x1, #5
    ] {
        let code = emulate(word, 0x1000).slot().assemble(0x2000).unwrap();
        // b 0x1004 at 0x2004; b 0x1010 at 0x2008
        assert_eq!((words(&code), code.exit), (vec![over, 0x17ff_fc00, 0x17ff_fc02], Exit::Jump), "{word:#010x}");
        let places = [0, 4, 8].map(|offset| code.original(offset).map(|place| (place.pc, place.progress)));
        assert_eq!(
            places,
            [Some((0x1000, Progress::Before)), Some((0x1004, Progress::After)), Some((0x1010, Progress::After))]
        );
    }
}

#[test]
fn a_way_out_of_reach_is_a_trap() {
    // b.ne .+0xffffc from 0x1000, with a slot that reaches the next instruction and not the target.
    let at = 0x1000_u64.wrapping_sub((1 << 27) - 8);
    let code = emulate(0x547f_ffe1, 0x1000).slot().assemble(at).unwrap();
    assert_eq!(code.exit, Exit::Trap(8));
    assert_eq!(words(&code).len(), 2);
    assert_eq!(code.bytes[8..12], BREAKPOINT.to_le_bytes());
    assert_eq!(code.original(8).map(|place| place.pc), Some(0x10_0ffc));
}

#[test]
fn a_jump_out_of_reach_is_no_landing_pad() {
    let code = emulate(0x1400_0004, 0x1000).slot().assemble(0x4000_0000).unwrap();
    assert_eq!((words(&code), code.exit), (vec![0xd503_201f], Exit::Trap(4)));
    assert_eq!(code.original(4).map(|place| place.pc), Some(0x1010));
}

#[test]
fn calls_are_stepped() {
    for (word, at, copy, scratch) in [
        (0x9400_0004, 0x2000, 0x97ff_fc04, None),
        (0x9400_0004, 0x4000_0000, 0xd63f_0000, Some(Scratch { register: Reg::general(0), value: 0x1010 })),
        (0xd63f_0020, 0x2000, 0xd63f_0020, None),
    ] {
        let code = emulate(word, 0x1000).slot().assemble(at).unwrap();
        assert_eq!((words(&code), code.exit), (vec![copy], Exit::StepThenReturnAddress(8)), "{word:#010x}");
        assert_eq!(code.scratch, scratch);
    }
}

#[test]
fn returns_and_jumps_through_registers_are_the_same_elsewhere() {
    for word in [0xd65f_03c0, 0xd61f_0020] {
        let code = emulate(word, 0x1000).slot().assemble(0x2000).unwrap();
        assert_eq!((words(&code), code.exit), (vec![word], Exit::Jump));
    }
}
