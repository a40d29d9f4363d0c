//! Jumps at all instructions of code, from the first one to the last one.
//!
//! The answers are those of [`scan()`](super::scan::scan()) and of the trampoline, for each instruction alone. Here each instruction is decoded once.

use std::collections::VecDeque;
use std::ops::Range;

use insn::Flow;
use insn::x86::{Bits, Error, Insn, Mode, decode};
use trampoline::x86::relocates;

use super::LENGTH;
use super::scan::{LOOK, no_jump_over};
use crate::{Address, NoJump};

/// Bytes of a jump, and an end of addresses behind which no program has code.
const COVERED: usize = LENGTH as usize;
const LAST: u64 = u64::MAX / 2;

/// What lies at an address of code ([`JumpSurvey::in_order`](crate::JumpSurvey::in_order)).
#[derive(Clone, Debug)]
pub enum JumpSurveyed {
    /// An instruction, and why there is no jump.
    Insn(Insn, Option<NoJump>),
    /// A byte at which no instruction begins. Decoding goes on with the next one.
    Undecodable(u8, Error),
}

/// The instructions of code with what is known of those behind them.
pub(super) struct InOrder<'a> {
    /// The address of the code.
    start: u64,
    /// The code to the end of its mapping.
    code: &'a [u8],
    /// Bytes of code of which the instructions are told.
    len: usize,
    mode: Mode,
    /// The offset of the next instruction.
    at: usize,
    /// The instructions from there on, behind `told` others.
    known: Vec<Known>,
    told: usize,
    /// The offset behind the last one of them, and whether no instruction begins there.
    end: usize,
    is_stuck: bool,
    /// The branches among them that lead back.
    back: VecDeque<Back>,
}

struct Known {
    offset: usize,
    insn: Insn,
    flow: Flow,
    relocates: bool,
}

struct Back {
    /// The offsets of the branch.
    branch: Range<usize>,
    target: usize,
}

impl<'a> InOrder<'a> {
    pub(super) fn new(start: u64, code: &'a [u8], len: usize, mode: Mode) -> InOrder<'a> {
        let (known, back) = (Vec::with_capacity(LOOK), VecDeque::new());
        InOrder { start, code, len: len.min(code.len()), mode, at: 0, known, told: 0, end: 0, is_stuck: false, back }
    }

    /// The next instruction or byte with its address. `alone` tells why there is no jump at an address, from the code there.
    pub(super) fn next(
        &mut self,
        mut alone: impl FnMut(Address, &[u8]) -> Option<NoJump>,
    ) -> Option<(Address, JumpSurveyed)> {
        let at = self.at;
        let told = self.code.get(at..self.len).filter(|rest| !rest.is_empty())?;
        let address = Address(self.address(at));
        self.look_ahead();
        let insn = match self.known().first().filter(|known| known.insn.len() <= told.len()) {
            Some(known) => known.insn,
            None => match decode(told, self.mode) {
                Ok(insn) => insn,
                Err(error) => {
                    self.at += 1;
                    return Some((address, JumpSurveyed::Undecodable(*told.first()?, error)));
                }
            },
        };
        let no_jump = match self.judge() {
            Some(no_jump) => no_jump,
            None => alone(address, self.code.get(at..).unwrap_or_default()),
        };
        self.at += insn.len();
        Some((address, JumpSurveyed::Insn(insn, no_jump)))
    }

    /// The instructions from the next one on.
    fn known(&self) -> &[Known] {
        self.known.get(self.told..).unwrap_or_default()
    }

    fn address(&self, offset: usize) -> u64 {
        self.start.wrapping_add(offset as u64)
    }

    /// Decodes the instructions that may begin within the next [`LOOK`] bytes.
    fn look_ahead(&mut self) {
        let at = self.at;
        self.told += self.known().iter().take_while(|known| known.offset < at).count();
        if self.told >= LOOK / 2 {
            self.known.drain(..self.told);
            self.told = 0;
        }
        while self.back.front().is_some_and(|back| back.branch.start < at) {
            self.back.pop_front();
        }
        // Another instruction than before may begin in the midst of one.
        if self.known().first().map_or(self.end, |known| known.offset) != at {
            (self.known, self.told) = (Vec::with_capacity(LOOK), 0);
            self.back.clear();
            (self.end, self.is_stuck) = (at, false);
        }
        while !self.is_stuck && self.end < at + LOOK {
            let offset = self.end;
            let rest = self.code.get(offset..).unwrap_or_default();
            let Ok(insn) = decode(rest, self.mode) else {
                self.is_stuck = true;
                break;
            };
            self.end += insn.len();
            let (pc, flow) = (self.address(offset), insn.flow());
            if let Some(target) = (flow != Flow::Next).then(|| insn.target_address(pc)).flatten() {
                let distance = pc.wrapping_sub(target);
                if distance <= offset as u64 && distance < LOOK as u64 {
                    self.back.push_back(Back { branch: offset..self.end, target: offset - distance as usize });
                }
            }
            self.known.push(Known { offset, insn, flow, relocates: relocates(&insn, pc) });
        }
    }

    /// Why there is no jump at the next instruction, or `None` if that is not known here.
    fn judge(&self) -> Option<Option<NoJump>> {
        let at = self.at;
        if self.mode.bits != Bits::B64 {
            return Some(Some(NoJump::Architecture));
        }
        if self.code.len() < at + COVERED {
            return Some(Some(NoJump::End));
        }
        if self.address(at) > LAST {
            return Some(Some(NoJump::NoRoom));
        }
        let (mut end, mut all_relocate) = (at, true);
        for known in self.known().iter().take_while(|known| known.offset < at + COVERED) {
            end = known.offset + known.insn.len();
            let insn = Address(self.address(known.offset));
            if let Some(reason) = no_jump_over(known.flow, insn, end < at + COVERED) {
                return Some(Some(reason));
            }
            all_relocate &= known.relocates;
        }
        let covered = at + 1..at + COVERED;
        // A branch among the covered instructions stays in the trampoline.
        let enters =
            |back: &&Back| back.branch.start >= end && back.branch.end <= at + LOOK && covered.contains(&back.target);
        if let Some(back) = self.back.iter().filter(enters).min_by_key(|back| (back.target, back.branch.start)) {
            return Some(Some(NoJump::BranchTarget(Address(self.address(back.branch.start)))));
        }
        (all_relocate && end >= at + COVERED).then_some(None)
    }
}
