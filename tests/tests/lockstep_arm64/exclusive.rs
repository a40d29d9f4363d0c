//! Exclusive sequences with a breakpoint somewhere in them.

use insn::arm64::decode;
use stepping::arm64::{BREAKPOINT, Plan, plan_in};

use crate::lab::Lab;
use crate::passing;
use crate::state::State;

/// 1: ldxr x2, [x0]; add x2, x2, #1; stxr w3, x2, [x0]; cbnz w3, 1b
const INCREMENT: [u32; 4] = [0xc85f_7c02, 0x9100_0442, 0xc803_7c02, 0x35ff_ffa3];
/// So often a breakpoint may be hit before it is called endless.
const ENOUGH: usize = 50;

/// How often the breakpoint on one of the instructions is hit until the sequence is done; `None` if that is never.
fn hits(lab: &Lab, index: usize) -> Option<usize> {
    let site = lab.site() + 4 * index as u64;
    let slot = lab.slots()[1];
    lab.place(&INCREMENT);
    lab.write(site, &[BREAKPOINT]);
    let mut stop = lab.run(&State::random(1, lab));
    for hits in 0..ENOUGH {
        assert_eq!(stop.signal, libc::SIGTRAP);
        if stop.state.pc == lab.site() + 16 {
            return Some(hits);
        }
        assert_eq!(stop.state.pc, site);
        stop = passing::pass_on(lab, INCREMENT[index], site, slot, &stop.state);
    }
    None
}

#[test]
fn what_is_not_refused_lets_the_sequence_succeed() {
    let lab = Lab::new(false);
    let mut planned = 0;
    for (index, word) in INCREMENT.into_iter().enumerate() {
        let site = lab.site() + 4 * index as u64;
        if !matches!(plan_in(&decode(word).unwrap(), site, &INCREMENT, index), Plan::Refuse(_)) {
            planned += 1;
            assert_eq!(hits(&lab, index), Some(1), "{word:#010x}");
        }
    }
    assert_eq!(planned, 2, "the load and the branch");
}

#[test]
fn what_is_refused_would_never_end() {
    assert_eq!(hits(&Lab::new(false), 1), None);
}
