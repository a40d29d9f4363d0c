//! The trampoline of a site.

use insn::arm64::{Kind, decode};
use insn::{Flow, Target};
use stepping::arm64::{BREAKPOINT, Code, Plan, plan_in};
use stepping::{Exit, SLOT_SIZE};

use super::head::{ATOMIC, EXCLUSIVE, LOAD_COUNTER, Step};
use super::{Place, Refusal};
use crate::Progress;

/// Words of the longest trampoline: what counts, the copy, and two constants.
const WORDS: usize = 24;
/// Reach of `b` in bytes.
const REACH: i64 = 1 << 27;
/// `b .`
const BRANCH: u32 = 0x1400_0000;
/// `br x0`
const BRANCH_REGISTER: u32 = 0xd61f_0000;
/// `ldr x30, .`
const LOAD_LINK: u32 = 0x5800_001e;

/// A place in the program for a branch.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Address of an instruction.
    pub pc: u64,
    /// The program's own code around it, without breakpoints and branches of a tracer: up to [`stepping::arm64::WINDOW`] words on both sides.
    pub code: &'a [u32],
    /// Index of the instruction in `code`.
    pub index: usize,
    /// Whether the site is in a guarded page (BTI).
    pub guarded: bool,
    /// Whether a thread of the program has a guarded control stack (GCS).
    pub control_stack: bool,
    /// Whether the processor has atomic instructions (FEAT_LSE).
    pub atomics: bool,
}

/// A trampoline.
#[derive(Clone, Copy, Debug)]
pub struct Trampoline {
    pc: u64,
    at: u64,
    words: [u32; WORDS],
    len: usize,
    head: &'static [Step],
    /// The copy of the instruction; of a call there is none, but a load of the return address and a branch.
    copy: Option<Code>,
}

impl core::fmt::Debug for Step {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:#010x}", self.word)
    }
}

/// The branch at a site at `pc` to the trampoline at `to`.
///
/// # Errors
/// [`Refusal::OutOfReach`] if they are more than 128 MiB apart.
///
/// ```
/// use trampoline::arm64::branch;
///
/// assert_eq!(branch(0x1000, 0x2000), Ok(0x1400_0400));
/// ```
pub fn branch(pc: u64, to: u64) -> Result<u32, Refusal> {
    let distance = to.wrapping_sub(pc) as i64;
    if !(-REACH..REACH).contains(&distance) || distance & 3 != 0 {
        return Err(Refusal::OutOfReach(to));
    }
    Ok(BRANCH | (distance >> 2) as u32 & 0x3ff_ffff)
}

/// The address to which `word` at `pc` leads, if it is a branch as [`branch`] makes it.
///
/// ```
/// use trampoline::arm64::branch_target;
///
/// assert_eq!(branch_target(0x1000, 0x1400_0400), Some(0x2000));
/// assert_eq!(branch_target(0x1000, 0x9400_0400), None);
/// ```
pub fn branch_target(pc: u64, word: u32) -> Option<u64> {
    // The distance in words, shifted to the top and back.
    let distance = i64::from((word << 6) as i32 >> 6);
    (word & 0xfc00_0000 == BRANCH).then(|| pc.wrapping_add_signed(distance.wrapping_mul(4)))
}

/// Whether a trampoline may begin with these words, which hardly any other code does.
pub fn begins_trampoline(words: [u32; 2]) -> bool {
    let begins = |head: &[Step]| {
        let same = |(step, word): (&Step, u32)| {
            // The distance of a constant varies.
            let varies = if step.word == LOAD_COUNTER { 0x00ff_ffe0 } else { 0 };
            (step.word ^ word) & !varies == 0
        };
        head.iter().zip(words).all(same)
    };
    begins(&ATOMIC) || begins(&EXCLUSIVE)
}

impl Site<'_> {
    /// The trampoline at `at`, a multiple of 8, that adds one to the aligned word of eight bytes at `counter`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn count(&self, counter: u64, at: u64) -> Result<Trampoline, Refusal> {
        let insn = self.code.get(self.index).and_then(|word| decode(*word).ok()).ok_or(Refusal::NotCode)?;
        branch(self.pc, at)?;
        if self.guarded && insn.landing_pad().is_some() {
            return Err(Refusal::LandingPad);
        }
        let head: &[Step] = if self.atomics { &ATOMIC } else { &EXCLUSIVE };
        let mut draft = Draft { at, words: [BREAKPOINT; WORDS], len: 0 };
        for step in head {
            draft.push(step.word);
        }
        let copy_at = draft.here();
        let call = matches!(insn.kind(), Kind::Branch | Kind::BranchRegister) && insn.flow() == Flow::Call;
        let copy = if call {
            self.call(&mut draft, insn.target())?;
            None
        } else {
            let slot = match plan_in(&insn, self.pc, self.code, self.index) {
                Plan::Emulate(emulate) => emulate.slot(),
                Plan::Slot(slot) => slot,
                Plan::Refuse(reason) => return Err(Refusal::Stepping(reason)),
            };
            let code = slot.assemble_near(copy_at).map_err(Refusal::Stepping)?;
            if code.exit != Exit::Jump || code.scratch.is_some() {
                return Err(Refusal::NeedsTrap);
            }
            for word in code.bytes.chunks_exact(4) {
                draft.push(word.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte)));
            }
            Some(code)
        };
        draft.align();
        let load = head.iter().position(|step| step.word == LOAD_COUNTER).unwrap_or_default();
        draft.literal(load, counter);
        if call {
            draft.literal(head.len(), self.pc.wrapping_add(4));
        }
        Ok(Trampoline { pc: self.pc, at, words: draft.words, len: draft.len, head, copy })
    }

    /// Loads the return address and branches.
    fn call(&self, draft: &mut Draft, target: Target<insn::arm64::Reg>) -> Result<(), Refusal> {
        if self.control_stack {
            return Err(Refusal::ControlStack);
        }
        draft.push(LOAD_LINK);
        match target {
            Target::Relative(distance) => draft.push(branch(draft.here(), self.pc.wrapping_add_signed(distance))?),
            Target::Register(insn::arm64::Reg::X30) => return Err(Refusal::CallThroughLink),
            Target::Register(register) => draft.push(BRANCH_REGISTER | (u32::from(register.number()) & 31) << 5),
            _ => return Err(Refusal::NeedsTrap),
        }
        Ok(())
    }
}

/// A trampoline while it is written.
struct Draft {
    at: u64,
    words: [u32; WORDS],
    len: usize,
}

impl Draft {
    fn here(&self) -> u64 {
        self.at.wrapping_add(4 * self.len as u64)
    }

    /// Appends a word. The longest trampoline has room.
    fn push(&mut self, word: u32) {
        if let Some(place) = self.words.get_mut(self.len) {
            *place = word;
            self.len = self.len.wrapping_add(1);
        }
    }

    fn align(&mut self) {
        if self.here() & 7 != 0 {
            self.push(BREAKPOINT);
        }
    }

    /// Appends a constant that the load at index `load` reads.
    fn literal(&mut self, load: usize, value: u64) {
        let distance = self.len.wrapping_sub(load) as u32;
        if let Some(word) = self.words.get_mut(load) {
            *word |= distance << 5;
        }
        self.push(value as u32);
        self.push((value >> 32) as u32);
    }
}

impl Trampoline {
    /// The address of the trampoline.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The words of the trampoline, in the byte order of code: little-endian.
    pub fn words(&self) -> &[u32] {
        self.words.get(..self.len).unwrap_or_default()
    }

    /// The address at which a thread continues that is at the site, and whose action is done.
    pub fn copy(&self) -> u64 {
        self.at.wrapping_add(4 * self.head.len() as u64)
    }

    /// The meaning of the address `offset` bytes into the trampoline; `None` if no thread can be there.
    pub fn place(&self, offset: u16) -> Option<Place> {
        let index = usize::from(offset / 4);
        if offset & 3 != 0 {
            return None;
        }
        if let Some(step) = self.head.get(index) {
            let Step { stack, saved, progress, .. } = *step;
            return Some(Place { pc: self.pc, progress, own: true, stack, saved });
        }
        let behind = index.checked_sub(self.head.len())?;
        let at = |pc, progress| Some(Place { pc, progress, own: false, stack: 0, saved: 0 });
        match (self.copy, behind) {
            (_, 0) => at(self.pc, Progress::Done),
            // The link register has its new value, which the call writes again.
            (None, 1) => at(self.pc, Progress::Done),
            (Some(code), _) if behind < SLOT_SIZE / 4 => {
                let place = code.original((4 * behind) as u8)?;
                at(place.pc, if place.pc == self.pc { Progress::Done } else { Progress::Before })
            }
            _ => None,
        }
    }
}
