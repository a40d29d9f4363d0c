//! Jumps in code that no process has mapped.

use std::collections::BTreeSet;

use insn::x86::{Bits, Mode};

use super::{Draft, KEPT, LENGTH, LOOK, Member, Sweep, Window, Workbench, scan};
use crate::{Address, NoJump};

/// The distance of a trampoline from its site, and of a counter from its trampoline, in bytes.
const DISTANCE: u64 = 0x100_0000;
const COUNTERS: u64 = 0x10_0000;

/// Tells where code can have jumps ([`Patch::Jump`](crate::Patch::Jump)), from the code alone.
///
/// ```
/// use insn::x86::Mode;
/// use ubp::{Address, JumpSurvey, NoJump};
///
/// // push %rbp; mov %rsp, %rbp; jmp -5
/// let code = [0x55, 0x48, 0x89, 0xe5, 0xeb, 0xfb, 0x90, 0x90];
/// let mut survey = JumpSurvey::new();
/// assert_eq!(survey.no_jump(Address(0x1000), &code, Mode::INTEL_64), None);
/// // The jump would take five bytes, of which four are left.
/// assert_eq!(survey.no_jump(Address(0x1004), &code[4..], Mode::INTEL_64), Some(NoJump::End));
/// ```
#[derive(Debug)]
pub struct JumpSurvey {
    bench: Workbench,
}

impl JumpSurvey {
    /// A survey.
    pub fn new() -> JumpSurvey {
        JumpSurvey { bench: Workbench::new() }
    }

    /// Why there is no jump at an address, whatever else is mapped and set. `code` is the code from there to the end of its mapping; no more
    /// than 512 bytes are looked at.
    pub fn no_jump(&mut self, address: Address, code: &[u8], mode: Mode) -> Option<NoJump> {
        let site = address.0;
        if mode.bits != Bits::B64 {
            return Some(NoJump::Architecture);
        }
        let Some(code) = code.get(..code.len().min(LOOK)).filter(|code| code.len() as u64 >= LENGTH) else {
            return Some(NoJump::End);
        };
        if site > u64::MAX / 2 {
            // No program has code there.
            return Some(NoJump::NoRoom);
        }
        let window = Window { site, code, mode };
        if let Err(reason) = scan(&window, &mut Sweep::default(), &BTreeSet::new()) {
            return Some(reason);
        }
        let at = site + DISTANCE;
        let member = Member { offset: 0, counter: (at + COUNTERS) & !7, test: None, recording: None };
        let kept = code.get(..KEPT).unwrap_or(code);
        let draft = Draft { site, code: kept.into(), mode, shadow_stack: false };
        self.bench.make(&draft, &[member], at).err().map(NoJump::Trampoline)
    }
}

impl Default for JumpSurvey {
    fn default() -> JumpSurvey {
        JumpSurvey::new()
    }
}
