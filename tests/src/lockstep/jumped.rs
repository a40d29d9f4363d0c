//! Instructions behind a jump into a trampoline, beside the undisturbed ones.

use std::io::{Error, ErrorKind, Result};

use insn::Flow;
use insn::x86::decode;
use trampoline::x86::{
    Displacement, JUMP_LEN, Place, Probe, Progress, Site, Trampoline, Trap, covered, jump, mirror_jump, place,
};

use super::compare::{Ending, SI_KERNEL, Stop};
use super::lab::Lab;
use super::probe::TRAP_TRACE;
use super::program::NOTES_SIZE;
use super::registers::{Process, Thread};
use super::state::State;
use super::sys;

/// The distance of the mirror: bytes that are all 06.
const DISTANCE: i32 = 0x0606_0606;
/// Bytes of the room for the trampoline.
const ROOM: usize = 0x1000;
/// Bytes below the stack pointer that probes may write: the red zone, which they leave alone, and five words.
const FRAME: (u64, u64) = (128, 40);
/// Stops after which a run is given up.
const MOST_STOPS: u32 = 4096;

/// Code at the site, with a jump at its start.
pub struct Jumped<'a> {
    /// The program's bytes from the site on; `int3` follows.
    pub code: &'a [u8],
    /// Offset of the instruction with which the thread begins.
    pub start: u8,
    /// What happens at the instructions that the jump covers.
    pub probes: &'a [Probe<'a>],
    /// Whether registers and flags that the code does not need are kept.
    pub keep_dead: bool,
}

/// What a run through the trampoline did.
pub struct Passage {
    /// Its end, in terms of the program's own code.
    pub ending: EndingOf,
    /// Traps in the bytes that the jump covers.
    pub traps: u32,
    /// Faults of a probe that found no stack.
    pub faults: u32,
    /// What the probes wrote.
    pub notes: Vec<u8>,
    /// The states of the program where a probe stopped the thread.
    pub stopped: Vec<State>,
    /// The states of the program at each pc of the trampoline, if every instruction was stepped.
    pub(crate) states: Vec<State>,
}

/// The end of a run.
pub struct EndingOf(pub(crate) Ending);

impl EndingOf {
    /// Every difference from another end, in words.
    pub fn differences(&self, found: &EndingOf) -> Vec<String> {
        super::compare::differences(&self.0, &found.0)
    }

    /// The signal at the end, its code, and the pc.
    pub fn signal(&self) -> Option<(i32, i32, u64)> {
        match (&self.0.stop, &self.0.state) {
            (Stop::Signal { number, code, .. }, Some(state)) => Some((*number, *code, state.regs.rip)),
            _ => None,
        }
    }

    /// Whether the code ran to the `int3` behind it, or to one that it branched to.
    pub fn is_complete(&self) -> bool {
        self.0.stop.is_breakpoint()
    }
}

/// The trampoline in the child, and its table.
struct Placed {
    trampoline: Trampoline,
    places: Vec<Place>,
    displacement: Displacement,
    site: u64,
    original: [u8; JUMP_LEN],
}

impl Jumped<'_> {
    /// The trampoline at an address of the child, with its bytes and its table.
    ///
    /// # Errors
    /// Why there is none.
    pub fn assemble(
        &self,
        lab: &Lab,
    ) -> std::result::Result<(Trampoline, Vec<u8>, Vec<Place>), trampoline::x86::Refusal> {
        let layout = lab.layout();
        let mut padded = self.code.to_vec();
        padded.resize(self.code.len() + 16, 0xcc);
        let site =
            Site { pc: layout.site(), code: &padded, mode: lab.mode(), shadow_stack: false, keep_dead: self.keep_dead };
        let (mut code, mut places) = (vec![0; ROOM], vec![Place::EMPTY; 512]);
        let trampoline = site.assemble(self.probes, layout.near, &mut code, &mut places)?;
        places.truncate(trampoline.places());
        Ok((trampoline, code, places))
    }
}

impl Lab {
    /// The end of the undisturbed code.
    ///
    /// # Errors
    /// Where the child is lost.
    pub fn undisturbed(&mut self, jumped: &Jumped<'_>, state: &State) -> Result<EndingOf> {
        let mut state = state.clone();
        state.regs.rip = self.layout.site() + u64::from(jumped.start);
        self.run(&[(self.layout.site(), padded(jumped.code))], &state, None, &[]).map(EndingOf)
    }

    /// The states of the undisturbed code before each instruction, and its end.
    fn trace(&mut self, jumped: &Jumped<'_>, state: &State) -> Result<(Vec<State>, Ending)> {
        let program = [(self.layout.site(), padded(jumped.code))];
        self.place(&program);
        let mut state = state.clone();
        state.regs.rip = self.layout.site() + u64::from(jumped.start);
        self.child.load(&state)?;
        let mut states = vec![state];
        let ending = loop {
            sys::step(self.child.pid)?;
            let Some(stop) = self.stopped()? else { return Err(Error::other("the child has ended")) };
            let found = self.child.save(self.layout)?;
            if !matches!(stop, Stop::Signal { number: libc::SIGTRAP, code: TRAP_TRACE, .. }) || states.len() > 256 {
                break Ending { stop, state: Some(found) };
            }
            states.push(found);
        };
        self.clear(&program);
        Ok((states, ending))
    }

    /// Gives the memory below the red zone the values that a probe puts there, so that afterwards it is the same in both runs.
    ///
    /// # Errors
    /// Where the child is lost.
    pub fn preload(&mut self, jumped: &Jumped<'_>, state: &mut State) -> Result<()> {
        let passage = self.through_jump(jumped, state, true)?;
        let low = state.regs.rsp.wrapping_sub(FRAME.0 + FRAME.1);
        let at_probe = passage.states.iter().rev().find(|state| state.regs.rip == u64::MAX);
        let Some(found) = at_probe else { return Ok(()) };
        // The stack pointer may be in any window, and at the edge of it.
        for address in low..low.wrapping_add(FRAME.1) {
            let byte = found
                .windows()
                .into_iter()
                .find_map(|(start, window)| window.get(usize::try_from(address.checked_sub(start)?).ok()?).copied());
            if let Some(byte) = byte {
                state.poke(address, &[byte]);
            }
        }
        Ok(())
    }

    /// Runs the code behind the jump; with `step` by single steps, of which each state is noted.
    ///
    /// # Errors
    /// Where the child is lost, and where a thread is at an address that means nothing.
    pub fn through_jump(&mut self, jumped: &Jumped<'_>, state: &State, step: bool) -> Result<Passage> {
        let (trampoline, code, places) = jumped.assemble(self).map_err(|reason| Error::other(reason.to_string()))?;
        let displacement = Displacement::new(DISTANCE).expect("06 always traps");
        let site = self.layout.site();
        let mut program = padded(jumped.code);
        let original = program[..JUMP_LEN].try_into().expect("five bytes");
        program[..JUMP_LEN].copy_from_slice(&jump(displacement));
        let placed = Placed { trampoline, places, displacement, site, original };
        let mirror = displacement.mirror(site);
        let program = [
            (site, program),
            (mirror, mirror_jump(mirror, trampoline.at()).expect("within reach").to_vec()),
            (trampoline.at(), code),
        ];
        self.place(&program);
        let mut state = state.clone();
        state.regs.rip = site + u64::from(jumped.start);
        self.child.load(&state)?;
        let passage = self.follow(&placed, step, jumped.probes);
        let passage = match passage {
            Ok(passage) if passage.ending.0.state.is_none() => {
                self.renew()?;
                return Ok(passage);
            }
            passage => passage?,
        };
        self.clear(&program);
        Ok(passage)
    }

    /// Writes what probes read.
    pub fn note(&self, address: u64, bytes: &[u8]) {
        self.child.write(address, bytes);
    }

    fn stopped(&mut self) -> Result<Option<Stop>> {
        let status = sys::wait(self.child.pid)?;
        if !libc::WIFSTOPPED(status) {
            return Ok(None);
        }
        self.stop(libc::WSTOPSIG(status)).map(Some)
    }

    fn follow(&mut self, placed: &Placed, step: bool, probes: &[Probe<'_>]) -> Result<Passage> {
        let pid = self.child.pid;
        let mut passage = Passage {
            ending: EndingOf(Ending { stop: Stop::Exited(0), state: None }),
            traps: 0,
            faults: 0,
            notes: vec![0; NOTES_SIZE as usize],
            stopped: Vec::new(),
            states: Vec::new(),
        };
        for _ in 0..MOST_STOPS {
            if step {
                sys::step(pid)?
            } else {
                sys::cont(pid, 0)?
            }
            let Some(stop) = self.stopped()? else { return Ok(passage) };
            let mut regs = sys::regs(pid)?;
            if step && matches!(stop, Stop::Signal { number: libc::SIGTRAP, code: TRAP_TRACE, .. }) {
                let mut state = self.child.save(self.layout)?;
                let found = placed.restore(&mut state, pid)?;
                if found.is_some_and(|place| place.own) {
                    // A mark that `preload` looks for: the last state inside of a probe.
                    passage
                        .states
                        .push(State { regs: libc::user_regs_struct { rip: u64::MAX, ..state.regs }, ..state.clone() });
                }
                passage.states.push(state);
                continue;
            }
            if let Some(offset) = placed.covered(stop, &regs) {
                passage.traps += 1;
                match placed.trampoline.entry(offset) {
                    Some(entry) => {
                        regs.rip = entry;
                        sys::set_regs(pid, &regs)?;
                    }
                    None => {
                        regs.rip = placed.site + u64::from(offset);
                        sys::set_regs(pid, &regs)?;
                        if let Some(stop) = self.past(placed)? {
                            return self.ended(placed, stop, passage);
                        }
                    }
                }
                continue;
            }
            let traps = stop.is_breakpoint();
            if traps && placed.trampoline.stopped(regs.rip).is_some() {
                let mut state = self.child.save(self.layout)?;
                placed.restore(&mut state, pid)?;
                passage.stopped.push(state);
                continue;
            }
            if let Some(place) = placed.place(regs.rip).filter(|place| place.own) {
                if !matches!(stop, Stop::Signal { number: libc::SIGTRAP, .. }) {
                    passage.faults += u32::from(place.fixup.is_none());
                    self.mend(placed, &place, &mut regs, probes)?;
                    continue;
                }
            }
            return self.ended(placed, stop, passage);
        }
        Err(Error::new(ErrorKind::TimedOut, "the run does not end"))
    }

    /// Lets a thread go on after a fault of a probe.
    fn mend(
        &self,
        placed: &Placed,
        place: &Place,
        regs: &mut libc::user_regs_struct,
        probes: &[Probe<'_>],
    ) -> Result<()> {
        let pid = self.child.pid;
        if let Some(fixup) = place.fixup {
            regs.rip = placed.trampoline.at() + u64::from(fixup);
            return sys::set_regs(pid, regs);
        }
        if place.progress != Progress::Before {
            return Err(Error::other(format!("a fault at {place:?}")));
        }
        place.restore(&mut Thread(regs), &mut Process(pid)).map_err(|fault| Error::other(format!("{fault:?}")))?;
        let offset = (place.pc - placed.site) as u8;
        for counter in probes.iter().filter(|probe| probe.offset == offset).filter_map(|probe| probe.arrivals) {
            let mut word = [0; 8];
            sys::access(pid, counter, &mut word, false);
            let mut word = (u64::from_le_bytes(word) + 1).to_le_bytes();
            sys::access(pid, counter, &mut word, true);
        }
        regs.rip = placed.trampoline.copy(offset).expect("a probe is at an instruction");
        sys::set_regs(pid, regs)
    }

    /// Runs one instruction of the program that does not begin at a boundary. Returns the stop if it faults.
    fn past(&mut self, placed: &Placed) -> Result<Option<Stop>> {
        self.child.write(placed.site, &placed.original);
        sys::step(self.child.pid)?;
        let stop = self.stopped()?.ok_or_else(|| Error::other("the child has ended"))?;
        self.child.write(placed.site, &jump(placed.displacement));
        Ok((!matches!(stop, Stop::Signal { number: libc::SIGTRAP, code: TRAP_TRACE, .. })).then_some(stop))
    }

    fn ended(&mut self, placed: &Placed, mut stop: Stop, mut passage: Passage) -> Result<Passage> {
        let mut state = self.child.save(self.layout)?;
        if let Stop::Signal { address, .. } = &mut stop {
            if let Some(place) = placed.place(*address) {
                *address = place.pc;
            }
        }
        placed.restore(&mut state, self.child.pid)?;
        sys::read(self.child.pid, &mut [(self.layout.notes, &mut passage.notes)])?;
        passage.ending = EndingOf(Ending { stop, state: Some(state) });
        Ok(passage)
    }

    /// Steps through every instruction of the trampoline. Every state there must be one of the undisturbed run, and in its order.
    ///
    /// # Errors
    /// The first state that is none, in words, or the child is lost.
    pub fn step_through(&mut self, jumped: &Jumped<'_>, state: &State) -> Result<usize> {
        let (expected, end) = self.trace(jumped, state)?;
        let passage = self.through_jump(jumped, state, true)?;
        let mut at = 0;
        for found in passage.states.iter().filter(|state| state.regs.rip != u64::MAX) {
            // A known deviation: at an indirect call the return address may lie below the stack pointer already.
            let offset = found.regs.rip.wrapping_sub(self.layout.site()) as usize;
            let rest = jumped.code.get(offset..).unwrap_or_default();
            let is_call = decode(rest, self.mode()).is_ok_and(|insn| insn.flow() == Flow::Call);
            let differs = |one: &State| {
                let ending = |state: State| Ending { stop: Stop::Exited(0), state: Some(state) };
                let mut found = found.clone();
                if is_call {
                    let below = found.regs.rsp.wrapping_sub(8);
                    for ((start, window), (_, from)) in found.windows_mut().into_iter().zip(one.windows()) {
                        let offset = below.wrapping_sub(start) as usize;
                        let range = offset..offset.wrapping_add(8);
                        if let (Some(to), Some(from)) = (window.get_mut(range.clone()), from.get(range)) {
                            to.copy_from_slice(from);
                        }
                    }
                }
                super::compare::differences(&ending(one.clone()), &ending(found))
            };
            let here =
                expected.iter().skip(at).position(|one| one.regs.rip == found.regs.rip && differs(one).is_empty());
            match here {
                Some(further) => at += further,
                None if end.state.as_ref().is_some_and(|end| end.regs.rip == found.regs.rip) => {}
                None => {
                    let like = expected.iter().skip(at).find(|one| one.regs.rip == found.regs.rip);
                    let why = like.map_or_else(|| vec!["no such pc".to_owned()], differs);
                    return Err(Error::other(format!("at {:#x}: {}", found.regs.rip, why.join("; "))));
                }
            }
        }
        Ok(passage.states.len())
    }
}

impl Placed {
    /// The offset of the covered byte that a stop is due to.
    fn covered(&self, stop: Stop, regs: &libc::user_regs_struct) -> Option<u8> {
        let kind = match stop {
            Stop::Signal { number: libc::SIGILL, .. } => Trap::Undefined,
            Stop::Signal { number: libc::SIGTRAP, code: SI_KERNEL, .. } => Trap::Breakpoint,
            Stop::Signal { number: libc::SIGSEGV, code: SI_KERNEL, .. } => Trap::Protection,
            _ => return None,
        };
        covered(self.site, self.displacement, kind, regs.rip)
    }

    /// The meaning of an address in the trampoline.
    fn place(&self, pc: u64) -> Option<Place> {
        let offset = u16::try_from(pc.wrapping_sub(self.trampoline.at())).ok()?;
        place(&self.places, offset).copied()
    }

    /// Makes of a state in mirror or trampoline the program's; the place, if it is in the trampoline.
    fn restore(&self, state: &mut State, pid: i32) -> Result<Option<Place>> {
        if state.regs.rip == self.displacement.mirror(self.site) {
            state.regs.rip = self.site;
        }
        if let Some(place) = self.place(state.fip()) {
            state.set_fip(place.pc);
        }
        let pc = state.regs.rip;
        let inside = pc.wrapping_sub(self.trampoline.at()) < self.trampoline.len() as u64;
        let Some(place) = self.place(pc) else {
            return if inside { Err(Error::other(format!("{pc:#x} means nothing"))) } else { Ok(None) };
        };
        let restored = place.restore(&mut Thread(&mut state.regs), &mut Process(pid));
        restored.map_err(|fault| Error::other(format!("{fault:?} at {place:?}")))?;
        Ok(Some(place))
    }
}

/// The code, and `int3` behind it.
fn padded(code: &[u8]) -> Vec<u8> {
    let mut bytes = code.to_vec();
    bytes.resize(code.len() + 16, 0xcc);
    bytes
}
