//! From a word to its way: a table of the top bits, and behind it a program of bytes that asks for one bit after the other.

use super::flow::{WAYS, Way, Ways};
use super::generated::hot::{HOT, OTHERS, PROGRAM, RESTS};
use super::{Error, ErrorKind, Insn};
use crate::Flow;

/// What most words need, in one place.
#[repr(C)]
pub(super) struct Hot {
    pub(super) ways: Ways,
    /// By bits 31 to 21: the number of a class, whose words the top bits tell apart from others.
    pub(super) first: [u8; 2048],
    /// Of each class: the flow of all words that are allocated, where it is one.
    pub(super) flows: [Option<Flow>; 256],
    /// Words that have `values` under `masks`, as most have, have that flow and way.
    pub(super) flow: [Flow; 256],
    pub(super) way: [Way; 256],
    pub(super) masks: [u32; 256],
    pub(super) values: [u32; 256],
}

/// What is asked of a class's other words.
pub(super) struct Rest {
    /// Where its program begins.
    pub(super) start: u16,
    /// First and end of the sets that are tried before.
    pub(super) first: u8,
    pub(super) end: u8,
}

/// Words with `value` under `mask`, and their way.
pub(super) struct Set {
    pub(super) mask: u32,
    pub(super) value: u32,
    pub(super) way: Way,
}

/// Steps of the program, the same as in insn/gen/src/arm64/program.rs: bits 4 to 0 number the bit that is asked for.
mod step {
    /// The bit must be clear.
    pub(super) const CLEAR: u8 = 0;
    /// The bit must be set.
    pub(super) const SET: u8 = 1;
    /// Goes on elsewhere if the bit is set: two bytes follow.
    pub(super) const IF_SET: u8 = 2;
    /// The same if it is clear.
    pub(super) const IF_CLEAR: u8 = 3;
    /// Goes on elsewhere: two bytes follow.
    pub(super) const GO: u8 = 4;
}

#[inline(always)]
fn class(word: u32) -> usize {
    HOT.first[(word >> 21) as usize].into()
}

#[inline(always)]
pub(super) fn decode(word: u32) -> Result<Insn, Error> {
    let class = class(word);
    let (mut flow, mut way) = (HOT.flow[class], HOT.way[class]);
    if word & HOT.masks[class] != HOT.values[class] {
        let Some(other) = rare(word) else { return Err(Error { kind: ErrorKind::Undefined, word }) };
        (flow, way) = other;
    }
    Ok(Insn { word, flow, way })
}

/// The flow of a word that is known to be allocated.
#[inline(always)]
pub(super) fn flow_of_allocated(word: u32) -> Flow {
    match HOT.flows[class(word)] {
        Some(flow) => flow,
        None => flow_by_word(word),
    }
}

/// The same where the top bits do not tell it.
#[cold]
#[inline(never)]
fn flow_by_word(word: u32) -> Flow {
    decode(word).map_or(Flow::Faulting, |insn| insn.flow())
}

/// What the table of the top bits does not tell.
#[cold]
#[inline(never)]
fn rare(word: u32) -> Option<(Flow, Way)> {
    let rest = &RESTS[class(word)];
    let others = OTHERS.get(usize::from(rest.first)..usize::from(rest.end)).unwrap_or_default();
    let way = match others.iter().find(|other| word & other.mask == other.value) {
        Some(other) => other.way,
        None => WAYS[usize::from(run(word, usize::from(rest.start)) & 15)],
    };
    if way == Way::Undefined { None } else { Some((way.flow(), way)) }
}

/// Runs the program from a byte on; the number of a way.
fn run(word: u32, mut at: usize) -> u8 {
    while let Some(byte) = PROGRAM.get(at) {
        let set = word.wrapping_shr(u32::from(byte & 31)) & 1 == 1;
        let goes = match byte >> 5 {
            step::CLEAR if !set => false,
            step::SET if set => false,
            step::CLEAR | step::SET => return 0,
            step::IF_SET => set,
            step::IF_CLEAR => !set,
            step::GO => true,
            _ => return byte & 15,
        };
        let short = byte >> 5 <= step::SET;
        at = match PROGRAM.get(at.wrapping_add(1)..) {
            Some([low, high, ..]) if goes => usize::from(u16::from_le_bytes([*low, *high])),
            _ => at.wrapping_add(if short { 1 } else { 3 }),
        };
    }
    0
}
