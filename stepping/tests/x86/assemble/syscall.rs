//! `syscall`'s slot corrects rcx.

use insn::x86::{Mode, Reg};
use stepping::x86::{Place, Progress};

use crate::{code, hex};

#[test]
fn rcx_is_corrected_in_the_slot() {
    let (code, bytes) = code("0f05", Mode::INTEL_64, 0x1000, 0x2000);
    assert_eq!(bytes, hex("0f05 48b90210000000000000 e9f1efffff"));
    let after = |register| Some(Place { pc: 0x1002, progress: Progress::After, register });
    assert_eq!(code.original(2), after(Some((Reg::RCX, 0x1002))));
    assert_eq!(code.original(12), after(None));
    assert_eq!(code.offset(0x1002, Progress::After), Some(12));
}

#[test]
fn far_slots_jump_by_rcx() {
    let (code, bytes) = code("0f05", Mode::INTEL_64, 0x1000, 0x70_0000_0000);
    assert_eq!(bytes, hex("0f05 48b90210000000000000 ffe1"));
    assert!(code.boosted());
    assert_eq!(code.original(12).unwrap().register, Some((Reg::RCX, 0x1002)));
    assert_eq!(code.offset(0x1002, Progress::After), None);
}

#[test]
fn a_restart_goes_back_two_bytes_whatever_the_prefixes() {
    for (text, mode, prefixes) in [
        ("2e0f05", Mode::INTEL_64, 1),
        ("666666666666666666666666660f05", Mode::INTEL_64, 13),
        ("2ecd80", Mode::INTEL_64, 1),
        ("2e2ecd80", Mode::INTEL_32, 2),
    ] {
        for at in [0x2000, 0x7000_0000] {
            let (code, _) = code(text, mode, 0x1000, at);
            assert!(code.boosted(), "{text}");
            let restart = Place { pc: 0x1000 + prefixes, progress: Progress::Before, register: None };
            assert_eq!(code.original(prefixes as u8), Some(restart), "{text}");
            assert_eq!(code.original(0).unwrap().pc, 0x1000);
            assert_eq!(code.bytes[31], 0xcc);
        }
    }
}

#[test]
fn fast_system_calls_of_32_bit_code_are_plain_copies() {
    for text in ["0f05", "0f34"] {
        let (code, bytes) = code(text, Mode::AMD_32, 0x1000, 0x2000);
        assert_eq!(bytes, [hex(text), hex("e9fbefffff")].concat(), "{text}");
        assert!(code.boosted());
    }
}

#[test]
fn something_stands_for_the_next_instruction_where_a_single_step_trap_waits_for_its_end() {
    for (text, mode) in [
        ("cd80", Mode::AMD_64),
        ("8ed0", Mode::AMD_64),
        ("17", Mode::INTEL_32),
        ("cd80", Mode::INTEL_32),
        // The kernel does them where UMIP is on.
        ("0f00c0", Mode::AMD_64),
        ("0f0008", Mode::AMD_64),
        ("0f0100", Mode::INTEL_32),
        ("0f0108", Mode::AMD_64),
        ("0f01e0", Mode::AMD_64),
        ("0f0120", Mode::AMD_64),
    ] {
        let (code, bytes) = code(text, mode, 0x1000, 0x2000);
        let len = hex(text).len() as u8;
        assert_eq!(bytes[len as usize..][..2], [0x90, 0xe9], "{text}");
        let trapped = |offset: &u8| code.holds_off_trap(*offset);
        assert_eq!((0..32).filter(trapped).collect::<Vec<u8>>(), [len + 1], "{text}");
        assert_eq!(code.original(len + 1), code.original(len), "{text}");
    }
    for (text, once) in [("8ed0", true), ("0f00c0", false)] {
        let (intel, amd) = (code(text, Mode::INTEL_64, 0x1000, 0x2000).0, code(text, Mode::AMD_64, 0x1000, 0x2000).0);
        assert_eq!((intel.holds_off_once(), amd.holds_off_once()), (once, false), "{text}");
    }
    let (_, bytes) = code("ce", Mode::INTEL_32, 0x1000, 0x2000);
    assert_eq!(bytes[..2], [0xce, 0xe9], "a system call goes by no `into`");
    let (code, _) = code("0f05", Mode::INTEL_64, 0x1000, 0x2000);
    assert!(code.holds_off_trap(12) && !code.holds_off_trap(2));
    let (code, _) = crate::code("8ed8", Mode::INTEL_64, 0x1000, 0x2000);
    assert!((0..32).all(|offset| !code.holds_off_trap(offset)), "only the stack segment's");
    let (code, _) = crate::code("0f01d0", Mode::AMD_64, 0x1000, 0x2000);
    assert!((0..32).all(|offset| !code.holds_off_trap(offset)), "xgetbv is none of UMIP's");
}
