//! What the processor did, compared with what `insn` says of the bytes.

mod arm64;
mod mismatch;
mod x86;

use std::collections::HashMap;

pub use mismatch::{Mismatch, Wrong};

use crate::item::{Event, EventKind, Header, Item, Machine, Next, Step};

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
