use insn::Flow;
use insn::x86::decode;
use trampoline::x86::{Progress, place};

use crate::{COUNTER, PC, assemble, count, hex, site};
use trampoline::x86::{Action, Probe};

/// A generator of numbers (splitmix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[test]
fn every_instruction_of_a_trampoline_of_any_bytes_has_a_place() {
    let mut state = 5;
    let mut done = 0;
    for _ in 0..40_000 {
        let mut code = [0_u8; 24];
        for chunk in code.chunks_mut(8) {
            chunk.copy_from_slice(&random(&mut state).to_le_bytes());
        }
        let Ok((trampoline, bytes, places)) = assemble(&site(&code), &[count()]) else { continue };
        done += 1;
        assert!(places.windows(2).all(|two| two[0].offset < two[1].offset), "{code:02x?}");
        let mut at = 0;
        for one in &places {
            let offset = usize::from(one.offset);
            assert!(offset >= at.min(offset) && one.pc != 0, "{code:02x?}");
            // The kernel returns to the last two bytes of a system call to restart it: a place that is no start of an instruction.
            let insn = decode(&bytes[offset..], site(&code).mode);
            let insn = insn.unwrap_or_else(|error| panic!("{code:02x?} at {offset}: {error}"));
            if matches!(insn.flow(), Flow::Syscall | Flow::Interrupt) && insn.len() > 2 {
                break;
            }
            at = offset + insn.len();
            let next =
                places.iter().find(|place| usize::from(place.offset) >= at).map(|place| usize::from(place.offset));
            assert!(next.is_none_or(|next| next == at), "{code:02x?}: nothing at {at}");
        }
        assert!(at <= trampoline.len(), "{code:02x?}");
    }
    assert!(done > 10_000, "{done}");
}

#[test]
fn progress_is_done_behind_the_count_and_before_the_instruction() {
    let code = hex("9090909090 c3");
    let (trampoline, _, places) = assemble(&site(&code), &[count()]).unwrap();
    let offset = |address: Option<u64>| (address.unwrap() - trampoline.at()) as u16;
    let copy = offset(trampoline.copy(0));
    for one in &places {
        let expected = match one.offset {
            at if at > copy => Progress::Before,
            // lea, push, lahf, seto, push, and the count.
            at if at <= 11 => Progress::Before,
            _ => Progress::Done,
        };
        assert_eq!((one.progress, one.own), (expected, one.offset < copy), "{one:?}");
    }
    assert_eq!(place(&places, copy).unwrap().pc, PC);
    assert_eq!(place(&places, offset(trampoline.copy(1))).unwrap().pc, PC + 1);
    assert_eq!(place(&places, 1), None);
}

#[test]
fn a_stop_is_known_by_the_pc_behind_it() {
    let code = hex("39c0 0f1f00 c3");
    let actions = [Action::Count { counter: COUNTER, atomic: true }, Action::Stop];
    let (trampoline, bytes, places) =
        assemble(&site(&code), &[Probe { actions: &actions, ..Probe::default() }]).unwrap();
    let stop = trampoline.copy(0).unwrap();
    assert_eq!(bytes[(stop - trampoline.at()) as usize - 1], 0xcc);
    assert_eq!(trampoline.stopped(stop), Some(0));
    assert_eq!(trampoline.stopped(stop + 1), None);
    assert_eq!(place(&places, (stop - trampoline.at()) as u16).unwrap().progress, Progress::Done);
}
