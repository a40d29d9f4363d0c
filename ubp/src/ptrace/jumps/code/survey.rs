//! Jumps in code that no process has mapped.

use std::collections::BTreeSet;

use insn::x86::{Bits, Mode};

use trampoline::arm64::Site;
use trampoline::x86::{JUMP_LEN, Trampoline, Trap, jump, mirror_jump};

use super::super::Member;
use super::displacement::displacements;
use super::in_order::{InOrder, JumpSurveyed};
use super::scan::{LOOK, Sweep, Window, scan};
use super::workbench::{Draft, Workbench};
use super::{LENGTH, a64};
use crate::{Address, NoJump};

/// The distance of a trampoline from its site, and of a counter from its trampoline, in bytes.
const DISTANCE: u64 = 0x100_0000;
const COUNTERS: u64 = 0x10_0000;
/// The least address that a process can map, by default (`vm.mmap_min_addr`).
const LOWEST: u64 = 0x1_0000;

/// A jump that counts, and the code to which it leads ([`JumpSurvey::code`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JumpCode {
    /// The jump at the site.
    pub jump: [u8; JUMP_LEN],
    /// The address in the mirror to which it leads.
    pub mirror: Address,
    /// The jump there.
    pub mirror_jump: [u8; JUMP_LEN],
    /// The address of the trampoline, to which that one leads.
    pub trampoline: Address,
    /// The instructions there. They add one to a counter, do what the program's instructions do that the jump covers, and jump back.
    pub code: Vec<u8>,
}

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
        self.make(address, code, mode).err()
    }

    /// Why there is no jump at an address of arm64 code, whatever else is mapped and set. `code` has the instruction at `index`, and up to 63 words
    /// before and behind it. The processor is one that can guard pages (BTI) and has no guarded control stacks.
    ///
    /// ```
    /// use ubp::{Address, JumpSurvey, NoJump};
    ///
    /// // add x0, x0, #1; svc #0
    /// let code = [0x9100_0400, 0xd400_0001];
    /// assert_eq!(JumpSurvey::no_jump_on_arm64(Address(0x1000), &code, 0), None);
    /// assert_eq!(JumpSurvey::no_jump_on_arm64(Address(0x1004), &code, 1), Some(NoJump::SystemCall(Address(0x1004))));
    /// ```
    pub fn no_jump_on_arm64(address: Address, code: &[u32], index: usize) -> Option<NoJump> {
        let (pc, at) = (address.0, address.0.wrapping_add(DISTANCE) & !7);
        let site = Site { pc, code, index, guarded: true, control_stack: false, atomics: true };
        a64::make(&site, at.wrapping_add(COUNTERS), at).err()
    }

    /// Decodes the first `len` bytes of `code`, which begins at `start`, and tells of each instruction what [`JumpSurvey::no_jump`] does, much faster
    /// than calls of that. `code` goes on to the end of its mapping.
    ///
    /// ```
    /// use insn::x86::Mode;
    /// use ubp::{Address, JumpSurvey, JumpSurveyed, NoJump};
    ///
    /// // push %rbp; mov %rsp, %rbp; jmp -5
    /// let code = [0x55, 0x48, 0x89, 0xe5, 0xeb, 0xfb, 0x90, 0x90];
    /// let mut survey = JumpSurvey::new();
    /// let mut found = survey.in_order(Address(0x1000), &code, 6, Mode::INTEL_64);
    /// assert!(matches!(found.next(), Some((Address(0x1000), JumpSurveyed::Insn(_, None)))));
    /// assert!(matches!(found.next(), Some((Address(0x1001), JumpSurveyed::Insn(_, None)))));
    /// assert!(matches!(found.next(), Some((Address(0x1004), JumpSurveyed::Insn(_, Some(NoJump::End))))));
    /// assert!(found.next().is_none());
    /// ```
    pub fn in_order<'a>(
        &'a mut self,
        start: Address,
        code: &'a [u8],
        len: usize,
        mode: Mode,
    ) -> impl Iterator<Item = (Address, JumpSurveyed)> + use<'a> {
        let mut in_order = InOrder::new(start.0, code, len, mode);
        std::iter::from_fn(move || in_order.next(|address, code| self.no_jump(address, code, mode)))
    }

    /// The jump at an address and the code to which it leads, at addresses that a process may have for them. `code` is that of
    /// [`JumpSurvey::no_jump`].
    ///
    /// ```
    /// use insn::x86::Mode;
    /// use ubp::{Address, JumpSurvey};
    ///
    /// // push %rbp; mov %rsp, %rbp; xor %eax, %eax; ret
    /// let code = [0x55, 0x48, 0x89, 0xe5, 0x31, 0xc0, 0xc3];
    /// let jump = JumpSurvey::new().code(Address(0x40_1000), &code, Mode::INTEL_64)?;
    /// assert_eq!(jump.jump[0], 0xe9);
    /// // The program's instructions, and the jump back behind them.
    /// assert!(jump.code[..jump.code.len() - 4].ends_with(&[0x55, 0x48, 0x89, 0xe5, 0x31, 0xc0, 0xe9]));
    /// # Ok::<(), ubp::NoJump>(())
    /// ```
    ///
    /// # Errors
    /// Why there is no jump.
    pub fn code(&mut self, address: Address, code: &[u8], mode: Mode) -> Result<JumpCode, NoJump> {
        let made = self.make(address, code, mode)?;
        let site = address.0;
        let leads =
            |displacement: &trampoline::x86::Displacement| displacement.mirror(site).wrapping_sub(LOWEST) < 1 << 47;
        let displacement = [Trap::Breakpoint, Trap::Undefined]
            .into_iter()
            .flat_map(displacements)
            .find(leads)
            .ok_or(NoJump::NoRoom)?;
        let mirror = displacement.mirror(site);
        let mirror_jump = mirror_jump(mirror, made.at()).map_err(NoJump::Trampoline)?;
        let code = self.bench.instructions(&made, mode).to_vec();
        let (mirror, trampoline) = (Address(mirror), Address(made.at()));
        Ok(JumpCode { jump: jump(displacement), mirror, mirror_jump, trampoline, code })
    }

    /// Makes the trampoline of a jump at an address.
    fn make(&mut self, address: Address, code: &[u8], mode: Mode) -> Result<Trampoline, NoJump> {
        let site = address.0;
        if mode.bits != Bits::B64 {
            return Err(NoJump::Architecture);
        }
        let Some(code) = code.get(..code.len().min(LOOK)).filter(|code| code.len() as u64 >= LENGTH) else {
            return Err(NoJump::End);
        };
        if site > u64::MAX / 2 {
            // No program has code there.
            return Err(NoJump::NoRoom);
        }
        let window = Window { site, code, mode };
        scan(&window, &mut Sweep::default(), &BTreeSet::new())?;
        let at = site + DISTANCE;
        let member = Member { offset: 0, counter: (at + COUNTERS) & !7, test: None, recording: None, sum: None };
        let draft = Draft { site, code: window.kept().into(), mode, shadow_stack: false };
        self.bench.make(&draft, &[member], at)
    }
}

impl Default for JumpSurvey {
    fn default() -> JumpSurvey {
        JumpSurvey::new()
    }
}
