//! Jumps at all instructions of code.
#![cfg(target_arch = "x86_64")]

use insn::x86::Mode;
use survey::{Found, sweep};
use ubp::{Address, JumpSurvey, JumpSurveyed};
use ubp_symbols::Image;

/// Compares the answers for all instructions of `code` up to `len` with those for each alone. Returns the number of instructions, and of those
/// without a jump.
fn compare(start: u64, code: &[u8], len: usize) -> (usize, usize) {
    let (mut alone, mut together) = (JumpSurvey::new(), JumpSurvey::new());
    let mut found = together.in_order(Address(start), code, len, Mode::INTEL_64);
    let (mut insns, mut refused) = (0, 0);
    for (pc, expected) in sweep(&code[..len], start, Mode::INTEL_64) {
        let (address, found) = found.next().expect("as many as there are");
        assert_eq!(address, Address(pc));
        match (found, expected) {
            (JumpSurveyed::Insn(insn, no_jump), Found::Insn(expected)) => {
                assert_eq!(insn.bytes(), expected.bytes(), "{pc:#x}");
                let rest = &code[(pc - start) as usize..];
                assert_eq!(no_jump, alone.no_jump(address, rest, Mode::INTEL_64), "{pc:#x} {:02x?}", insn.bytes());
                insns += 1;
                refused += usize::from(no_jump.is_some());
            }
            (JumpSurveyed::Undecodable(byte, error), Found::Undecodable(expected, its)) => {
                assert_eq!((byte, error), (expected, its), "{pc:#x}");
            }
            (found, expected) => panic!("{pc:#x}: {found:?}, and alone {expected:?}"),
        }
    }
    assert!(found.next().is_none());
    (insns, refused)
}

#[test]
fn the_jumps_of_code_in_order_are_those_of_each_instruction_alone_in_real_code() {
    let image = Image::open("/proc/self/exe".as_ref()).unwrap();
    let (mut insns, mut refused) = (0, 0);
    // Functions that lie apart.
    for range in image.code().iter().step_by(50).take(400) {
        let code = image.bytes_at(range.start).unwrap();
        let (some, without) = compare(range.start, code, ((range.end - range.start) as usize).min(code.len()));
        insns += some;
        refused += without;
    }
    assert!(insns > 2000 && refused > 20, "{insns} instructions, {refused} without a jump");
}

#[test]
fn the_jumps_of_code_in_order_are_those_of_each_instruction_alone_in_random_bytes() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut refused = 0;
    for round in 0..60 {
        // Short branches, calls through the stack pointer, and prefixes come often. Code lies at both ends of what a program can have too.
        let common = [0x74, 0xeb, 0xe8, 0xe2, 0x66, 0xff, 0x54, 0xd4, 0x24, 0x05, 0x9d, 0x8e, 0x90, 0xfa, 0xf0, 0xc3];
        let byte = |word: u64| if word & 0x300 == 0 { word as u8 } else { common[word as usize >> 16 & 15] };
        let code: Vec<u8> = (0..700 + round).map(|_| byte(next())).collect();
        let start = [0x40_0000, 0x7fff_ffff_fd80, 0x7fff_ffff_ffff_fd80, u64::MAX - 4096][round % 4];
        let (_, without) = compare(start, &code, code.len() - 100 * (round & 1));
        refused += without;
    }
    assert!(refused > 2000, "{refused} without a jump");
}

#[test]
fn a_branch_counts_in_code_in_order_as_far_from_the_site_as_for_an_instruction_alone() {
    for at in 490..530_usize {
        let mut code = vec![0x90; 600];
        // jmp to the second byte
        code[at] = 0xe9;
        code[at + 1..at + 5].copy_from_slice(&(1 - (at as i32 + 5)).to_le_bytes());
        compare(0x40_0000, &code, code.len());
    }
}
