//! Writing a trace.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use insn::x86::{Bits, Vendor};

use crate::flow::{Flow, Id};
use crate::format::{
    self, FLAG_REGISTERS, MAGIC, MOST_CODE, MOST_RUN, MOST_SUCCESSORS, RUN_GOES_ON, VERSION, action, kind, machine,
};
use crate::item::{Code, Event, EventKind, Header, Item, Machine, Mapping, Next, Registers, Step};
use crate::memory::Memory;
use crate::varint;

/// A flow record is written out when it has this number of bytes.
const FULL: usize = 1 << 14;

/// Writes items as they come.
///
/// Instructions of each thread are gathered and written in large records; whatever happens to one thread (an [`Event`]) is
/// written after all instructions that were given before it. [`Writer::flush`] brings out all.
pub struct Writer<W: Write> {
    out: W,
    header: Header,
    memories: HashMap<u32, Memory>,
    threads: BTreeMap<u32, Thread>,
    scratch: Vec<u8>,
    steps: u64,
    bytes: u64,
}

struct Thread {
    pid: u32,
    /// Where the reader thinks that the thread is.
    pc: u64,
    flow: Flow,
    registers: Registers,
    open: Option<Open>,
}

/// A flow record that is not written yet.
struct Open {
    start: u64,
    at: Id,
    run: u64,
    tokens: Vec<u8>,
    registers: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, header: Header) -> io::Result<Writer<W>> {
        let mut writer = Writer {
            out,
            header,
            memories: HashMap::new(),
            threads: BTreeMap::new(),
            scratch: Vec::new(),
            steps: 0,
            bytes: 0,
        };
        let mut start = MAGIC.to_vec();
        varint::put(&mut start, VERSION);
        varint::put(&mut start, if header.registers { FLAG_REGISTERS } else { 0 });
        let machine = match header.machine {
            Machine::X86(Vendor::Intel) => machine::INTEL,
            Machine::X86(Vendor::Amd) => machine::AMD,
            Machine::Arm64 => machine::AARCH64,
        };
        varint::put(&mut start, machine);
        writer.put(&start)?;
        Ok(writer)
    }

    /// Steps given so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The thing that is written to.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// Writes one item. A step's code is compared with what is known, and written where it differs.
    ///
    /// # Errors
    /// Those of the output; `InvalidInput` for a step or event of a thread that was not started.
    pub fn item(&mut self, item: &Item) -> io::Result<()> {
        match item {
            Item::Step(step) => {
                self.code(step.pid, step.pc, step.code.bytes())?;
                self.step(step)
            }
            Item::Event(event) => self.event(event),
            Item::Mapping(mapping) => self.mapping(mapping),
        }
    }

    /// What is known to lie at an address.
    pub fn known(&self, pid: u32, address: u64) -> Code {
        self.memories.get(&pid).map(|memory| memory.window(address)).unwrap_or_default()
    }

    /// Tells what lies at an address, where that is not known yet.
    ///
    /// # Errors
    /// Those of the output.
    pub fn code(&mut self, pid: u32, address: u64, bytes: &[u8]) -> io::Result<()> {
        let memory = self.memories.entry(pid).or_default();
        let known = memory.window(address);
        let same = known.bytes().iter().zip(bytes).take_while(|(known, byte)| known == byte).count();
        let fresh = &bytes[same..];
        if fresh.is_empty() {
            return Ok(());
        }
        let address = address.wrapping_add(same as u64);
        if memory.contradicts(address, fresh) {
            // What was executed before ran the old bytes.
            self.flush_flows()?;
        }
        for (distance, bytes) in (0..).step_by(MOST_CODE).zip(fresh.chunks(MOST_CODE)) {
            let address = address.wrapping_add(distance);
            self.memories.entry(pid).or_default().write(address, bytes);
            let mut payload = std::mem::take(&mut self.scratch);
            payload.clear();
            varint::put(&mut payload, pid.into());
            varint::put(&mut payload, address);
            payload.extend_from_slice(bytes);
            let done = self.record(kind::CODE, &[&payload]);
            self.scratch = payload;
            done?;
        }
        Ok(())
    }

    /// Writes a step, of which the code was told.
    ///
    /// # Errors
    /// Those of the output; `InvalidInput` for a thread that was not started.
    pub fn step(&mut self, step: &Step) -> io::Result<()> {
        let thread = self.threads.get_mut(&step.tid).ok_or_else(|| unknown(step.tid))?;
        if thread.open.as_ref().is_some_and(|open| open.is_full() || thread.flow.pc(open.at) != step.pc) {
            let tid = step.tid;
            self.flush_flow(tid)?;
            return self.step(step);
        }
        self.steps += 1;
        let open = match &mut thread.open {
            Some(open) => open,
            closed => {
                let at = thread.flow.at(step.pc).map_err(invalid)?;
                let open = Open { start: step.pc, at, run: 0, tokens: Vec::new(), registers: Vec::new() };
                closed.insert(open)
            }
        };
        if self.header.registers {
            let registers = step.registers.unwrap_or_default();
            thread.registers.write_changes(self.header.machine, &registers, &mut open.registers);
        }
        match step.next {
            Next::At(next) => open.go(&mut thread.flow, next).map_err(invalid),
            Next::Unseen(next) => {
                open.token(action::UNSEEN);
                open.go(&mut thread.flow, next).map_err(invalid)
            }
            Next::Unfinished => {
                open.token(action::UNFINISHED);
                Ok(())
            }
        }
    }

    /// Writes an event, behind all instructions before it.
    ///
    /// # Errors
    /// Those of the output; `InvalidInput` for a thread that was not started.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.flush_flows()?;
        let mut payload = Vec::new();
        let put =
            |payload: &mut Vec<u8>, numbers: &[u64]| numbers.iter().for_each(|&number| varint::put(payload, number));
        varint::put(&mut payload, event.tid.into());
        if let EventKind::Started { by } = event.kind {
            put(&mut payload, &[format::event::STARTED, event.pid.into(), by.into()]);
            self.end(event.tid);
            let thread =
                Thread { pid: event.pid, pc: 0, flow: Flow::default(), registers: Registers::default(), open: None };
            self.threads.insert(event.tid, thread);
            return self.record(kind::EVENT, &[&payload]);
        }
        let thread = self.threads.get_mut(&event.tid).ok_or_else(|| unknown(event.tid))?;
        let pid = thread.pid;
        match event.kind {
            EventKind::Started { .. } => {}
            EventKind::Bits(bits) => {
                let bits = bits.map_or(0, |bits| match bits {
                    Bits::B16 => 16,
                    Bits::B32 => 32,
                    Bits::B64 => 64,
                });
                put(&mut payload, &[format::event::BITS, bits]);
            }
            EventKind::Syscall(number) => put(&mut payload, &[format::event::SYSCALL, number]),
            EventKind::Signal { number, fault } => {
                put(&mut payload, &[format::event::SIGNAL, number.into(), fault.into()]);
            }
            EventKind::Exec => {
                put(&mut payload, &[format::event::EXEC]);
                thread.flow = Flow::default();
                self.threads.retain(|&tid, thread| tid == event.tid || thread.pid != pid);
                self.memories.remove(&pid);
            }
            EventKind::Exited(status) => put(&mut payload, &[format::event::EXITED, status.into()]),
            EventKind::Killed(signal) => put(&mut payload, &[format::event::KILLED, signal.into()]),
            EventKind::Released => put(&mut payload, &[format::event::RELEASED]),
            EventKind::Moved => put(&mut payload, &[format::event::MOVED]),
        }
        if matches!(event.kind, EventKind::Exited(_) | EventKind::Killed(_) | EventKind::Released) {
            self.end(event.tid);
        }
        self.record(kind::EVENT, &[&payload])
    }

    /// Writes that a file is mapped.
    ///
    /// # Errors
    /// Those of the output.
    pub fn mapping(&mut self, mapping: &Mapping) -> io::Result<()> {
        let mut payload = Vec::new();
        for number in [mapping.pid.into(), mapping.start, mapping.end, mapping.base] {
            varint::put(&mut payload, number);
        }
        self.record(kind::MAPPING, &[&payload, &mapping.path])
    }

    /// Brings out all that was given.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.flush_flows()?;
        self.out.flush()
    }

    /// Ends the trace, and flushes it.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(&mut self) -> io::Result<()> {
        self.flush_flows()?;
        let mut payload = Vec::new();
        varint::put(&mut payload, self.steps);
        self.record(kind::END, &[&payload])?;
        self.out.flush()
    }

    fn end(&mut self, tid: u32) {
        let Some(thread) = self.threads.remove(&tid) else { return };
        if !self.threads.values().any(|other| other.pid == thread.pid) {
            self.memories.remove(&thread.pid);
        }
    }

    fn flush_flows(&mut self) -> io::Result<()> {
        let open: Vec<u32> = self.threads.iter().filter(|(_, t)| t.open.is_some()).map(|(&tid, _)| tid).collect();
        open.into_iter().try_for_each(|tid| self.flush_flow(tid))
    }

    fn flush_flow(&mut self, tid: u32) -> io::Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        let Some(mut open) = thread.open.take() else { return Ok(()) };
        if open.run > 0 {
            open.token(action::NONE);
        }
        let mut start = Vec::new();
        varint::put(&mut start, tid.into());
        varint::put_signed(&mut start, open.start.wrapping_sub(thread.pc) as i64);
        varint::put(&mut start, open.tokens.len() as u64);
        thread.pc = thread.flow.pc(open.at);
        self.record(kind::FLOW, &[&start, &open.tokens, &open.registers])
    }

    fn record(&mut self, kind: u8, parts: &[&[u8]]) -> io::Result<()> {
        let mut start = vec![kind];
        varint::put(&mut start, parts.iter().map(|part| part.len() as u64).sum());
        self.put(&start)?;
        parts.iter().try_for_each(|part| self.put(part))
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

impl Open {
    fn is_full(&self) -> bool {
        self.tokens.len() + self.registers.len() >= FULL
    }

    /// The present instruction went to `next`.
    fn go(&mut self, flow: &mut Flow, next: u64) -> Result<(), crate::Problem> {
        let from = self.at;
        self.at = flow.at(next)?;
        let rank = flow.successors(from).iter().position(|&known| known == self.at);
        flow.learn(from, self.at);
        match rank {
            Some(0) => {
                self.run += 1;
                if self.run == MOST_RUN {
                    self.token(action::NONE);
                }
            }
            Some(1) => self.token(action::SECOND),
            Some(2) => self.token(action::THIRD),
            Some(rank) => {
                debug_assert!(rank < MOST_SUCCESSORS);
                self.token(action::RANK);
                varint::put(&mut self.tokens, rank as u64);
            }
            None => {
                self.token(action::FRESH);
                varint::put_signed(&mut self.tokens, next.wrapping_sub(flow.pc(from)) as i64);
            }
        }
        Ok(())
    }

    fn token(&mut self, action: u8) {
        let run = std::mem::take(&mut self.run);
        match u8::try_from(run) {
            Ok(run) if run < RUN_GOES_ON => self.tokens.push(run << 3 | action),
            _ => {
                self.tokens.push(RUN_GOES_ON << 3 | action);
                varint::put(&mut self.tokens, run - u64::from(RUN_GOES_ON));
            }
        }
    }
}

fn unknown(tid: u32) -> io::Error {
    invalid(crate::Problem::Thread(tid))
}

fn invalid(problem: crate::Problem) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem.to_string())
}
