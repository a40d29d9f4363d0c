//! FEAT_CMPBR: compare and branch.

use insn::arm64::Reg;

use super::taken;
use crate::machine::Machine;

const VALUES: [u64; 14] = [
    0,
    1,
    5,
    63,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0005,
];

/// Each relation by the code of its field, between numbers of `bits` bits.
fn relation(code: u32, immediate: bool, left: u64, right: u64, bits: u32) -> bool {
    let unsigned = |value: u64| u128::from(value) & ((1_u128 << bits) - 1);
    let signed = |value: u64| {
        let value = unsigned(value) as i128;
        if value >> (bits - 1) & 1 == 1 { value - (1_i128 << bits) } else { value }
    };
    match (code, immediate) {
        (0, _) => signed(left) > signed(right),
        (1, false) => signed(left) >= signed(right),
        (1, true) => signed(left) < signed(right),
        (2, _) => unsigned(left) > unsigned(right),
        (3, false) => unsigned(left) >= unsigned(right),
        (3, true) => unsigned(left) < unsigned(right),
        (6, _) => unsigned(left) == unsigned(right),
        (7, _) => unsigned(left) != unsigned(right),
        _ => unreachable!("no such relation"),
    }
}

#[test]
fn registers_are_compared_in_their_width() {
    for (form, bits) in [(0x7400_0081, 32), (0xf400_0081, 64), (0x7400_8081, 8), (0x7400_c081, 16)] {
        for code in [0, 1, 2, 3, 6, 7] {
            for left in VALUES {
                for right in VALUES {
                    let mut machine = Machine::new();
                    machine.put(Reg::general(1), left).put(Reg::general(2), right);
                    let word = form | code << 21 | 2 << 16;
                    let expected = relation(code, false, left, right, bits);
                    assert_eq!(taken(&machine, word), expected, "{word:#010x} {left:#x} {right:#x}");
                }
            }
        }
    }
}

#[test]
fn immediates_are_positive() {
    for (form, bits) in [(0x7500_0081, 32), (0xf500_0081, 64)] {
        for code in [0, 1, 2, 3, 6, 7] {
            for left in VALUES {
                for right in [0, 1, 5, 31, 32, 63] {
                    let mut machine = Machine::new();
                    machine.put(Reg::general(1), left);
                    let word = form | code << 21 | right << 15;
                    let expected = relation(code, true, left, right.into(), bits);
                    assert_eq!(taken(&machine, word), expected, "{word:#010x} {left:#x} {right}");
                }
            }
        }
    }
}

#[test]
fn register_31_is_zero() {
    // cbeq xzr, x2; cbeq x2, xzr
    let mut machine = Machine::new();
    assert!(!taken(&machine, 0xf4c2_009f));
    assert!(!taken(&machine, 0xf4df_0082));
    machine.put(Reg::general(2), 0);
    assert!(taken(&machine, 0xf4c2_009f));
    assert!(taken(&machine, 0xf4df_0082));
}
