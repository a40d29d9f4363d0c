//! Many instructions at once: where they start, and which of them are branches.
//!
//! Starts are found by lengths that vectors tell ([`super::wide`]), or in rounds by several decoders ([`super::lanes`]).

use super::lanes::{FEW, LANES, Lane, round};
use super::walk::{PART, Walk};
use super::wide::Finder;
use super::{Bits, Insn, MAX_LEN, Mode, Reg, decode};
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
    starts_by(Finder::new(), code, mode, starts)
}

/// What [`starts`] does where the processor has no vectors, for tests and measurements. The answers are the same.
#[cfg(feature = "std")]
pub fn starts_without_vectors(code: &[u8], mode: Mode, starts: &mut [u32]) -> Swept {
    starts_by(None, code, mode, starts)
}

/// What [`starts`] does, by vectors if there is a finder.
fn starts_by(finder: Option<Finder>, code: &[u8], mode: Mode, starts: &mut [u32]) -> Swept {
    let code = addressable(code);
    let swept = match finder {
        _ if mode.bits != Bits::B64 => Swept::default(),
        Some(finder) => in_parts(finder, code, mode, starts),
        None => in_rounds(code, mode, starts),
    };
    one_by_one(code, mode, swept, |found, start, _| {
        starts.get_mut(found).map(|place| {
            *place = start;
            1
        })
    })
}

/// Sweeps over code of 64-bit mode until less than a part is left, or no place. Each start needs the last one, and vectors need none: the processor
/// walks through a part while it computes the lengths of the next part.
fn in_parts(finder: Finder, code: &[u8], mode: Mode, starts: &mut [u32]) -> Swept {
    let mut swept = Swept::default();
    let (mut these, mut next) = (&mut [0; PART], &mut [0; PART]);
    let mut base = 0;
    if let Some(first) = code.first_chunk() {
        finder.lengths(code, these, &mut Walk::nowhere(first));
    }
    while let Some(bytes) = code.get(base..).and_then(|rest| rest.first_chunk()) {
        let mut walk =
            Walk { bytes, mode, lens: these, base, places: starts, at: swept.end - base, found: swept.found };
        let rest = code.get(base + PART..).filter(|rest| rest.len() >= PART + MAX_LEN);
        if let Some(rest) = rest {
            finder.lengths(rest, next, &mut walk);
        }
        walk.finish();
        swept = Swept { found: walk.found, end: base + walk.at };
        base += PART;
        if swept.end < base {
            break;
        }
        core::mem::swap(&mut these, &mut next);
    }
    swept
}

/// Sweeps over code of 64-bit mode until less than a round is left, of the code or of the places.
fn in_rounds(code: &[u8], mode: Mode, starts: &mut [u32]) -> Swept {
    let mut swept = Swept::default();
    let mut lanes = [Lane::EMPTY; LANES];
    while let (Some(bytes), Some(places)) = (
        code.get(swept.end..).and_then(|rest| rest.first_chunk()),
        starts.get_mut(swept.found..).filter(|places| places.len() >= FEW),
    ) {
        let (at, found) = round(bytes, mode, &mut lanes, swept.end as u32, places);
        swept.found += found;
        swept.end += at;
    }
    swept
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

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::super::{Mode, decode};
    use super::{Finder, PART, starts_by};

    fn one_by_one(code: &[u8], mode: Mode) -> Vec<u32> {
        let (mut starts, mut at) = (Vec::new(), 0);
        while at < code.len() {
            at += match decode(&code[at..], mode) {
                Ok(insn) => {
                    starts.push(at as u32);
                    insn.len()
                }
                Err(_) => 1,
            };
        }
        starts
    }

    fn check(code: &[u8], mode: Mode) {
        let expected = one_by_one(code, mode);
        let finders = [None, Finder::new()];
        // The second is missing where there are no vectors.
        for finder in finders.into_iter().take(1 + usize::from(finders[1].is_some())) {
            let mut found = vec![u32::MAX; code.len()];
            let swept = starts_by(finder, code, mode, &mut found);
            assert!(found[..swept.found] == expected && swept.end == code.len(), "{} bytes, {mode:?}", code.len());
        }
    }

    #[test]
    fn with_and_without_vectors_starts_are_those_of_single_instructions_wherever_code_ends() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let middle = &program[program.len() / 2..];
        for size in (PART - 4..PART + 60).chain(2 * PART - 4..2 * PART + 60).chain(3072..3072 + 30) {
            check(&middle[size..2 * size], Mode::INTEL_64);
        }
        for begin in 0..40 {
            check(&middle[begin..begin + 3 * PART], Mode::AMD_64);
        }
        for mode in [Mode::INTEL_64, Mode::AMD_64.lenient(), Mode::INTEL_32] {
            check(&middle[..middle.len().min(1 << 18)], mode);
        }
    }
}
