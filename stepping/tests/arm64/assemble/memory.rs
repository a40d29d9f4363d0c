//! Memory copies and sets, three instructions each.

use stepping::arm64::{Exit, Progress};

use crate::code;

/// Each of the three: `cpy`, `cpyf`, `set`, `setg`.
const TRIPLES: [[u32; 3]; 4] = [
    [0x1d01_0440, 0x1d41_0440, 0x1d81_0440],
    [0x1901_0440, 0x1941_0440, 0x1981_0440],
    [0x19c2_0420, 0x19c2_4420, 0x19c2_8420],
    [0x1dc2_0420, 0x1dc2_4420, 0x1dc2_8420],
];

#[test]
fn the_first_of_three_is_copied_alone() {
    for [prologue, _, _] in TRIPLES {
        assert_eq!(code(prologue, 0x1000, 0x2000).1, [prologue, 0x17ff_fc00]);
    }
}

#[test]
fn the_second_stands_behind_the_first_to_which_the_kernel_goes_back() {
    for [prologue, main, _] in TRIPLES {
        let (code, words) = code(main, 0x1004, 0x2000);
        // b .+8; …; b 0x1008 at 0x200c
        assert_eq!((words, code.exit), (vec![0x1400_0002, prologue, main, 0x17ff_fbff], Exit::Jump));
        let places = [0, 4, 8, 12].map(|offset| code.original(offset).map(|place| (place.pc, place.progress)));
        assert_eq!(
            places,
            [
                Some((0x1004, Progress::Before)),
                Some((0x1000, Progress::Before)),
                Some((0x1004, Progress::Before)),
                Some((0x1008, Progress::After))
            ]
        );
    }
}

#[test]
fn the_third_stands_behind_the_first_and_second() {
    for [prologue, main, epilogue] in TRIPLES {
        let (code, words) = code(epilogue, 0x1008, 0x2000);
        // b .+12; …; b 0x100c at 0x2010
        assert_eq!((words, code.exit), (vec![0x1400_0003, prologue, main, epilogue, 0x17ff_fbff], Exit::Jump));
        let places = [0, 4, 8, 12, 16].map(|offset| code.original(offset).unwrap().pc);
        assert_eq!(places, [0x1008, 0x1000, 0x1004, 0x1008, 0x100c]);
    }
}
