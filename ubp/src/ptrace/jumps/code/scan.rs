//! What the code around a site says about a jump there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use insn::Flow;
use insn::x86::{Insn, MAX_LEN, Mode, decode};

use super::LENGTH;
use crate::{Address, NoJump};

/// The smallest page of all architectures: what is mapped anew, or made inaccessible, is whole pages.
const PAGE: u64 = 4096;

/// Bytes of code behind a site that are searched for branches into the jump.
pub(in crate::ptrace) const LOOK: usize = 512;
/// Bytes of code from a site on by which a trampoline is made, and made again.
pub(in crate::ptrace) const KEPT: usize = 64;

/// The code from a site on.
pub(in crate::ptrace) struct Window<'a> {
    pub(in crate::ptrace) site: u64,
    /// Up to [`LOOK`] bytes, within one mapping, without breakpoint instructions and jumps.
    pub(in crate::ptrace) code: &'a [u8],
    pub(in crate::ptrace) mode: Mode,
}

impl<'a> Window<'a> {
    /// The code by which the trampoline is made.
    pub(in crate::ptrace) fn kept(&self) -> &'a [u8] {
        self.code.get(..KEPT).unwrap_or(self.code)
    }

    fn insns(&self, from: usize) -> impl Iterator<Item = (usize, Insn)> + use<'a> {
        let (code, mode, mut at) = (self.code, self.mode, from);
        std::iter::from_fn(move || {
            // A cut instruction at the end is none.
            let rest = code.get(at..).filter(|rest| !rest.is_empty())?;
            let insn = decode(rest.get(..MAX_LEN).unwrap_or(rest), mode).ok()?;
            at += insn.len();
            Some((at - insn.len(), insn))
        })
    }

    /// The offsets of the instructions from `from` on that end before `end`, up to one that does not lead to the next one. None of them enters the
    /// kernel.
    fn further(&self, from: usize, end: u64) -> Vec<u8> {
        let mut offsets = Vec::new();
        for (offset, insn) in self.insns(from) {
            let enters = matches!(insn.flow(), Flow::Syscall | Flow::Interrupt | Flow::Trap | Flow::Transaction);
            if enters || (offset + insn.len()) as u64 > end {
                break;
            }
            offsets.push(offset as u8);
            if !falls_through(&insn) {
                break;
            }
        }
        offsets
    }
}

/// The instructions of the windows that were looked at, as far as the next window may need them. All windows show the same code.
#[derive(Debug, Default)]
pub(in crate::ptrace) struct Sweep {
    /// Addresses of instructions, ascending.
    starts: VecDeque<u64>,
    /// Addresses of branches and of their targets, ascending by the former.
    branches: VecDeque<(u64, u64)>,
    /// The targets, behind the site, of branches before it, and the addresses of these.
    ahead: BTreeMap<u64, u64>,
    /// Address behind the last instruction.
    end: u64,
}

impl Sweep {
    /// Decodes the code of a window, as far as the last windows have not.
    fn advance(&mut self, window: &Window<'_>) {
        let site = window.site;
        while self.starts.front().is_some_and(|start| *start < site) {
            self.starts.pop_front();
        }
        while let Some((at, target)) = self.branches.front().copied().filter(|(at, _)| *at < site) {
            self.branches.pop_front();
            if target > site {
                self.ahead.insert(target, at);
            }
        }
        while self.ahead.first_key_value().is_some_and(|(target, _)| *target <= site) {
            self.ahead.pop_first();
        }
        // Another instruction than before may begin in the midst of one.
        if self.starts.front().copied().unwrap_or(self.end) != site {
            *self = Sweep { end: site, ..Sweep::default() };
        }
        for (offset, insn) in window.insns((self.end - site) as usize) {
            let at = site + offset as u64;
            self.starts.push_back(at);
            self.branches.extend(insn.target_address(at).map(|target| (at, target)));
            self.end = at + insn.len() as u64;
        }
    }

    /// The branch outside of `inside` that leads to the lowest address in `range`, and this address.
    fn first_target(&self, range: Range<u64>, inside: Range<u64>) -> Option<(u64, u64)> {
        let before = self.ahead.range(range.clone()).next().map(|(target, at)| (*target, *at));
        let behind = self.branches.iter().filter(|(at, target)| !inside.contains(at) && range.contains(target));
        before.into_iter().chain(behind.map(|(at, target)| (*target, *at))).min()
    }
}

/// The offsets from the site of the instructions that a jump covers; and of those behind them to which no other way is known than from the
/// instruction before.
pub(in crate::ptrace) type Found = (Vec<u8>, Vec<u8>);

/// Looks for what makes a jump at a site wrong or slow. Threads were seen to come to the addresses in `entered` by branches.
pub(in crate::ptrace) fn scan(
    window: &Window<'_>,
    sweep: &mut Sweep,
    entered: &BTreeSet<u64>,
) -> Result<Found, NoJump> {
    let site = window.site;
    let (mut inside, mut further) = Found::default();
    let mut end = 0;
    let mut falls = true;
    for (offset, insn) in window.insns(0).take_while(|(offset, _)| (*offset as u64) < LENGTH) {
        end = offset + insn.len();
        if let Some(reason) = no_jump_over(insn.flow(), Address(site + offset as u64), (end as u64) < LENGTH) {
            return Err(reason);
        }
        falls &= falls_through(&insn);
        inside.push(offset as u8);
    }
    let covered = site + 1..site + LENGTH;
    let behind = site + end as u64;
    sweep.advance(window);
    // A branch among the covered instructions stays in the trampoline.
    if let Some((_, at)) = sweep.first_target(covered.clone(), site..behind) {
        return Err(NoJump::BranchTarget(Address(at)));
    }
    if entered.range(covered).next().is_some() {
        return Err(NoJump::Entered);
    }
    let last = (site | (PAGE - 1)).min(site + window.kept().len() as u64 - 1);
    if falls && behind <= last {
        let target = sweep.first_target(behind..last + 1, 0..0).map(|(target, _)| target);
        let known = target.into_iter().chain(entered.range(behind..=last).next().copied()).min();
        further = window.further(end, known.unwrap_or(last + 1) - site);
    }
    Ok((inside, further))
}

/// Why no jump may cover an instruction. `returns_inside`: the jump covers the instruction behind it too.
pub(in crate::ptrace) fn no_jump_over(flow: Flow, at: Address, returns_inside: bool) -> Option<NoJump> {
    match flow {
        Flow::Syscall | Flow::Interrupt => Some(NoJump::SystemCall(at)),
        Flow::Trap => Some(NoJump::OwnTrap(at)),
        Flow::Call if returns_inside => Some(NoJump::BranchTarget(at)),
        _ => None,
    }
}

/// Whether a thread comes from the instruction to the next one, if by no other way.
fn falls_through(insn: &Insn) -> bool {
    matches!(insn.flow(), Flow::Next | Flow::ConditionalJump)
}
