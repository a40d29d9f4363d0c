//! `xbegin`'s abort handler.

use insn::x86::Mode;
use stepping::x86::{Place, Progress};

use crate::{code, hex};

const AFTER: Progress = Progress::After;

#[test]
fn the_abort_distance_is_rewritten_within_reach() {
    let (code, bytes) = code("c7f800010000", Mode::INTEL_64, 0x1000, 0x2000);
    assert_eq!(bytes, hex("c7f800f1ffff e9fbefffff"));
    assert!(code.boosted());
}

#[test]
fn a_handler_out_of_reach_is_a_trap_with_a_place() {
    // The next instruction is near, the handler is not.
    let (code, bytes) = code("c7f800000080", Mode::INTEL_64, 0xc000_0000, 0x1_0000_0000);
    assert_eq!(bytes, hex("c7f805000000 e9fbffffbf"));
    assert_eq!(code.bytes[11], 0xcc);
    assert_eq!(code.original(11), Some(Place { pc: 0x4000_0006, progress: AFTER, register: None }));
    // Neither is.
    let (code, bytes) = crate::code("c7f800010000", Mode::INTEL_64, 0x1000, 0x70_0000_0000);
    assert_eq!(bytes[..6], hex("c7f812000000"));
    assert_eq!(bytes[6..12], hex("ff2504000000"));
    assert_eq!(bytes[16..24], 0x1006_u64.to_le_bytes());
    assert_eq!(code.bytes[24], 0xcc);
    assert_eq!(code.original(24), Some(Place { pc: 0x1106, progress: AFTER, register: None }));
    assert_eq!((code.offset(0x1106, AFTER), code.offset(0x1006, AFTER)), (Some(24), Some(6)));
}

#[test]
fn a_jump_back_without_room_aborts() {
    let (code, bytes) = code("3e3e3e3e3e3e3e3ec7f800010000", Mode::INTEL_64, 0x1000, 0x70_0000_0000);
    assert_eq!(bytes[8..], hex("c7f801000000 cc"));
    assert_eq!(code.original(14).map(|place| place.pc), Some(0x100e));
    assert_eq!(code.original(15).map(|place| place.pc), Some(0x110e));
}
