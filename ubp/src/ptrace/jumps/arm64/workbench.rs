//! The making of trampolines.

use insn::arm64::LEN;
use trampoline::arm64::{Place, Site};

use super::super::Member;
use super::super::code::a64::make;
use super::made::Trampoline;
use crate::NoJump;
use crate::ptrace::arch::{atomics, landing_pads, may_have_shadow_stacks};

/// What a trampoline is made of, besides the code around its site.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Draft {
    pub(in crate::ptrace) site: u64,
    /// The program's instruction at the site.
    pub(in crate::ptrace) code: [u8; LEN],
}

/// Room to make trampolines in.
#[derive(Debug)]
pub(in crate::ptrace) struct Workbench {
    /// The program's words around the site.
    around: Vec<u32>,
    /// The number of them that lie before the site.
    before: usize,
    code: Vec<u8>,
}

impl Workbench {
    pub(in crate::ptrace) fn new() -> Workbench {
        Workbench { around: Vec::new(), before: 0, code: Vec::new() }
    }

    /// Notes the program's code around the site of the next trampolines, `before` bytes of which lie before the site. Returns what they are made of.
    pub(in crate::ptrace) fn draft(&mut self, site: u64, code: &[u8], before: usize) -> Result<Draft, NoJump> {
        let own = code.get(before..).and_then(|rest| rest.first_chunk::<LEN>()).ok_or(NoJump::End)?;
        self.around.clear();
        let words = code.chunks_exact(LEN).filter_map(|word| word.first_chunk());
        self.around.extend(words.map(|word| u32::from_le_bytes(*word)));
        self.before = before / LEN;
        Ok(Draft { site, code: *own })
    }

    /// Makes the trampoline at `at`.
    pub(in crate::ptrace) fn make(&mut self, draft: &Draft, members: &[Member], at: u64) -> Result<Trampoline, NoJump> {
        let counter = members.first().map_or(0, |member| member.counter);
        let site = Site {
            pc: draft.site,
            code: &self.around,
            index: self.before,
            // The loader may guard pages later, and a landing pad must stay there.
            guarded: landing_pads(),
            control_stack: may_have_shadow_stacks(),
            atomics: atomics(),
        };
        let made = make(&site, counter, at)?;
        self.code.clear();
        self.code.extend(made.words().iter().flat_map(|word| word.to_le_bytes()));
        Ok(Trampoline(made))
    }

    /// The code of the trampoline that was made last.
    pub(in crate::ptrace) fn code(&self, _: &Trampoline) -> &[u8] {
        &self.code
    }
}

/// The instructions of a trampoline that read the program's memory: there are none.
pub(in crate::ptrace) fn fixups(_: &Workbench, _: &Trampoline) -> Box<[(u64, u64)]> {
    Box::default()
}

/// The meaning of an address in a trampoline, at an instruction's beginning.
pub(in crate::ptrace) fn place(_: &Draft, _: &[Member], trampoline: &Trampoline, offset: u16) -> Option<Place> {
    trampoline.place(offset)
}
