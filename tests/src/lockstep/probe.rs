//! Passing the probed instruction as a back end would.

use std::io::Result;

use insn::x86::Insn;
use stepping::x86::{Code, Emulate, Exit, Outcome, Place, Plan, Progress, Slot, plan};

use super::case::Way;
use super::child::Child;
use super::compare::{CS_32, Ending, Stop};
use super::lab::is_emulated;
use super::registers::{Process, Thread, field};
use super::state::State;
use super::sys;

/// The plan of the probed instruction and its slot.
pub(super) struct Probe {
    plan: Plan,
    pub(super) site: u64,
    next: u64,
    pub(super) at: u64,
    pub(super) code: Option<Code>,
    scratch: Option<u64>,
    pub(super) way: Option<Way>,
    /// The byte that a scratch register changes in the copy.
    modrm: Option<u8>,
    /// Single-step a slot that jumps back by itself.
    pub(super) step: bool,
    /// Pass emulated instructions by a slot alone, where one exists.
    pub(super) alone: bool,
}

/// What became of a stop.
pub(super) enum Going {
    On,
    Stopped(Stop),
}

const SI_KERNEL: i32 = 0x80;
pub(super) const TRAP_TRACE: i32 = 2;
/// TF in rflags.
pub(super) const TRAP_FLAG: u64 = 1 << 8;

impl Probe {
    /// The plan of `insn` at `site`, with a slot at `at`.
    pub(super) fn new(insn: &Insn, site: u64, at: u64) -> Probe {
        let next = site + insn.len() as u64;
        let modrm = insn.modrm();
        Probe {
            plan: plan(insn, site),
            site,
            next,
            at,
            code: None,
            scratch: None,
            way: None,
            modrm,
            step: false,
            alone: false,
        }
    }

    /// A slot that does all that an emulated instruction does.
    pub(super) fn whole(&self) -> Option<Code> {
        let Plan::Emulate(emulate) = self.plan else { return None };
        let code = emulate.slot().assemble_near(self.at).ok().filter(Code::boosted);
        code.filter(|_| !emulate.is_breakpoint())
    }

    /// Handles a stop as a back end would.
    pub(super) fn advance(&mut self, pid: i32, stop: Stop, child: &Child) -> Result<Going> {
        let mut regs = sys::regs(pid)?;
        let Stop::Signal { number: libc::SIGTRAP, code, .. } = stop else { return Ok(Going::Stopped(stop)) };
        let at_int3 = regs.rip.wrapping_sub(1);
        if code == SI_KERNEL && at_int3 == self.site {
            regs.rip = self.site;
            sys::set_regs(pid, &regs)?;
            return match self.plan {
                Plan::Emulate(_) if self.alone => {
                    let code = self.whole().expect("a slot that does all");
                    self.enter_by(pid, code, child)
                }
                Plan::Emulate(emulate) => self.emulate(pid, &emulate, child),
                Plan::Slot(slot) => self.enter(pid, &slot, child),
                ref other => panic!("no way to pass: {other:?}"),
            };
        }
        let Some(code_of_slot) = self.code else { return Ok(Going::Stopped(stop)) };
        let offset = at_int3.wrapping_sub(self.at);
        if code == SI_KERNEL && offset < 32 && code_of_slot.bytes[offset as usize] == 0xcc {
            let Some(place) = code_of_slot.original(offset as u8) else {
                panic!("an int3 where no thread can be, at {offset} of {:02x?}", code_of_slot.bytes)
            };
            self.way = Some(Way::Trapped);
            regs.rip = place.pc;
            if let Some((register, value)) = place.register {
                *field(&mut regs, register).expect("a general register") = value;
            }
            self.put_back(&mut regs);
            sys::set_regs(pid, &regs)?;
            sys::cont(pid, 0)?;
            return Ok(Going::On);
        }
        let held_off = u8::try_from(regs.rip.wrapping_sub(self.at)).is_ok_and(|at| code_of_slot.holds_off_trap(at));
        if code == TRAP_TRACE && (self.way == Some(Way::Stepped) || held_off) {
            if let Some(place) = self.place(regs.rip) {
                if place.progress == Progress::Before {
                    // A repeated instruction is not done by one step.
                    sys::step(pid)?;
                    return Ok(Going::On);
                }
                regs.rip = place.pc;
                if let Some((register, value)) = place.register {
                    *field(&mut regs, register).expect("a general register") = value;
                }
            }
            if let Exit::StepThenReturnAddress(size) = code_of_slot.exit {
                child.write(regs.rsp, &self.next.to_le_bytes()[..usize::from(size)]);
            }
            self.put_back(&mut regs);
            sys::set_regs(pid, &regs)?;
            sys::cont(pid, 0)?;
            return Ok(Going::On);
        }
        Ok(Going::Stopped(stop))
    }

    fn emulate(&mut self, pid: i32, emulate: &Emulate, child: &Child) -> Result<Going> {
        let mut regs = sys::regs(pid)?;
        let before = regs;
        let outcome = emulate.run(&mut Thread(&mut regs), &mut Process(pid));
        self.way = Some(Way::Emulated);
        let stopped = |code, address| Ok(Going::Stopped(Stop::Signal { number: libc::SIGTRAP, code, address }));
        match outcome {
            Ok(Outcome::Slot) => return self.enter(pid, &emulate.slot(), child),
            Ok(_) => sys::set_regs(pid, &regs)?,
            Err(_) => {
                assert_eq!(format!("{before:?}"), format!("{regs:?}"), "a fault changed registers");
                self.enter(pid, &emulate.slot(), child)?;
                self.way = Some(Way::EmulatedFault);
                return Ok(Going::On);
            }
        }
        match outcome {
            Ok(Outcome::Breakpoint) => stopped(SI_KERNEL, 0),
            Ok(Outcome::SingleStep) => stopped(TRAP_TRACE, regs.rip),
            _ => {
                sys::cont(pid, 0)?;
                Ok(Going::On)
            }
        }
    }

    fn enter(&mut self, pid: i32, slot: &Slot, child: &Child) -> Result<Going> {
        let code = slot.assemble(self.at).unwrap_or_else(|reason| panic!("no slot: {reason}"));
        self.enter_by(pid, code, child)
    }

    fn enter_by(&mut self, pid: i32, code: Code, child: &Child) -> Result<Going> {
        child.write(self.at, &code.bytes);
        let mut regs = sys::regs(pid)?;
        regs.rip = self.at;
        self.scratch = None;
        if let Some(scratch) = code.scratch {
            let register = field(&mut regs, scratch.register).expect("a general register");
            self.scratch = Some(std::mem::replace(register, scratch.value));
        }
        sys::set_regs(pid, &regs)?;
        self.code = Some(code);
        if matches!(code.exit, Exit::Jump | Exit::Trap(_)) && !self.step {
            self.way = Some(Way::Boosted);
            sys::cont(pid, 0)?;
        } else {
            self.way = Some(Way::Stepped);
            sys::step(pid)?;
        }
        Ok(Going::On)
    }

    /// Whether the module is known to end otherwise: a program that steps itself is trapped at once by it where the trap is held off. And
    /// where an emulator raises no fault of the instruction, nobody knows how it ends.
    pub(super) fn is_excused(&self, state: &State, expected: &Ending) -> bool {
        let is_step = matches!(expected.stop, Stop::Signal { number: libc::SIGTRAP, code: TRAP_TRACE, .. });
        let holds_off = self.code.is_some_and(|code| (0..=u8::MAX).any(|offset| code.holds_off_trap(offset)));
        let traps = state.regs.eflags & TRAP_FLAG != 0;
        traps && holds_off || !traps && is_step && self.way == Some(Way::EmulatedFault)
    }

    /// Removes known deviations from the module's result: the address of the last x87 instruction is that of the copy, and so
    /// is the return address that a call that faults leaves below the stack.
    pub(super) fn excuse(&self, expected: &State, found: &mut State) {
        if expected.fip() == self.site {
            found.set_fip(self.site);
        }
        if let Some(Code { exit: Exit::StepThenReturnAddress(size), .. }) = self.code {
            let below = found.regs.rsp.wrapping_sub(size.into()).wrapping_sub(found.layout.stack) as usize;
            let range = below..below.saturating_add(size.into());
            if let (Some(to), Some(from)) = (found.stack.get_mut(range.clone()), expected.stack.get(range)) {
                to.copy_from_slice(from);
            }
        }
    }

    fn put_back(&mut self, regs: &mut libc::user_regs_struct) {
        let kept = self.scratch.take();
        if let (Some(scratch), Some(value)) = (self.code.and_then(|code| code.scratch), kept) {
            *field(regs, scratch.register).expect("a general register") = value;
        }
    }

    /// What an address in the slot means.
    fn place(&self, address: u64) -> Option<Place> {
        let code = self.code?;
        let offset = u8::try_from(address.wrapping_sub(self.at)).ok().filter(|offset| *offset < 32)?;
        let place = code.original(offset);
        assert!(place.is_some() || is_emulated(), "a thread at {offset} in {code:x?}");
        place
    }

    /// A call that faulted may have written its return address, a slot's, below the stack.
    fn correct_faulted_call(&self, state: &mut State) {
        let Some(Code { exit: Exit::StepThenReturnAddress(size), .. }) = self.code else { return };
        let (below, size) = (state.regs.rsp.wrapping_sub(size.into()), usize::from(size));
        // No target of a narrower call is out of all bounds, and fewer bytes could be anything.
        let width = if state.regs.cs == CS_32 { 4 } else { 8 };
        if self.place(state.regs.rip).is_none() || size != width {
            return;
        }
        for (start, window) in state.windows_mut() {
            let at = below.wrapping_sub(start) as usize;
            let Some(word) = window.get_mut(at..).and_then(|rest| rest.get_mut(..size)) else { continue };
            let mut pushed = self.at.to_le_bytes();
            pushed[..size].copy_from_slice(word);
            if u64::from_le_bytes(pushed).wrapping_sub(self.at) < 32 {
                word.copy_from_slice(&self.next.to_le_bytes()[..size]);
            }
        }
    }

    /// Turns slot addresses in what the program would see into original ones.
    pub(super) fn translate(&mut self, ending: &mut Ending) {
        if let Stop::Signal { address, .. } = &mut ending.stop {
            if let Some(place) = self.place(*address) {
                *address = place.pc;
            }
        }
        let Some(state) = &mut ending.state else { return };
        self.correct_faulted_call(state);
        if let Some(place) = self.place(state.regs.rip) {
            state.regs.rip = place.pc;
            self.put_back(&mut state.regs);
            if let Some((register, value)) = place.register {
                *field(&mut state.regs, register).expect("a general register") = value;
            }
        }
        // A known deviation: address and opcode of the last x87 instruction are those of the copy.
        let offset = u8::try_from(state.fip().wrapping_sub(self.at)).ok();
        if let Some(place) = offset.and_then(|offset| self.code?.original(offset)) {
            state.set_fip(place.pc);
            if let Some(modrm) = self.modrm.filter(|_| state.has_fop()) {
                state.set_fop_modrm(modrm);
            }
        }
    }
}
