//! How far a branch leads back.

use stepping::arm64::{Exit, Refusal};

use crate::{code, slot};

const ADD: u32 = 0x9100_0400;
const NEXT: u64 = 0x4000_0004;

fn exit(at: u64) -> Exit {
    code(ADD, NEXT - 4, at).0.exit
}

#[test]
fn slots_within_128_mib_are_boosted() {
    // The branch stands four bytes into the slot.
    assert_eq!(exit(NEXT - 4 + (1 << 27)), Exit::Jump);
    assert_eq!(exit(NEXT - 4 - (1 << 27) + 4), Exit::Jump);
}

#[test]
fn slots_farther_away_end_with_a_trap() {
    for at in [NEXT + (1 << 27), NEXT - 4 - (1 << 27)] {
        let (code, words) = code(ADD, NEXT - 4, at);
        assert_eq!((code.exit, words), (Exit::Trap(4), vec![ADD]));
        assert_eq!(code.original(4).unwrap().pc, NEXT);
    }
}

#[test]
fn a_load_exclusive_with_a_trap_behind_is_refused() {
    let load = slot(0xc85f_7c01, NEXT - 4);
    assert!(load.assemble(NEXT).is_ok());
    assert_eq!(load.assemble(NEXT + (1 << 27)).unwrap_err(), Refusal::ExclusiveOutOfReach);
}
