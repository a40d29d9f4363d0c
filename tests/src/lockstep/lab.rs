//! Runs of a program, in place and through a plan.

use std::fmt::Write;
use std::io::{Error, Result};
use std::sync::Once;

use insn::x86::{Bits, Encoding, Insn, Map, Mode, Prefixes, Vendor, decode};
use insn::{Flow, Target};
use stepping::x86::SLOT_SIZE;

use super::case::{Case, Check, Placement, Via, Way};
use super::child::Child;
use super::compare::{Ending, Stop, differences};
use super::probe::{Going, Probe, TRAP_FLAG, TRAP_TRACE};
use super::program::Layout;
use super::state::State;
use super::sys;
use crate::module::Module;
use crate::{Random, channel, cpuid, skip};

/// `si_code` of a debug exception with nothing in DR6 (asm-generic/siginfo.h).
const TRAP_BRKPT: i32 = 1;
/// Opcode of `int1`.
const INT1: u8 = 0xf1;
/// So often an `int1` is run again that a hypervisor has trap before it is done.
const MOST_EARLY: u32 = 3;

/// A child to run programs in.
pub struct Lab {
    bits: Bits,
    pub(super) layout: Layout,
    pub(super) child: Child,
    base: State,
    /// A session with the child, if the module is loaded.
    module: Option<Module>,
    /// What the module's breakpoint hides: its address, and the program's own code there.
    hidden: Option<(u64, Vec<u8>)>,
}

impl Lab {
    /// A 64-bit child.
    ///
    /// # Panics
    /// Where none can be started.
    pub fn x86_64() -> Lab {
        Lab::new(Bits::B64).expect("a traced child")
    }

    /// A 32-bit child; the error says why there is none.
    pub fn i386() -> Result<Lab> {
        Lab::new(Bits::B32)
    }

    fn new(bits: Bits) -> Result<Lab> {
        let layout = Layout::new(bits);
        let child = Child::spawn(bits, layout)?;
        let base = child.save(layout)?;
        let module = attach(&child, layout)?;
        Ok(Lab { bits, layout, child, base, module, hidden: None })
    }

    /// Whether QEMU emulates the processor.
    pub fn is_emulated(&self) -> bool {
        is_emulated()
    }

    /// Addresses in the child.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The mode that decodes as this machine does, and as `ubp` takes it.
    pub fn mode(&self) -> Mode {
        Mode::new(self.bits, vendor()).lenient()
    }

    /// Runs the case from several random states, in place and through the plan with a near and a far slot, and past a breakpoint of
    /// the kernel module's where that is loaded. An emulated processor runs it through the near slot and past the module's breakpoint alone.
    ///
    /// # Panics
    /// With every difference in words.
    pub fn check(&mut self, case: &Case<'_>) -> Check {
        match self.compare(case) {
            Ok(check) => check,
            Err(differences) => panic!("{}: {differences}", case.name),
        }
    }

    /// As [`Lab::check`], with the differences as the error.
    pub fn compare(&mut self, case: &Case<'_>) -> std::result::Result<Check, String> {
        let program = case.assemble(&self.layout);
        let site = self.layout.site();
        let probed = &program.iter().find(|(address, _)| *address == site).expect("a probed instruction").1;
        let insn = decode(probed, self.mode()).map_err(|error| format!("{probed:02x?} does not decode: {error}"))?;
        let start = site - case.length(&self.layout);
        let mut check = Check { name: case.name.clone(), ways: Vec::new(), signal: 0, is_emulated: is_emulated() };
        let cannot = |(_, bytes): &(u64, Vec<u8>)| decode(bytes, self.mode()).is_ok_and(|insn| is_misrun(&insn));
        if check.is_emulated && program.iter().any(cannot) {
            static TOLD: Once = Once::new();
            TOLD.call_once(|| {
                skip("lockstep of far transfers, int n, transactions, ret 0x8000, REX2", "QEMU runs them otherwise")
            });
            return Ok(check);
        }
        for seed in 0..case.seeds {
            let mut rng = Random::new(seed + case.name.bytes().fold(0, |sum, byte| sum * 31 % 65521 + u64::from(byte)));
            let mut state = State::random(self.bits, self.layout, &self.base, &mut rng);
            state.regs.rip = start;
            (case.setup)(&mut state);
            let (near, found) = self.by_slot(&insn, &program, &state, &case.forwarded, Placement::Near)?;
            check.ways.push((Placement::Near, near.way.ok_or("the site was never hit")?));
            let expected = if check.is_emulated {
                // Plans do what processors do, which QEMU does not always: the module is to do what a plan does.
                found
            } else {
                let expected = self.run(&program, &state, None, &case.forwarded).map_err(|error| error.to_string())?;
                let (far, by_far) = self.by_slot(&insn, &program, &state, &case.forwarded, Placement::Far)?;
                check.ways.push((Placement::Far, far.way.ok_or("the site was never hit")?));
                for (placement, probe, found) in [(Placement::Near, &near, found), (Placement::Far, &far, by_far)] {
                    let differences = differences(&expected, &found);
                    if !differences.is_empty() {
                        let rip = expected.state.as_ref().map_or(0, |state| state.regs.rip);
                        return Err(report(&insn, seed, placement, probe, rip, &differences));
                    }
                }
                expected
            };
            let mut alone = Probe::new(&insn, site, self.layout.slot(Placement::Near));
            alone.alone = true;
            if !check.is_emulated && state.regs.eflags & TRAP_FLAG == 0 && alone.whole().is_some() {
                let found = self.run(&program, &state, Some(&mut alone), &case.forwarded);
                let differences = differences(&expected, &found.map_err(|error| error.to_string())?);
                if !differences.is_empty() {
                    let rip = expected.state.as_ref().map_or(0, |state| state.regs.rip);
                    return Err(report(&insn, seed, Placement::Near, &alone, rip, &differences));
                }
            }
            check.signal = if let Stop::Signal { number, .. } = expected.stop { number } else { 0 };
            if near.is_excused(&state, &expected) {
                continue;
            }
            let past = self.past_module(&program, &state, &case.forwarded, &near, &expected);
            match past.map_err(|error| error.to_string())? {
                Some(differences) if !differences.is_empty() => {
                    let list = differences.join("\n  ");
                    return Err(format!("{:02x?}, seed {seed}, by the module\n  {list}", insn.bytes()));
                }
                None if near.way != Some(Way::Stepped) => {
                    return Err("the module refuses what need not be stepped".to_owned());
                }
                _ => (),
            }
        }
        Ok(check)
    }

    /// Runs a program that goes through a slot at its site. Returns the way that it went there, and how it ended.
    fn by_slot(
        &mut self,
        insn: &Insn,
        program: &[(u64, Vec<u8>)],
        state: &State,
        forwarded: &[i32],
        placement: Placement,
    ) -> std::result::Result<(Probe, Ending), String> {
        let mut probe = Probe::new(insn, self.layout.site(), self.layout.slot(placement));
        let ending = self.run(program, state, Some(&mut probe), forwarded).map_err(|error| error.to_string())?;
        Ok((probe, ending))
    }

    /// A random state in front of the site.
    pub(crate) fn random_state(&self, rng: &mut Random) -> State {
        let mut state = State::random(self.bits, self.layout, &self.base, rng);
        state.regs.rip = self.layout.site();
        state
    }

    /// A random state, and the one after an instruction that completes. `None`: the instruction raises a signal.
    ///
    /// # Errors
    /// Where the child is lost.
    pub fn completed(&mut self, insn: &Insn, rng: &mut Random) -> Result<Option<(State, State)>> {
        let before = self.random_state(rng);
        let ending = self.in_place(insn, &before)?;
        Ok(ending.state.filter(|_| ending.stop.is_breakpoint()).map(|after| (before, after)))
    }

    /// How one instruction at the site ends.
    pub(crate) fn in_place(&mut self, insn: &Insn, state: &State) -> Result<Ending> {
        self.run(&[(self.layout.site(), padded(insn).to_vec())], state, None, &[])
    }

    /// Whether a near slot does all of what could be emulated.
    pub(crate) fn has_whole_slot(&self, insn: &Insn) -> bool {
        Probe::new(insn, self.layout.site(), self.layout.slot(Placement::Near)).whole().is_some()
    }

    /// The end of one instruction at the site that goes through its plan, and the way it went.
    pub(crate) fn through_plan(&mut self, insn: &Insn, state: &State, via: Via) -> Result<(Ending, Way)> {
        let site = self.layout.site();
        let mut probe = Probe::new(insn, site, self.layout.slot(via.placement));
        (probe.step, probe.alone) = (via.step, via.alone);
        let ending = self.run(&[(site, padded(insn).to_vec())], state, Some(&mut probe), &[])?;
        Ok((ending, probe.way.ok_or_else(|| Error::other("the site was never hit"))?))
    }

    pub(super) fn run(
        &mut self,
        program: &[(u64, Vec<u8>)],
        state: &State,
        probe: Option<&mut Probe>,
        forwarded: &[i32],
    ) -> Result<Ending> {
        self.place(program);
        if let Some(probe) = &probe {
            self.child.write(probe.site, &[0xcc]);
        }
        let slot = probe.as_ref().map(|probe| probe.at);
        self.child.load(state)?;
        let ending = self.finish(probe, forwarded)?;
        if ending.state.is_none() {
            self.renew()?;
            return Ok(ending);
        }
        self.clear(program);
        if let Some(at) = slot {
            self.child.write(at, &[0xcc; SLOT_SIZE]);
        }
        Ok(ending)
    }

    /// The differences of a run past a breakpoint of the module: none if it is not loaded. `None` if it sets no breakpoint, as it has
    /// nothing single-stepped.
    fn past_module(
        &mut self,
        program: &[(u64, Vec<u8>)],
        state: &State,
        forwarded: &[i32],
        near: &Probe,
        expected: &Ending,
    ) -> Result<Option<Vec<String>>> {
        if self.module.is_none() {
            return Ok(Some(Vec::new()));
        }
        let site = self.layout.site();
        self.place(program);
        if !self.module.as_mut().map_or(Ok(false), |module| module.insert(site)).map_err(Error::other)? {
            self.clear(program);
            return Ok(None);
        }
        self.child.load(state)?;
        self.hidden = program.iter().find(|(address, _)| *address == site).cloned();
        let found = self.finish(None, forwarded);
        self.hidden = None;
        let mut found = found?;
        if found.state.is_none() {
            self.renew()?;
        } else {
            let hits = self.module.as_mut().map_or(Ok(0), |module| module.remove(site)).map_err(Error::other)?;
            self.clear(program);
            if hits == 0 {
                return Err(Error::other("the module's breakpoint was never hit"));
            }
        }
        if let (Some(expected), Some(found)) = (&expected.state, &mut found.state) {
            near.excuse(expected, found);
        }
        Ok(Some(differences(expected, &found)))
    }

    /// A child in the place of one that has ended.
    pub(super) fn renew(&mut self) -> Result<()> {
        self.module = None;
        self.child = Child::spawn(self.bits, self.layout)?;
        self.module = attach(&self.child, self.layout)?;
        Ok(())
    }

    pub(super) fn place(&self, program: &[(u64, Vec<u8>)]) {
        for (address, bytes) in program {
            self.child.write(*address, bytes);
        }
    }

    pub(super) fn clear(&self, program: &[(u64, Vec<u8>)]) {
        for (address, bytes) in program {
            self.child.write(*address, &vec![0xcc; bytes.len()]);
        }
    }

    /// Lets the program run to its end, and past its probed instruction as the plan says.
    fn finish(&mut self, mut probe: Option<&mut Probe>, forwarded: &[i32]) -> Result<Ending> {
        let pid = self.child.pid;
        let mut early = 0;
        sys::cont(pid, 0)?;
        loop {
            let status = sys::wait(pid)?;
            if libc::WIFEXITED(status) {
                return Ok(Ending { stop: Stop::Exited(libc::WEXITSTATUS(status)), state: None });
            }
            if libc::WIFSIGNALED(status) {
                return Ok(Ending { stop: Stop::Killed(libc::WTERMSIG(status)), state: None });
            }
            if status >> 16 == libc::PTRACE_EVENT_EXEC {
                return Ok(Ending { stop: Stop::Executed, state: None });
            }
            let signal = libc::WSTOPSIG(status);
            if forwarded.contains(&signal) {
                sys::cont(pid, signal)?;
                continue;
            }
            let stop = self.stop(signal)?;
            if early < MOST_EARLY && self.is_early(stop) {
                early += 1;
                sys::cont(pid, 0)?;
                continue;
            }
            let going = match probe.as_deref_mut() {
                Some(probe) => probe.advance(pid, stop, &self.child)?,
                None => Going::Stopped(stop),
            };
            let stop = match going {
                Going::On => continue,
                Going::Stopped(stop) => stop,
            };
            let mut ending = Ending { stop, state: Some(self.child.save(self.layout)?) };
            if let Some(probe) = probe {
                probe.translate(&mut ending);
            }
            return Ok(ending);
        }
    }

    pub(super) fn stop(&self, number: i32) -> Result<Stop> {
        let info = sys::siginfo(self.child.pid)?;
        // SAFETY: signals of the kernel's own, whose code is positive, have an address or are not looked at further.
        let address = if info.si_code > 0 { unsafe { info.si_addr() as u64 } } else { 0 };
        // DR6 of a busy virtual machine may be empty after a step, as it is after `int1`.
        let is_int1 = self.is_at_int1(address) || self.is_behind_int1(address);
        let is_step = number == libc::SIGTRAP && info.si_code == TRAP_BRKPT && !is_int1;
        let code = if is_step { TRAP_TRACE } else { info.si_code };
        Ok(Stop::Signal { number, code, address })
    }

    /// Whether `int1` has trapped with the program counter at it. Some hypervisors always leave it there; others where they had to get a page
    /// for the trap, as they do at the first of each processor.
    fn is_early(&self, stop: Stop) -> bool {
        let Stop::Signal { number: libc::SIGTRAP, code: TRAP_BRKPT, address } = stop else { return false };
        self.is_at_int1(address) && !self.is_behind_int1(address)
    }

    fn is_behind_int1(&self, address: u64) -> bool {
        let at = address.wrapping_sub(1);
        // The last byte of the instruction at the site may be that of `int1`.
        let site = self.layout.site();
        let is_of_site = decode(&self.code_at(site), self.mode()).is_ok_and(|insn| site + insn.len() as u64 == address);
        if is_of_site && !self.is_at_int1(site) {
            return false;
        }
        match &self.hidden {
            Some((hidden, code)) if *hidden == at => code.first() == Some(&INT1),
            _ => self.child.byte(at) == Some(INT1),
        }
    }

    fn is_at_int1(&self, address: u64) -> bool {
        decode(&self.code_at(address), self.mode()).is_ok_and(|insn| {
            insn.encoding() == Encoding::Legacy && insn.map() == Map::OneByte && insn.opcode() == INT1
        })
    }

    /// The code at an address without the breakpoint that may be there.
    fn code_at(&self, address: u64) -> Vec<u8> {
        match &self.hidden {
            Some((hidden, code)) if *hidden == address => code.clone(),
            _ => self.child.code(address),
        }
    }
}

/// A session of the kernel module's with the child, where that is loaded.
fn attach(child: &Child, layout: Layout) -> Result<Option<Module>> {
    Module::attach(layout.site(), |channel| channel::attach(channel, child.pid.unsigned_abs())).map_err(Error::other)
}

/// The instruction, and `int3` behind it up to the length that the longest has.
fn padded(insn: &Insn) -> [u8; 16] {
    let mut bytes = [0xcc; 16];
    bytes[..insn.len()].copy_from_slice(insn.bytes());
    bytes
}

fn report(insn: &Insn, seed: u64, placement: Placement, probe: &Probe, rip: u64, differences: &[String]) -> String {
    let mut out = format!("{:02x?}, seed {seed}, {placement:?} slot, {:?}, rip {rip:#x}", insn.bytes(), probe.way);
    if let Some(code) = &probe.code {
        let _ = write!(out, ", {:02x?} at {:#x}", &code.bytes[..usize::from(code.len)], probe.at);
    }
    for difference in differences {
        let _ = write!(out, "\n  {difference}");
    }
    out
}

/// Whether QEMU emulates the processor.
pub(super) fn is_emulated() -> bool {
    // "TCGTCGTCGTCG", of the leaf that tells of a hypervisor.
    cpuid(0x4000_0000, 0).ebx == u32::from_le_bytes(*b"TCGT")
}

/// What QEMU before 9.1 does not run as a processor does: what changes the code segment gets at the stack as if the kernel did, in 32 bits,
/// `int 3` traps at another place, `xbegin` is a `mov`, and what a return frees is taken as signed. QEMU 10 takes REX2 for `aad`, which 64-bit
/// code does not have, and truncates no target of an indirect branch, as AMD's processors do.
fn is_misrun(insn: &Insn) -> bool {
    let truncates = insn.mode().bits == Bits::B64 && insn.prefixes().has(Prefixes::OPERAND_SIZE);
    matches!(insn.flow(), Flow::Far | Flow::Interrupt | Flow::Transaction)
        || truncates && matches!(insn.target(), Target::Register(_) | Target::Memory)
        || insn.encoding() == Encoding::Rex2
        || insn.flow() == Flow::Return && insn.immediate().is_some_and(|freed| freed.value as u16 >= 0x8000)
}

/// Whose processor this is.
pub(super) fn vendor() -> Vendor {
    // "Auth", of AuthenticAMD; Hygon's decode alike.
    let leaf = cpuid(0, 0);
    if matches!(leaf.ebx, 0x6874_7541 | 0x6f67_7948) { Vendor::Amd } else { Vendor::Intel }
}
