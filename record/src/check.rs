//! What the processor did, compared with what `insn` says of the bytes.

use std::collections::HashMap;
use std::fmt;

use insn::x86::{Bits, Encoding, Insn, Map, Mode, Prefixes, Vendor, decode};
use insn::{Flow, Target};

use crate::item::{Code, Event, EventKind, Header, Item, Next, Step};

/// Follows a trace and tells where `insn` and the processor differ.
#[derive(Debug)]
pub struct Checker {
    vendor: Vendor,
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
        Checker { vendor: header.vendor, threads: HashMap::new(), checked: 0, unreadable: 0 }
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
        let mode = Mode::new(bits, self.vendor).lenient();
        let insn = match (decode(step.code.bytes(), mode), step.next) {
            (Ok(insn), _) => insn,
            // It may have faulted for just that.
            (Err(_), Next::Unfinished) => return None,
            (Err(error), _) => return Some(Wrong::Decode(error)),
        };
        match step.next {
            Next::Unfinished => None,
            Next::Unseen(next) if runs_with_next(&insn) => flow(&insn, step.pc, next, None),
            Next::Unseen(_) => Some(Wrong::Unseen),
            Next::At(next) => flow(&insn, step.pc, next, call),
        }
    }
}

/// Whether it may be that the following instruction is executed in one step with this one: `mov ss` and `pop ss` hold the trap back
/// (SDM vol. 3A 6.8.3), and what Linux emulates for want of UMIP's privilege leaves no trap either.
pub(crate) fn runs_with_next(insn: &Insn) -> bool {
    if !matches!(insn.encoding(), Encoding::Legacy | Encoding::Rex2) {
        return false;
    }
    let extension = insn.modrm().map(|modrm| modrm >> 3 & 7);
    match (insn.map(), insn.opcode()) {
        (Map::OneByte, 0x17) => true,
        (Map::OneByte, 0x8e) => extension == Some(2),
        // sldt, str; sgdt, sidt, smsw.
        (Map::M0F, 0x00) => matches!(extension, Some(0 | 1)),
        (Map::M0F, 0x01) => matches!(extension, Some(0 | 1 | 4)),
        _ => false,
    }
}

/// Whether an instruction that goes on with the next may stand still: a string instruction with a rep prefix.
fn may_stand_still(insn: &Insn) -> bool {
    let prefixes = insn.prefixes();
    (prefixes.has(Prefixes::REP) || prefixes.has(Prefixes::REPNE))
        && matches!((insn.map(), insn.opcode()), (Map::OneByte, 0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf) | (Map::M0F, 0xa7 | 0xa6))
}

fn flow(insn: &Insn, pc: u64, seen: u64, call: Option<u64>) -> Option<Wrong> {
    let wrap = |address: u64| match insn.mode().bits {
        Bits::B64 => address,
        Bits::B32 => address & 0xffff_ffff,
        Bits::B16 => address & 0xffff,
    };
    let next = wrap(pc.wrapping_add(insn.len() as u64));
    let target = insn.target_address(pc);
    let length = || (seen != next).then_some(Wrong::Length(next));
    match insn.flow() {
        Flow::Next if may_stand_still(insn) && seen == pc => None,
        Flow::Next | Flow::Trap | Flow::Privileged => length(),
        Flow::Jump | Flow::Call | Flow::Far => target.filter(|&target| target != seen).map(Wrong::Target),
        Flow::ConditionalJump | Flow::Transaction => match target {
            Some(target) if seen != next && seen != target => Some(Wrong::Condition { next, target }),
            None if insn.target() == Target::None => length(),
            _ => None,
        },
        Flow::Return => None,
        Flow::Syscall | Flow::Interrupt if call.is_some_and(|number| is_sigreturn(insn, number)) => None,
        Flow::Interrupt => length(),
        Flow::Syscall if insn.opcode() == 0x05 && insn.mode().bits == Bits::B64 => length(),
        // The vdso of 32-bit programs is left at a place of its own.
        Flow::Syscall => None,
        Flow::Faulting => Some(Wrong::Faulting),
        _ => None,
    }
}

/// Whether a system call goes where a signal frame says (arch/x86/entry/syscalls).
fn is_sigreturn(insn: &Insn, number: u64) -> bool {
    let of_64_bits = insn.flow() == Flow::Syscall && insn.mode().bits == Bits::B64;
    if of_64_bits { number & !0x4000_0000 == 15 || number == 0x4000_0201 } else { matches!(number, 119 | 173) }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}: {:#x}: ", self.tid, self.pc)?;
        for byte in self.code.bytes() {
            write!(f, "{byte:02x} ")?;
        }
        match self.wrong {
            Wrong::Decode(error) => write!(f, "is no instruction ({error})")?,
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
