//! This project's decoder.

use insn::Target;
use insn::arm64::{Effects, Insn, decode, decode_allocated, flow_of_allocated as flow};

use crate::tally::Tally;

pub(super) fn flow_of_allocated(words: &[u32]) -> Tally {
    let mut tally = Tally::default();
    for word in words {
        tally.add(flow(*word) as u64);
    }
    tally
}

/// Decodes four words in each round of the loop, which the compiler does not unroll because of a rare call.
pub(super) fn flow_of_four(words: &[u32]) -> Tally {
    let mut tally = Tally::default();
    let mut fours = words.chunks_exact(4);
    // An array's type has its length, so the inner loop needs no check.
    for four in fours.by_ref().filter_map(|four| <&[u32; 4]>::try_from(four).ok()) {
        for word in four {
            tally.add(flow(*word) as u64);
        }
    }
    tally.merge(flow_of_allocated(fours.remainder()));
    tally
}

pub(super) fn validity(words: &[u32]) -> Tally {
    sweep(words, |insn| insn.flow() as u64)
}

/// Class and target of words that are known to be allocated.
pub(super) fn target_of_allocated(words: &[u32]) -> Tally {
    let mut tally = Tally::default();
    for word in words {
        tally.add(flow_and_target(&decode_allocated(*word)));
    }
    tally
}

pub(super) fn target(words: &[u32]) -> Tally {
    sweep(words, flow_and_target)
}

pub(super) fn registers(words: &[u32]) -> Tally {
    sweep(words, |insn| flow_and_target(insn) ^ registers_of(&insn.effects()))
}

pub(super) fn effects(words: &[u32]) -> Tally {
    sweep(words, |insn| {
        let effects = insn.effects();
        let [memory, _] = effects.memories;
        let address = memory.map_or(0, |memory| memory.displacement as u64 ^ u64::from(memory.size));
        flow_and_target(insn) ^ registers_of(&effects) ^ address
    })
}

fn registers_of(effects: &Effects) -> u64 {
    let registers = effects.reads.bits() ^ effects.writes.bits().rotate_left(1);
    let flags = effects.flags_read.bits() ^ effects.flags_written.bits().rotate_left(4);
    registers as u64 ^ (registers >> 64) as u64 ^ u64::from(flags)
}

#[inline(always)]
fn sweep(words: &[u32], value: impl Fn(&Insn) -> u64) -> Tally {
    let mut tally = Tally::default();
    for word in words {
        tally.add(decode(*word).map_or(0, |insn| value(&insn)));
    }
    tally
}

#[inline(always)]
fn flow_and_target(insn: &Insn) -> u64 {
    let target = match insn.target() {
        Target::Relative(distance) => distance as u64,
        Target::Register(register) => register.number().into(),
        _ => 0,
    };
    insn.flow() as u64 ^ target
}
