//! Runs of a program, in place and through a plan.

use std::fmt::Write;
use std::io::Result;

use insn::x86::{Bits, Insn, Mode, Vendor, decode};
use stepping::x86::{Code, Emulate, Exit, Outcome, Plan, Slot, plan};

use super::child::Child;
use super::compare::{Ending, Stop, differences};
use super::program::Layout;
use super::registers::{Process, Thread, field};
use super::state::State;
use super::sys;
use crate::Random;

/// Where the slot lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Within ±2 GiB of the site.
    Near,
    /// Out of reach of 32-bit distances.
    Far,
}

/// How a plan let a thread pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// Emulated to the end.
    Emulated,
    /// Met a fault in emulation and raised it by a step of the copy.
    EmulatedFault,
    /// Ran the copy, which led back by itself or faulted.
    Boosted,
    /// Ran the copy and trapped behind it.
    Trapped,
    /// Stepped the copy.
    Stepped,
}

/// A program with one probed instruction.
pub struct Case<'a> {
    name: String,
    before: Vec<String>,
    probed: Vec<u8>,
    text: String,
    after: Vec<String>,
    elsewhere: Vec<(u64, Vec<String>)>,
    setup: Box<dyn Fn(&mut State) + 'a>,
    forwarded: Vec<i32>,
    seeds: u64,
}

impl<'a> Case<'a> {
    /// A program of the instruction `probed` alone, written as [`Layout::instruction`] says; `int3` is all around it.
    pub fn new(name: &str, probed: &str) -> Case<'a> {
        Case {
            name: name.to_owned(),
            before: Vec::new(),
            probed: Vec::new(),
            text: probed.to_owned(),
            after: Vec::new(),
            elsewhere: Vec::new(),
            setup: Box::new(|_| ()),
            forwarded: Vec::new(),
            seeds: 4,
        }
    }

    /// A program of the one instruction with these bytes.
    pub fn bytes(name: &str, probed: &[u8]) -> Case<'a> {
        Case { probed: probed.to_vec(), ..Case::new(name, "") }
    }

    /// Instructions that run before the probed one.
    #[must_use]
    pub fn before(mut self, instructions: &[&str]) -> Case<'a> {
        self.before.extend(instructions.iter().map(|text| (*text).to_owned()));
        self
    }

    /// Instructions that stand behind the probed one.
    #[must_use]
    pub fn after(mut self, instructions: &[&str]) -> Case<'a> {
        self.after.extend(instructions.iter().map(|text| (*text).to_owned()));
        self
    }

    /// Instructions at another offset in the code window.
    #[must_use]
    pub fn at(mut self, offset: u64, instructions: &[&str]) -> Case<'a> {
        self.elsewhere.push((offset, instructions.iter().map(|text| (*text).to_owned()).collect()));
        self
    }

    /// Changes the random state that the program starts from.
    #[must_use]
    pub fn with(self, setup: impl Fn(&mut State) + 'a) -> Case<'a> {
        let first = self.setup;
        Case {
            setup: Box::new(move |state| {
                first(state);
                setup(state);
            }),
            ..self
        }
    }

    /// Delivers this signal to the program; all others end the run.
    #[must_use]
    pub fn forwarding(mut self, signal: i32) -> Case<'a> {
        self.forwarded.push(signal);
        self
    }

    /// How many random states the program runs from; 4 unless told.
    #[must_use]
    pub fn seeds(self, seeds: u64) -> Case<'a> {
        Case { seeds, ..self }
    }
}

/// What a comparison found.
#[derive(Clone, Debug)]
pub struct Check {
    /// The case.
    pub name: String,
    /// How the last hit of each run was passed, near and far by turns.
    pub ways: Vec<(Placement, Way)>,
    /// Signal at the end of the last run in place, 0 where the program ended.
    pub signal: i32,
}

impl Check {
    /// Asserts that every run with the slot there passed this way.
    ///
    /// # Panics
    /// Where one did not.
    pub fn passed(&self, placement: Placement, way: Way) -> &Check {
        for (at, found) in &self.ways {
            assert!(*at != placement || *found == way, "{}: {placement:?} slot: {found:?}, wanted {way:?}", self.name);
        }
        self
    }

    /// Asserts that every run passed this way.
    ///
    /// # Panics
    /// Where one did not.
    pub fn all(&self, way: Way) -> &Check {
        self.passed(Placement::Near, way).passed(Placement::Far, way)
    }

    /// Asserts what signal ended the run in place: that the case tests what it means to.
    ///
    /// # Panics
    /// Where another did.
    pub fn ended(&self, signal: i32) -> &Check {
        assert_eq!(self.signal, signal, "{}: the run in place ended otherwise", self.name);
        self
    }
}

/// A child to run programs in.
pub struct Lab {
    bits: Bits,
    layout: Layout,
    child: Child,
    base: State,
}

/// The plan of the probed instruction and its slot.
struct Probe {
    plan: Plan,
    site: u64,
    next: u64,
    at: u64,
    code: Option<Code>,
    scratch: Option<u64>,
    way: Option<Way>,
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
        Ok(Lab { bits, layout, child, base })
    }

    /// Addresses in the child.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The mode that decodes as this machine does.
    pub fn mode(&self) -> Mode {
        Mode::new(self.bits, vendor())
    }

    /// Runs the case from several random states, in place and through the plan with a near and a far slot.
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
        let program = self.assemble(case);
        let site = self.layout.site();
        let probed = &program.iter().find(|(address, _)| *address == site).expect("a probed instruction").1;
        let insn = decode(probed, self.mode()).map_err(|error| format!("{probed:02x?} does not decode: {error}"))?;
        let start = site - self.length(&case.before, site);
        let mut check = Check { name: case.name.clone(), ways: Vec::new(), signal: 0 };
        for seed in 0..case.seeds {
            let mut rng = Random::new(seed + case.name.bytes().fold(0, |sum, byte| sum * 31 % 65521 + u64::from(byte)));
            let mut state = State::random(self.bits, self.layout, &self.base, &mut rng);
            state.regs.rip = start;
            (case.setup)(&mut state);
            let expected = self.run(&program, &state, None, case).map_err(|error| error.to_string())?;
            check.signal = if let Stop::Signal { number, .. } = expected.stop { number } else { 0 };
            for placement in [Placement::Near, Placement::Far] {
                let mut probe = self.probe(&insn, placement);
                let found = self.run(&program, &state, Some(&mut probe), case).map_err(|error| error.to_string())?;
                let differences = differences(&expected, &found);
                if !differences.is_empty() {
                    let rip = expected.state.as_ref().map_or(0, |state| state.regs.rip);
                    return Err(report(&insn, seed, placement, &probe, rip, &differences));
                }
                match probe.way {
                    Some(way) => check.ways.push((placement, way)),
                    None => return Err("the site was never hit".to_owned()),
                }
            }
        }
        Ok(check)
    }

    fn probe(&self, insn: &Insn, placement: Placement) -> Probe {
        let site = self.layout.site();
        let at = if placement == Placement::Near { self.layout.near } else { self.layout.far };
        let next = site + insn.len() as u64;
        Probe { plan: plan(insn, site), site, next, at, code: None, scratch: None, way: None }
    }

    /// All instructions of the program with their addresses.
    fn assemble(&self, case: &Case<'_>) -> Vec<(u64, Vec<u8>)> {
        let site = self.layout.site();
        let mut out = Vec::new();
        let mut pc = site - self.length(&case.before, site);
        for text in &case.before {
            let bytes = self.layout.instruction(text, pc);
            pc += bytes.len() as u64;
            out.push((pc - bytes.len() as u64, bytes));
        }
        let probed =
            if case.probed.is_empty() { self.layout.instruction(&case.text, site) } else { case.probed.clone() };
        pc += probed.len() as u64;
        out.push((site, probed));
        let elsewhere = case.elsewhere.iter().map(|(offset, texts)| (self.layout.code + offset, texts));
        for (mut pc, texts) in [(pc, &case.after)].into_iter().chain(elsewhere) {
            for text in texts {
                let bytes = self.layout.instruction(text, pc);
                pc += bytes.len() as u64;
                out.push((pc - bytes.len() as u64, bytes));
            }
        }
        out
    }

    fn length(&self, texts: &[String], pc: u64) -> u64 {
        texts.iter().map(|text| self.layout.instruction(text, pc).len() as u64).sum()
    }

    fn run(
        &mut self,
        program: &[(u64, Vec<u8>)],
        state: &State,
        probe: Option<&mut Probe>,
        case: &Case<'_>,
    ) -> Result<Ending> {
        for (address, bytes) in program {
            self.child.write(*address, bytes);
        }
        if let Some(probe) = &probe {
            self.child.write(probe.site, &[0xcc]);
        }
        self.child.load(state)?;
        let ending = self.finish(probe, case);
        for (address, bytes) in program {
            self.child.write(*address, &vec![0xcc; bytes.len()]);
        }
        ending
    }

    /// Lets the program run to its end, and past its probed instruction as the plan says.
    fn finish(&mut self, mut probe: Option<&mut Probe>, case: &Case<'_>) -> Result<Ending> {
        let pid = self.child.pid;
        sys::cont(pid, 0)?;
        loop {
            let status = sys::wait(pid)?;
            if libc::WIFEXITED(status) {
                return Ok(Ending { stop: Stop::Exited(libc::WEXITSTATUS(status)), state: None });
            }
            if libc::WIFSIGNALED(status) {
                return Ok(Ending { stop: Stop::Killed(libc::WTERMSIG(status)), state: None });
            }
            let signal = libc::WSTOPSIG(status);
            if case.forwarded.contains(&signal) {
                sys::cont(pid, signal)?;
                continue;
            }
            let stop = self.stop(signal)?;
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

    fn stop(&self, number: i32) -> Result<Stop> {
        let info = sys::siginfo(self.child.pid)?;
        // SAFETY: signals of the kernel's own, whose code is positive, have an address or are not looked at further.
        let address = if info.si_code > 0 { unsafe { info.si_addr() as u64 } } else { 0 };
        Ok(Stop::Signal { number, code: info.si_code, address })
    }
}

/// What became of a stop.
enum Going {
    On,
    Stopped(Stop),
}

const SI_KERNEL: i32 = 0x80;
const TRAP_TRACE: i32 = 2;

impl Probe {
    /// Handles a stop as a back end would.
    fn advance(&mut self, pid: i32, stop: Stop, child: &Child) -> Result<Going> {
        let mut regs = sys::regs(pid)?;
        let Stop::Signal { number: libc::SIGTRAP, code, .. } = stop else { return Ok(Going::Stopped(stop)) };
        let at_int3 = regs.rip.wrapping_sub(1);
        if code == SI_KERNEL && at_int3 == self.site {
            regs.rip = self.site;
            sys::set_regs(pid, &regs)?;
            return match self.plan {
                Plan::Emulate(emulate) => self.emulate(pid, &emulate, child),
                Plan::Slot(slot) => self.enter(pid, &slot, child),
                ref other => panic!("no way to pass: {other:?}"),
            };
        }
        let Some(code_of_slot) = self.code else { return Ok(Going::Stopped(stop)) };
        let offset = at_int3.wrapping_sub(self.at);
        if code == SI_KERNEL && offset < 32 && code_of_slot.bytes[offset as usize] == 0xcc {
            let place = code_of_slot.original(offset as u8).expect("an int3 where no thread can be");
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
        if code == TRAP_TRACE && self.way == Some(Way::Stepped) && regs.rip.wrapping_sub(self.at) >= 32 {
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
        if matches!(code.exit, Exit::Jump | Exit::Trap(_)) {
            self.way = Some(Way::Boosted);
            sys::cont(pid, 0)?;
        } else {
            self.way = Some(Way::Stepped);
            sys::step(pid)?;
        }
        Ok(Going::On)
    }

    fn put_back(&mut self, regs: &mut libc::user_regs_struct) {
        if let (Some(code), Some(value)) = (self.code, self.scratch.take())
            && let Some(scratch) = code.scratch
        {
            *field(regs, scratch.register).expect("a general register") = value;
        }
    }

    /// Turns slot addresses in what the program would see into original ones.
    fn translate(&mut self, ending: &mut Ending) {
        let Some(code) = self.code else { return };
        let at = self.at;
        let original = |address: u64| {
            let offset = u8::try_from(address.wrapping_sub(at)).ok().filter(|offset| *offset < 32)?;
            Some(code.original(offset).unwrap_or_else(|| panic!("a thread at {offset} in {code:x?}")))
        };
        if let Stop::Signal { address, .. } = &mut ending.stop
            && let Some(place) = original(*address)
        {
            *address = place.pc;
        }
        let Some(state) = &mut ending.state else { return };
        if let Some(place) = original(state.regs.rip) {
            state.regs.rip = place.pc;
            self.put_back(&mut state.regs);
            if let Some((register, value)) = place.register {
                *field(&mut state.regs, register).expect("a general register") = value;
            }
        }
        // A known deviation: the address of the last x87 instruction is the slot's.
        if let Some(place) = original(state.fip()) {
            state.set_fip(place.pc);
        }
    }
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

/// Whose processor this is.
pub(super) fn vendor() -> Vendor {
    // "Auth", of AuthenticAMD; Hygon's decode alike.
    let leaf = std::arch::x86_64::__cpuid(0);
    if matches!(leaf.ebx, 0x6874_7541 | 0x6f67_7948) { Vendor::Amd } else { Vendor::Intel }
}
