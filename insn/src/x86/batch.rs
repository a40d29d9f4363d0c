//! Many instructions at once: where they start, and which of them are branches.
//!
//! The length of an instruction decides where the next one starts, so one decoder waits most of the time. The functions here run several decoders
//! over parts of the code. A decoder that starts amid an instruction soon meets the right starts: from there on its answers count.

use super::{Bits, Insn, MAX_LEN, Mode, Reg, decode, quick};
use crate::{Flow, Target};

/// What a function of this module did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Swept {
    /// The number of answers written.
    pub found: usize,
    /// The offset of the first byte that has not been looked at: the end of the code, or where to go on after the array was full.
    pub end: usize,
}

/// A branch in code: an instruction whose [`Flow`] is a jump, a call or a return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Branch {
    /// The offset of its first byte.
    pub start: u32,
    /// Its length in bytes.
    pub len: u8,
    /// What it does to the flow of control: [`Flow::Jump`], [`Flow::ConditionalJump`], [`Flow::Call`] or [`Flow::Return`].
    pub flow: Flow,
    /// Its target; a distance counts from the end of the instruction.
    pub target: Target<Reg>,
}

impl Branch {
    /// An empty place in an array.
    pub const EMPTY: Branch = Branch { start: 0, len: 0, flow: Flow::Next, target: Target::None };
}

/// The number of decoders that run side by side.
const LANES: usize = 3;
/// The number of bytes that each of them looks at in a round.
const SPAN: usize = 1024;
/// The number of bytes of a round. As many more must follow, as an instruction has at most, so that a lane can decode its last one.
const ROUND: usize = LANES * SPAN;

/// The number of places that are too few for a round.
const FEW: usize = ROUND / 8;

/// Writes the offsets at which instructions start into `starts`, in order, until the code or the array ends.
///
/// The sweep is linear: each instruction starts where the last one ended, and after a byte at which no instruction starts the sweep goes on
/// with the next byte. It stops before offsets of 4 GiB. An instruction that the end of `code` cuts off does not count.
///
/// ```
/// use insn::x86::{Mode, starts};
///
/// // push rbp; mov rbp, rsp; a byte that is no instruction; ret
/// let code = [0x55, 0x48, 0x89, 0xe5, 0x06, 0xc3];
/// let mut found = [0; 8];
/// let swept = starts(&code, Mode::INTEL_64, &mut found);
/// assert_eq!((&found[..swept.found], swept.end), (&[0, 1, 5][..], 6));
/// ```
pub fn starts(code: &[u8], mode: Mode, starts: &mut [u32]) -> Swept {
    let code = addressable(code);
    let mut swept = Swept::default();
    let mut lanes = [Lane::EMPTY; LANES];
    let in_rounds = if mode.bits == Bits::B64 { code } else { &[] };
    while let (Some(bytes), Some(places)) = (
        in_rounds.get(swept.end..).and_then(|rest| rest.first_chunk()),
        starts.get_mut(swept.found..).filter(|places| places.len() >= FEW),
    ) {
        look(bytes, mode, &mut lanes);
        let (at, found) = joined(bytes, mode, &lanes, swept.end as u32, places);
        swept.found += found;
        swept.end += at;
    }
    one_by_one(code, mode, swept, |found, start, _| {
        starts.get_mut(found).map(|place| {
            *place = start;
            1
        })
    })
}

/// Writes what a round found into `places`, and finds what the lanes lack. Returns the offset in `bytes` of the first byte that was not looked at
/// and the number of places written.
#[inline(always)]
fn joined(
    bytes: &[u8; ROUND + MAX_LEN],
    mode: Mode,
    lanes: &[Lane; LANES],
    base: u32,
    places: &mut [u32],
) -> (usize, usize) {
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
            let len = bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| length(chunk, mode));
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

/// Writes the branches into `branches`, in order, until the code or the array ends. The sweep is that of [`starts`].
///
/// ```
/// use insn::x86::{Branch, Mode, branches};
/// use insn::{Flow, Target};
///
/// // je +2; nop; nop; ret
/// let mut found = [Branch::EMPTY; 4];
/// let swept = branches(&[0x74, 0x02, 0x90, 0x90, 0xc3], Mode::INTEL_64, &mut found);
/// assert_eq!((found[0].start, found[0].flow, found[0].target), (0, Flow::ConditionalJump, Target::Relative(2)));
/// assert_eq!((found[1].start, found[1].target, swept.found), (4, Target::Stack, 2));
/// ```
pub fn branches(code: &[u8], mode: Mode, branches: &mut [Branch]) -> Swept {
    one_by_one(addressable(code), mode, Swept::default(), |found, start, insn| {
        let flow = insn.flow();
        if !matches!(flow, Flow::Jump | Flow::ConditionalJump | Flow::Call | Flow::Return) {
            return Some(0);
        }
        branches.get_mut(found).map(|place| {
            *place = Branch { start, len: insn.len() as u8, flow, target: insn.target() };
            1
        })
    })
}

/// The part of the code whose offsets have 32 bits.
fn addressable(code: &[u8]) -> &[u8] {
    code.get(..u32::MAX as usize).unwrap_or(code)
}

/// Sweeps on from what was done. `write` gets the number of answers so far, the offset of an instruction and the instruction; it tells how many
/// answers it wrote, or `None` if there was no room.
#[inline(always)]
fn one_by_one(
    code: &[u8],
    mode: Mode,
    mut swept: Swept,
    mut write: impl FnMut(usize, u32, &Insn) -> Option<usize>,
) -> Swept {
    while let Some(rest) = code.get(swept.end..).filter(|rest| !rest.is_empty()) {
        swept.end += match decode(rest, mode) {
            Ok(insn) => {
                let Some(written) = write(swept.found, swept.end as u32, &insn) else { break };
                swept.found += written;
                insn.len()
            }
            Err(_) => 1,
        };
    }
    swept
}

/// What a decoder found that began at a multiple of [`SPAN`].
#[derive(Clone, Copy)]
struct Lane {
    /// Offsets of instructions, from the lane's first byte on: the first `found`.
    starts: [u16; SPAN],
    found: usize,
    /// Where the lane's last instruction ends.
    end: usize,
}

impl Lane {
    const EMPTY: Lane = Lane { starts: [0; SPAN], found: 0, end: 0 };
}

/// Runs all lanes over the bytes, in turns.
#[inline(never)]
fn look(bytes: &[u8; ROUND + MAX_LEN], mode: Mode, lanes: &mut [Lane; LANES]) {
    let (mut at, mut found) = ([0; LANES], [0; LANES]);
    while at.iter().all(|at| *at < SPAN) {
        for n in 0..LANES {
            step(bytes, n * SPAN, mode, &mut lanes[n], &mut at[n], &mut found[n]);
        }
    }
    for n in 0..LANES {
        while at[n] < SPAN {
            step(bytes, n * SPAN, mode, &mut lanes[n], &mut at[n], &mut found[n]);
        }
        (lanes[n].end, lanes[n].found) = (at[n], found[n]);
    }
}

/// Looks at the next instruction of a lane.
#[inline(always)]
fn step(bytes: &[u8; ROUND + MAX_LEN], first: usize, mode: Mode, lane: &mut Lane, at: &mut usize, found: &mut usize) {
    let Some(chunk) = bytes.get(first + *at..).and_then(|rest| rest.first_chunk()) else { return };
    // Written always, and counted if there is an instruction.
    if let Some(place) = lane.starts.get_mut(*found) {
        *place = *at as u16;
    }
    match quick::length(chunk) {
        Some(len) => {
            *found += 1;
            *at += len as usize;
        }
        None => {
            let len = quick::other(chunk, mode);
            *found += usize::from(len != 0);
            *at += len.max(1) as usize;
        }
    }
}

/// The length of the instruction at the start of the bytes, in 64-bit mode; 0 if there is no instruction.
#[inline(always)]
fn length(chunk: &[u8; MAX_LEN], mode: Mode) -> u32 {
    quick::length(chunk).unwrap_or_else(|| quick::other(chunk, mode))
}
