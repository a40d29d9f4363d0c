//! This project's decoder.

use insn::Target;
use insn::x86::{Branch, Insn, Mode, Swept, branches, decode, starts, starts_without_vectors};

use crate::tally::Tally;

const MODE: Mode = Mode::INTEL_64;

pub(super) fn length(code: &[u8], tally: &mut Tally) {
    sweep(code, tally, |insn| insn.len() as u64);
}

pub(super) fn flow(code: &[u8], tally: &mut Tally) {
    sweep(code, tally, flow_and_target);
}

pub(super) fn full(code: &[u8], tally: &mut Tally) {
    sweep(code, tally, |insn| {
        let effects = insn.effects();
        let registers = effects.reads.bits() ^ effects.writes.bits().rotate_left(1);
        let flags = effects.flags_read.bits() ^ effects.flags_written.bits().rotate_left(1);
        flow_and_target(insn) ^ registers as u64 ^ (registers >> 64) as u64 ^ u64::from(flags)
    });
}

/// The answers that a batch has room for.
const ROOM: usize = 1 << 14;

pub(super) fn starts_in_batches(code: &[u8], tally: &mut Tally) {
    all_starts(code, tally, starts);
}

pub(super) fn starts_without(code: &[u8], tally: &mut Tally) {
    all_starts(code, tally, starts_without_vectors);
}

#[inline(always)]
fn all_starts(code: &[u8], tally: &mut Tally, starts: impl Fn(&[u8], Mode, &mut [u32]) -> Swept) {
    let (mut found, mut rest) = (vec![0; ROOM], code);
    while !rest.is_empty() {
        let swept = starts(rest, MODE, &mut found);
        found.iter().take(swept.found).for_each(|start| tally.add(u64::from(*start)));
        rest = rest.get(swept.end..).unwrap_or_default();
    }
}

/// The tally counts branches alone.
pub(super) fn branches_in_batches(code: &[u8], tally: &mut Tally) {
    let (mut found, mut rest) = (vec![Branch::EMPTY; ROOM], code);
    while !rest.is_empty() {
        let swept = branches(rest, MODE, &mut found);
        found.iter().take(swept.found).for_each(|branch| tally.add(u64::from(branch.start)));
        rest = rest.get(swept.end..).unwrap_or_default();
    }
}

pub(super) fn one_shot(code: &[u8], starts: &[u32], tally: &mut Tally) {
    for &start in starts {
        let rest = code.get(start as usize..).unwrap_or_default();
        if let Ok(insn) = decode(rest, MODE) {
            tally.add(flow_and_target(&insn));
        }
    }
}

#[inline(always)]
fn sweep(code: &[u8], tally: &mut Tally, value: impl Fn(&Insn) -> u64) {
    let mut at = 0;
    while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
        at += match decode(rest, MODE) {
            Ok(insn) => {
                tally.add(value(&insn));
                insn.len()
            }
            Err(_) => 1,
        };
    }
}

#[inline(always)]
fn flow_and_target(insn: &Insn) -> u64 {
    let target = match insn.target() {
        Target::Relative(distance) => distance as u64,
        Target::Absolute(address) => address,
        _ => 0,
    };
    insn.len() as u64 ^ ((insn.flow() as u64) << 8) ^ target
}
