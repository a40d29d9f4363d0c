//! Slot addresses and original ones, both ways, for every byte.

use stepping::x86::{Code, Exit, Plan, Progress, SLOT_SIZE, plan};

use crate::random::{MODES, Random};

/// Random instructions with slots near and far.
fn each(seed: u64, mut look: impl FnMut(&insn::x86::Insn, u64, u64, &Code)) {
    let mut random = Random(seed);
    for mode in MODES {
        for _ in 0..20_000 {
            let insn = random.insn(mode);
            let (pc, at) = (random.address(mode), random.address(mode) & !31);
            let slot = match plan(&insn, pc) {
                Plan::Slot(slot) => slot,
                Plan::Emulate(emulate) => emulate.slot(),
                _ => continue,
            };
            let code = slot.assemble(at).unwrap_or_else(|reason| panic!("{:02x?}: {reason}", insn.bytes()));
            look(&insn, pc, at, &code);
        }
    }
}

#[test]
fn every_place_leads_back_to_itself() {
    each(1, |insn, pc, _, code| {
        let start = code.original(0).expect("a thread starts at the start");
        assert_eq!((start.pc, start.progress, start.register), (pc, Progress::Before, None));
        for offset in 0..SLOT_SIZE as u8 {
            let Some(place) = code.original(offset) else { continue };
            if place.register.is_some() {
                continue;
            }
            let back = code.offset(place.pc, place.progress).expect("a place has an offset");
            assert_eq!(code.original(back), Some(place), "{:02x?} at {offset}", insn.bytes());
            // Two offsets mean the same only where a transaction's handler is the next instruction, and where a `nop` stands for it.
            let twice = insn.opcode() == 0xc7 || code.holds_off_trap(offset);
            assert!(back == offset || twice, "{:02x?}: {offset} and {back}", insn.bytes());
        }
    });
}

#[test]
fn places_lie_at_the_ends_of_instructions() {
    each(2, |insn, pc, _, code| {
        for offset in 1..insn.len() as u8 {
            if let Some(place) = code.original(offset) {
                // The restart of a system call behind its prefixes.
                assert_eq!(usize::from(offset) + 2, insn.len());
                assert_eq!(
                    (place.progress, place.pc & 0xffff_ffff),
                    (Progress::Before, pc.wrapping_add(u64::from(offset)) & 0xffff_ffff)
                );
            }
        }
        if code.exit == Exit::Jump || matches!(code.exit, Exit::Trap(_)) {
            let places = (0..SLOT_SIZE as u8).filter_map(|offset| code.original(offset));
            assert!(places.clone().count() >= 1);
        }
        for offset in code.len + 1..SLOT_SIZE as u8 {
            assert_eq!(code.original(offset), None);
        }
    });
}

#[test]
fn what_is_not_code_is_int3_and_one_is_always_there() {
    each(3, |insn, _, _, code| {
        let len = usize::from(code.len);
        assert!(len < SLOT_SIZE, "{:02x?}", insn.bytes());
        assert!(code.bytes[len..].iter().all(|byte| *byte == 0xcc), "{:02x?}", insn.bytes());
        if let Exit::Trap(offset) = code.exit {
            assert_eq!(code.bytes[usize::from(offset)], 0xcc);
            assert_eq!(code.original(offset).expect("a trap has a place").progress, Progress::After);
        }
    });
}
