//! What the processor did, compared with what `insn` says of the bytes.

mod arm64;
mod x86;

use std::collections::HashMap;
use std::fmt;

use insn::x86::Bits;

use crate::item::{Code, Event, EventKind, Header, Item, Machine, Next, Step};

/// Follows a trace and tells where `insn` and the processor differ.
#[derive(Debug)]
pub struct Checker {
    machine: Machine,
    threads: HashMap<u32, Thread>,
    checked: u64,
    unreadable: u64,
}

#[derive(Debug, Default)]
struct Thread {
    /// Where the last instruction went to.
    pc: Option<u64>,
    /// Something other than an instruction may have moved the thread.
    moved: bool,
    /// The number of the system call that the next instruction makes.
    call: Option<u64>,
    /// The last instruction was run in one step with the next.
    unseen: bool,
}

/// One instruction that is not what `insn` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mismatch {
    /// The thread.
    pub tid: u32,
    /// The instruction's address.
    pub pc: u64,
    /// What lay there.
    pub code: Code,
    /// The width of the code segment.
    pub bits: Option<Bits>,
    /// Where the processor went.
    pub seen: Next,
    /// What is wrong.
    pub wrong: Wrong,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wrong {
    /// The processor executed what is no instruction.
    Decode(insn::x86::Error),
    /// The same on arm64.
    Undefined(insn::arm64::Error),
    /// It should have gone on there: behind the instruction.
    Length(u64),
    /// It should have gone there.
    Target(u64),
    /// It should have gone on behind the instruction, or there.
    Condition {
        /// Behind the instruction.
        next: u64,
        /// The target.
        target: u64,
    },
    /// It should have faulted.
    Faulting,
    /// Nothing is known to let two instructions run at once here.
    Unseen,
    /// The thread was elsewhere: there, and nothing tells how it came here.
    Moved(u64),
}

impl Checker {
    /// A checker of a trace with this header.
    pub fn new(header: Header) -> Checker {
        Checker { machine: header.machine, threads: HashMap::new(), checked: 0, unreadable: 0 }
    }

    /// Steps that were compared.
    pub fn checked(&self) -> u64 {
        self.checked
    }

    /// Steps at addresses that could not be read (the vsyscall page), or of unknown width.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Compares the next item of the trace.
    pub fn item(&mut self, item: &Item) -> Option<Mismatch> {
        match item {
            Item::Step(step) => self.step(step).map(|wrong| Mismatch {
                tid: step.tid,
                pc: step.pc,
                code: step.code,
                bits: step.bits,
                seen: step.next,
                wrong,
            }),
            Item::Event(event) => {
                self.event(event);
                None
            }
            Item::Mapping(_) => None,
        }
    }

    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Exited(_) | EventKind::Killed(_) | EventKind::Released => {
                self.threads.remove(&event.tid);
            }
            EventKind::Started { .. } => drop(self.threads.insert(event.tid, Thread::default())),
            EventKind::Bits(_) => {}
            EventKind::Syscall(number) => self.threads.entry(event.tid).or_default().call = Some(number),
            _ => self.threads.entry(event.tid).or_default().moved = true,
        }
    }

    fn step(&mut self, step: &Step) -> Option<Wrong> {
        let thread = self.threads.entry(step.tid).or_default();
        let before = thread.pc.filter(|&pc| pc != step.pc && !thread.moved);
        let call = thread.call.take();
        thread.moved = false;
        let goes_on = std::mem::replace(&mut thread.unseen, matches!(step.next, Next::Unseen(_)));
        thread.pc = match step.next {
            Next::At(next) | Next::Unseen(next) => Some(next),
            Next::Unfinished => Some(step.pc),
        };
        if let Some(before) = before {
            return Some(Wrong::Moved(before));
        }
        let Some(bits) = step.bits.filter(|_| !step.code.bytes().is_empty()) else {
            self.unreadable += 1;
            return None;
        };
        self.checked += 1;
        match self.machine {
            Machine::X86(vendor) => x86::wrong(step, bits, vendor, call),
            Machine::Arm64 => arm64::wrong(step, call, goes_on),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}: {:#x}: ", self.tid, self.pc)?;
        for byte in self.code.bytes() {
            write!(f, "{byte:02x} ")?;
        }
        match self.wrong {
            Wrong::Decode(error) => write!(f, "is no instruction ({error})")?,
            Wrong::Undefined(error) => write!(f, "is no instruction ({error})")?,
            Wrong::Length(next) => write!(f, "goes to {next:#x}")?,
            Wrong::Target(target) => write!(f, "goes to {target:#x}")?,
            Wrong::Condition { next, target } => write!(f, "goes to {next:#x} or {target:#x}")?,
            Wrong::Faulting => write!(f, "faults")?,
            Wrong::Unseen => write!(f, "runs alone")?,
            Wrong::Moved(before) => return write!(f, "the thread was at {before:#x}"),
        }
        match self.seen {
            Next::At(next) => write!(f, "; the processor went to {next:#x}"),
            Next::Unseen(_) => write!(f, "; the processor ran the next one with it"),
            Next::Unfinished => Ok(()),
        }
    }
}
