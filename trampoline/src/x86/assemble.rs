//! The trampoline of a site.

use insn::Flow;
use insn::x86::{Flags, Mode, Reg, RegSet, dead};

use super::bytes::JUMP_LEN;
use super::condition;
use super::frame::Frame;
use super::histogram::{self, Linear};
use super::place::Place;
use super::probe::{Action, Probe, Source, Subject};
use super::relocate::{Context, Starts, relocate};
use super::run::{Element, MOST, run};
use super::writer::{Label, State, Writer};
use super::{Refusal, count, record, sum, thread};
use crate::Progress;

/// A place in the program for a jump.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Address of an instruction.
    pub pc: u64,
    /// The program's own code from there on, without breakpoints and jumps. At least five bytes; the more there are, the more is proven dead.
    pub code: &'a [u8],
    /// How the processor reads it.
    pub mode: Mode,
    /// Whether a thread of the program has a shadow stack.
    pub shadow_stack: bool,
    /// Whether to keep registers and flags that the code does not need. Signal handlers, debuggers and probes at later instructions then see
    /// the values that they would have.
    pub keep_dead: bool,
}

/// A trampoline, and where in it a thread continues.
#[derive(Clone, Copy, Debug)]
pub struct Trampoline {
    at: u64,
    len: u16,
    places: u16,
    run: u8,
    entries: [Option<Entry>; MOST],
}

/// An instruction of the run.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Offset from the site.
    offset: u8,
    /// Offset of its probe in the trampoline.
    probe: u16,
    /// Offset of its copy in the trampoline.
    copy: u16,
    /// Offset behind the `int3` that stops threads.
    stop: Option<u16>,
}

impl Trampoline {
    /// Address of the trampoline, to which the mirror's jump leads.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Size of the code in bytes, with its constants.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len.into()
    }

    /// Number of places in the table.
    pub fn places(&self) -> usize {
        self.places.into()
    }

    /// Size in bytes of the program's instructions that run in the trampoline.
    pub fn run_len(&self) -> usize {
        self.run.into()
    }

    /// The address at which a thread continues that is at the instruction `offset` bytes from the site; a probe there acts. `None` if no
    /// instruction of the run begins there: then the thread passes the instruction there by a plan of `stepping`.
    pub fn entry(&self, offset: u8) -> Option<u64> {
        self.find(offset).map(|entry| self.at.wrapping_add(entry.probe.into()))
    }

    /// The address at which a thread continues that is at the instruction `offset` bytes from the site, and whose action is done.
    pub fn copy(&self, offset: u8) -> Option<u64> {
        self.find(offset).map(|entry| self.at.wrapping_add(entry.copy.into()))
    }

    /// Offsets from the site at which instructions begin that the jump covers, other than the site itself.
    pub fn boundaries(&self) -> impl Iterator<Item = u8> {
        let offsets = self.entries.into_iter().flatten().map(|entry| entry.offset);
        offsets.filter(|offset| (1..JUMP_LEN).contains(&usize::from(*offset)))
    }

    /// The offset from the site of the instruction at which a thread stopped: one whose pc is this, and which trapped as after `int3`.
    /// `None` if no [`Action::Stop`] stopped the thread.
    pub fn stopped(&self, pc: u64) -> Option<u8> {
        self.stops().find(|(_, stop)| *stop == pc).map(|(offset, _)| offset)
    }

    /// The instructions at which [`Action::Stop`] stops threads: the offset from the site, and the pc of a thread behind `int3`. A thread whose
    /// stop nobody takes goes on there.
    pub fn stops(&self) -> impl Iterator<Item = (u8, u64)> {
        let stop = |entry: Entry| Some((entry.offset, self.at.wrapping_add(entry.stop?.into())));
        self.entries.into_iter().flatten().filter_map(stop)
    }

    fn find(&self, offset: u8) -> Option<&Entry> {
        self.entries.iter().flatten().find(|entry| entry.offset == offset)
    }
}

impl Site<'_> {
    /// Writes the trampoline at `at` into `code`, and the meanings of its addresses into `places`, sorted by offset. `int3` fills the rest of
    /// `code`. Two kilobytes and 256 places are enough for all but large records.
    ///
    /// A probe may be behind the bytes that the jump covers, up to the eleventh instruction. The trampoline runs all instructions up to that one. A
    /// thread that comes there by a branch finds the program's own instruction, or what the caller puts there, and [`Trampoline::entry`] is where
    /// the probe acts for it too.
    ///
    /// # Errors
    /// Why there is no such trampoline.
    pub fn assemble(
        &self,
        probes: &[Probe<'_>],
        at: u64,
        code: &mut [u8],
        places: &mut [Place],
    ) -> Result<Trampoline, Refusal> {
        let last = probes.iter().map(|probe| probe.offset).max().unwrap_or_default();
        let run = run(self.code, self.mode, last)?;
        let mut named = RegSet::EMPTY;
        for probe in probes {
            named = named.union(names(probe).ok_or(Refusal::NoSuchRegister)?);
            if !run.elements.iter().flatten().any(|element| element.offset == probe.offset) {
                return Err(Refusal::NotAtInstruction(probe.offset));
            }
        }
        let mut starts: Starts = [Label::NEW; MOST];
        let mut copies = [Label::NEW; MOST];
        let mut stops = [None; MOST];
        let mut writer = Writer::new(at, code, places, self.pc);
        let context = Context { pc: self.pc, run: &run, shadow_stack: self.shadow_stack };
        let mut falls = true;
        for (index, element) in run.elements.iter().enumerate() {
            let Some(element) = element else { break };
            if let Some(start) = starts.get_mut(index) {
                writer.bind(start);
            }
            let pc = self.pc.wrapping_add(element.offset.into());
            writer.state = State::at(pc, Progress::Before);
            for probe in probes.iter().filter(|probe| probe.offset == element.offset) {
                let stop = self.probe(&mut writer, element, probe, pc, named);
                if let Some(place) = stops.get_mut(index) {
                    *place = stop;
                }
            }
            if let Some(copy) = copies.get_mut(index) {
                writer.bind(copy);
            }
            relocate(&mut writer, &context, element, &mut starts)?;
            falls = !matches!(element.insn.flow(), Flow::Jump | Flow::Return | Flow::Call);
        }
        if falls {
            let next = self.pc.wrapping_add(run.len.into());
            writer.state = State::at(next, Progress::Before);
            writer.jump_out(&[0xe9], next);
        }
        let (len, marked) = writer.finish()?;
        let mut entries = [None; MOST];
        let labels = starts.iter().zip(&copies).map(|(start, copy)| Some((start.offset()?, copy.offset()?)));
        for (((entry, element), offsets), stop) in entries.iter_mut().zip(&run.elements).zip(labels).zip(stops) {
            if let (Some(element), Some((probe, copy))) = (element, offsets) {
                *entry = Some(Entry { offset: element.offset, probe, copy, stop });
            }
        }
        Ok(Trampoline { at, len, places: marked, run: run.len, entries })
    }

    /// Appends what happens at an instruction. `named` are the registers that this probe and the others read. Returns the offset behind the `int3`
    /// of [`Action::Stop`].
    fn probe(
        &self,
        writer: &mut Writer<'_>,
        element: &Element,
        probe: &Probe<'_>,
        pc: u64,
        named: RegSet,
    ) -> Option<u16> {
        if probe.arrivals.is_none() && probe.actions.is_empty() {
            return None;
        }
        let dead = if self.keep_dead { Default::default() } else { dead(self.code, element.offset.into(), self.mode) };
        let live = dead.registers.complement().union(named);
        let frame = Frame::new(used(probe), live, !dead.flags.contains(Flags::STATUS));
        writer.state.own = true;
        frame.enter(writer);
        match probe.arrivals {
            Some(counter) if condition::counts(probe) => count::count_and_load(writer, counter),
            Some(counter) => {
                count::count(writer, counter, true);
                writer.state.progress = Progress::During;
            }
            None if condition::counts(probe) => writer.refuse(Refusal::NoSuchSize),
            None => {}
        }
        let (mut end, mut stop) = (Label::NEW, None);
        condition::test(writer, &frame, probe, pc, &mut end);
        for action in probe.actions.iter().filter(|action| !matches!(action, Action::Stop)) {
            stop = stop.or(act(writer, &frame, action, pc));
            writer.state.progress = Progress::During;
        }
        if stop.is_some() && probe.actions.contains(&Action::Stop) {
            writer.refuse(Refusal::TooMuch);
        }
        if probe.actions.contains(&Action::Stop) {
            // int3
            writer.emit(&[0xcc]);
            stop = Some(writer.len());
        }
        writer.bind(&mut end);
        writer.state.progress = Progress::Done;
        frame.leave(writer);
        writer.state.own = false;
        stop
    }
}

/// Appends an action. Returns the offset behind an `int3` that stops threads.
fn act(writer: &mut Writer<'_>, frame: &Frame, action: &Action<'_>, pc: u64) -> Option<u16> {
    match *action {
        Action::Count { counter, atomic } => count::count(writer, counter, atomic),
        Action::CountPerCpu { counters, words, stride, source } => {
            count::per_cpu(writer, counters, words, stride, source);
        }
        Action::Record(record) => return record::record(writer, frame, &record, pc),
        Action::Log2 { buckets, source } => histogram::log2(writer, frame, buckets, source),
        Action::Linear { buckets, low, width, count, source } => {
            histogram::linear(writer, frame, &Linear { buckets, low, width, count }, source);
        }
        Action::Sum { row, source } => sum::sum(writer, frame, row, source),
        Action::Stamp { threads, key } => thread::stamp(writer, threads, key),
        Action::Stop => {}
    }
    None
}

/// The registers that a probe overwrites.
fn used(probe: &Probe<'_>) -> RegSet {
    let of_source = |source: Source, used: RegSet| match source {
        Source::Register(_) => used,
        Source::Since { .. } => used.with(Reg::RDX).with(Reg::RSI),
    };
    let accumulator = RegSet::EMPTY.with(Reg::RAX);
    let of = |action: &Action<'_>| match *action {
        Action::Count { .. } | Action::Stop => RegSet::EMPTY,
        Action::CountPerCpu { .. } => accumulator,
        Action::Record(_) => accumulator.with(Reg::RCX).with(Reg::RDX).with(Reg::RSI),
        Action::Log2 { source, .. } => of_source(source, accumulator.with(Reg::RCX)),
        Action::Linear { source, .. } | Action::Sum { source, .. } => {
            of_source(source, accumulator.with(Reg::RCX).with(Reg::RDX))
        }
        Action::Stamp { .. } => accumulator.with(Reg::RCX).with(Reg::RDX),
    };
    condition::used(probe, probe.actions.iter().map(of).fold(RegSet::EMPTY, RegSet::union))
}

/// The registers whose values a probe reads; `None` if it names one that it cannot.
fn names(probe: &Probe<'_>) -> Option<RegSet> {
    let mut named = RegSet::EMPTY;
    let mut add = |register: Option<Reg>, with_rip: bool| {
        let Some(register) = register else { return true };
        named = named.with(register);
        register.as_gpr().is_some_and(|number| number < 16) || with_rip && register == Reg::RIP
    };
    let mut known = true;
    for clause in probe.condition.iter().copied().flatten() {
        known &= match clause.subject {
            Subject::Register(register) => add(Some(register), true),
            Subject::Part { register, .. } => add(Some(register), false),
            Subject::Memory(memory) => add(memory.base, false),
            Subject::Arrivals => true,
        };
    }
    for action in probe.actions {
        match action {
            Action::Record(record) => {
                for field in record.fields {
                    known &= add(record::register(field)?, record::may_be_rip(field));
                }
            }
            Action::Log2 { source: Source::Register(register), .. }
            | Action::Linear { source: Source::Register(register), .. }
            | Action::Sum { source: Source::Register(register), .. } => known &= add(Some(*register), false),
            _ => {}
        }
    }
    known.then_some(named)
}
