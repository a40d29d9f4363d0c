//! What the code around a site says about a jump there.

use std::collections::VecDeque;

use insn::Flow;
use insn::x86::{Insn, MAX_LEN, Mode, decode};

use super::LENGTH;
use crate::{Address, NoJump};

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
}

/// The instructions of the windows that were looked at, as far as the next window may need them. All windows show the same code.
#[derive(Debug, Default)]
pub(in crate::ptrace) struct Sweep {
    /// Addresses of instructions, ascending.
    starts: VecDeque<u64>,
    /// Addresses of branches and of their targets, ascending by the former.
    branches: VecDeque<(u64, u64)>,
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
        while self.branches.front().is_some_and(|(at, _)| *at < site) {
            self.branches.pop_front();
        }
        // Another instruction than before may begin in the midst of one.
        if self.starts.front().copied().unwrap_or(self.end) != site {
            (self.starts, self.branches, self.end) = (VecDeque::new(), VecDeque::new(), site);
        }
        for (offset, insn) in window.insns((self.end - site) as usize) {
            let at = site + offset as u64;
            self.starts.push_back(at);
            self.branches.extend(insn.target_address(at).map(|target| (at, target)));
            self.end = at + insn.len() as u64;
        }
    }
}

/// Looks for what makes a jump at a site wrong or slow. Returns the offsets at which instructions begin that the jump covers.
pub(in crate::ptrace) fn scan(window: &Window<'_>, sweep: &mut Sweep) -> Result<Vec<u8>, NoJump> {
    let site = window.site;
    let mut starts = Vec::new();
    let mut end = 0;
    for (offset, insn) in window.insns(0).take_while(|(offset, _)| (*offset as u64) < LENGTH) {
        let at = Address(site + offset as u64);
        end = offset + insn.len();
        match insn.flow() {
            Flow::Syscall | Flow::Interrupt => return Err(NoJump::SystemCall(at)),
            Flow::Trap => return Err(NoJump::OwnTrap(at)),
            Flow::Call if (end as u64) < LENGTH => return Err(NoJump::BranchTarget(at)),
            _ => {}
        }
        starts.push(offset as u8);
    }
    let covered = site + 1..site + LENGTH;
    // A branch among the covered instructions stays in the trampoline.
    let behind = site + end as u64;
    sweep.advance(window);
    match sweep.branches.iter().find(|(at, target)| *at >= behind && covered.contains(target)) {
        Some((at, _)) => Err(NoJump::BranchTarget(Address(*at))),
        None => Ok(starts),
    }
}
