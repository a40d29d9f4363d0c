//! Slot addresses and original ones, both ways, for every word.

use insn::arm64::{Insn, Kind, decode};
use stepping::arm64::{BREAKPOINT, Code, Exit, Plan, Progress, Refusal, SLOT_SIZE, plan};

use crate::random::Random;

/// Random instructions with slots near and far.
fn each(seed: u64, mut look: impl FnMut(&Insn, u64, u64, &Code)) {
    let mut random = Random(seed);
    for _ in 0..100_000 {
        let insn = random.insn();
        let (pc, at) = (random.address(), random.address() & !31);
        let slot = match plan(&insn, pc) {
            Plan::Slot(slot) => slot,
            Plan::Emulate(emulate) => emulate.slot(),
            Plan::Refuse(_) => continue,
        };
        match slot.assemble(at) {
            Ok(code) => look(&insn, pc, at, &code),
            Err(reason) => assert_eq!(reason, Refusal::ExclusiveOutOfReach, "{insn:?}"),
        }
    }
}

fn is_middle(insn: &Insn) -> bool {
    matches!(insn.kind(), Kind::MemoryMain | Kind::MemoryEpilogue)
}

#[test]
fn every_place_leads_back_to_what_means_the_same() {
    each(1, |insn, pc, _, code| {
        let start = code.original(0).expect("a thread starts at the start");
        assert_eq!((start.pc, start.progress, start.register), (pc, Progress::Before, None));
        for offset in 0..SLOT_SIZE as u8 {
            let Some(place) = code.original(offset) else { continue };
            assert_eq!(offset % 4, 0, "{insn:?}");
            let back = code.offset(place.pc, place.progress).expect("a place has an offset");
            assert_eq!(code.original(back), Some(place), "{insn:?} at {offset}");
        }
    });
}

#[test]
fn every_word_that_a_thread_can_be_at_has_a_place() {
    each(2, |insn, _, at, code| {
        let mut offsets = vec![0];
        let mut seen = Vec::new();
        while let Some(offset) = offsets.pop() {
            if seen.contains(&offset) {
                continue;
            }
            seen.push(offset);
            assert!(code.original(offset).is_some(), "{insn:?} at {offset}");
            let place = usize::from(offset);
            let word = u32::from_le_bytes(code.bytes[place..place + 4].try_into().unwrap());
            let copy = decode(word).unwrap();
            if word == BREAKPOINT || matches!(code.exit, Exit::Step | Exit::StepThenReturnAddress(_)) {
                continue;
            }
            let inside = |to: u64| to.wrapping_sub(at) < SLOT_SIZE as u64;
            if let Some(to) = copy.target_address(at + u64::from(offset)).filter(|to| inside(*to)) {
                offsets.push((to - at) as u8);
            }
            if matches!(copy.flow(), insn::Flow::Next | insn::Flow::ConditionalJump | insn::Flow::Syscall) {
                offsets.push(offset + 4);
            }
        }
    });
}

#[test]
fn branches_out_of_a_slot_lead_where_their_place_says() {
    each(3, |insn, _, at, code| {
        for offset in (0..code.len).step_by(4) {
            let Some(place) = code.original(offset).filter(|place| place.progress == Progress::After) else { continue };
            let word = u32::from_le_bytes(code.bytes[usize::from(offset)..][..4].try_into().unwrap());
            if word != BREAKPOINT {
                let branch = decode(word).unwrap();
                assert_eq!(branch.target_address(at + u64::from(offset)), Some(place.pc), "{insn:?} at {offset}");
            }
        }
    });
}

#[test]
fn what_is_not_code_is_breakpoint_instructions_and_one_is_at_the_end() {
    each(4, |insn, _, _, code| {
        let rest = &code.bytes[usize::from(code.len)..];
        assert!(!rest.is_empty() && rest.len() % 4 == 0, "{insn:?}");
        assert!(rest.chunks_exact(4).all(|word| word == BREAKPOINT.to_le_bytes()), "{insn:?}");
        if let Exit::Trap(offset) = code.exit {
            assert_eq!(code.bytes[usize::from(offset)..][..4], BREAKPOINT.to_le_bytes(), "{insn:?}");
            assert!(code.original(offset).is_some(), "{insn:?}");
        }
    });
}

#[test]
fn a_scratch_register_is_not_used_by_the_original_and_a_trap_or_step_puts_it_back() {
    each(5, |insn, _, _, code| {
        let Some(scratch) = code.scratch else { return };
        assert!(!insn.reads().union(insn.writes()).contains(scratch.register), "{insn:?}");
        assert_ne!(code.exit, Exit::Jump, "{insn:?}");
    });
}

#[test]
fn only_the_second_and_third_of_a_memory_copy_go_back_in_the_slot() {
    each(6, |insn, pc, _, code| {
        let places = (0..SLOT_SIZE as u8).filter_map(|offset| code.original(offset));
        let earlier = places.filter(|place| place.progress == Progress::Before && place.pc != pc).count();
        assert_eq!(earlier > 0, is_middle(insn), "{insn:?}");
    });
}
