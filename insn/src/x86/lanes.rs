//! The instruction starts of some kilobytes of code.
//!
//! The length of an instruction decides where the next one starts, so one decoder waits most of the time. The functions here run several decoders
//! over parts of the code. A decoder that starts amid an instruction soon meets the right starts: from there on its answers count.

use super::chunk::MAX_LEN;
use super::{Mode, quick};

/// The number of decoders that run side by side.
pub(super) const LANES: usize = 3;
/// The number of bytes that each of them looks at in a round.
const SPAN: usize = 1024;
/// The number of bytes of a round. As many more must follow, as an instruction has at most, so that a lane can decode its last one.
pub(super) const ROUND: usize = LANES * SPAN;

/// The number of places that are too few for a round.
pub(super) const FEW: usize = ROUND / 8;

/// The bytes of a round, and those that follow.
type Bytes = [u8; ROUND + MAX_LEN];

/// What a decoder found that began at a multiple of [`SPAN`].
#[derive(Clone, Copy)]
pub(super) struct Lane {
    /// Offsets of instructions, from the lane's first byte on: the first `found`.
    starts: [u16; SPAN],
    found: usize,
    /// Where the lane's last instruction ends.
    end: usize,
}

impl Lane {
    pub(super) const EMPTY: Lane = Lane { starts: [0; SPAN], found: 0, end: 0 };
}

/// Finds the starts of a round, and writes them into `places`, with `base` added. Returns what [`joined`] does.
#[inline(always)]
pub(super) fn round(
    bytes: &Bytes,
    mode: Mode,
    lanes: &mut [Lane; LANES],
    base: u32,
    places: &mut [u32],
) -> (usize, usize) {
    look(bytes, mode, lanes);
    joined(bytes, mode, lanes, base, places)
}

/// Runs all lanes over the bytes, in turns.
#[inline(never)]
fn look(bytes: &Bytes, mode: Mode, lanes: &mut [Lane; LANES]) {
    let mut turns = [Turn::default(); LANES];
    while turns.iter().all(|turn| turn.at < SPAN) {
        for n in 0..LANES {
            step(bytes, n * SPAN, mode, &mut lanes[n], &mut turns[n]);
        }
    }
    for n in 0..LANES {
        while turns[n].at < SPAN {
            step(bytes, n * SPAN, mode, &mut lanes[n], &mut turns[n]);
        }
        (lanes[n].end, lanes[n].found) = (turns[n].at, turns[n].found);
    }
}

/// Where a lane is.
#[derive(Clone, Copy, Default)]
struct Turn {
    /// The offset of its next instruction, from its first byte on.
    at: usize,
    /// The number of instructions before it.
    found: usize,
}

/// Looks at the next instruction of a lane.
#[inline(always)]
fn step(bytes: &Bytes, first: usize, mode: Mode, lane: &mut Lane, turn: &mut Turn) {
    let Some(chunk) = bytes.get(first + turn.at..).and_then(|rest| rest.first_chunk()) else { return };
    // Written always, and counted if there is an instruction.
    if let Some(place) = lane.starts.get_mut(turn.found) {
        *place = turn.at as u16;
    }
    match quick::length(chunk) {
        Some(len) => *turn = Turn { at: turn.at + len as usize, found: turn.found + 1 },
        None => *turn = other(bytes, first, mode, *turn),
    }
}

/// Where a lane is after an instruction of unknown length.
#[cold]
#[inline(never)]
fn other(bytes: &Bytes, first: usize, mode: Mode, turn: Turn) -> Turn {
    let chunk = bytes.get(first + turn.at..).and_then(|rest| rest.first_chunk());
    let len = chunk.map_or(0, |chunk| quick::other(chunk, mode));
    Turn { at: turn.at + len.max(1) as usize, found: turn.found + usize::from(len != 0) }
}

/// Writes what a round found into `places`, with `base` added, and finds what the lanes lack. Returns the offset in `bytes` of the first byte that was
/// not looked at and the number of places written.
#[inline(always)]
fn joined(bytes: &Bytes, mode: Mode, lanes: &[Lane; LANES], base: u32, places: &mut [u32]) -> (usize, usize) {
    let (mut at, mut found) = (0, 0);
    for (lane, first) in lanes.iter().zip((0..).step_by(SPAN)) {
        let mut known = lane.starts.get(..lane.found).unwrap_or_default();
        // Until the sweep meets a start that the lane has found, it goes on alone.
        while at < first + SPAN {
            let offset = at.saturating_sub(first);
            known =
                known.get(known.iter().take_while(|start| usize::from(**start) < offset).count()..).unwrap_or_default();
            let free = places.get_mut(found..).unwrap_or_default();
            if known.first().is_some_and(|start| first + usize::from(*start) == at) {
                for (place, start) in free.iter_mut().zip(known) {
                    *place = base + first as u32 + u32::from(*start);
                }
                if let Some(start) = known.get(free.len()) {
                    return (first + usize::from(*start), places.len());
                }
                found += known.len();
                at = first + lane.end;
                break;
            }
            let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk());
            let len = chunk.map_or(0, |chunk| quick::length(chunk).unwrap_or_else(|| quick::other(chunk, mode)));
            if len != 0 {
                let Some(place) = free.first_mut() else { return (at, found) };
                *place = base + at as u32;
                found += 1;
            }
            at += len.max(1) as usize;
        }
    }
    (at, found)
}
