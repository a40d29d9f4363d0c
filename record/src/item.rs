//! What a trace consists of.

use insn::x86::{Bits, MAX_LEN, Vendor};

/// The header, which describes the whole trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The processor that it was recorded on.
    pub machine: Machine,
    /// Whether every step has registers.
    pub registers: bool,
}

/// What kind of processor it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86, of this vendor.
    X86(Vendor),
    /// AArch64.
    Arm64,
}

impl Machine {
    /// The names of its registers, by their place in [`Registers`].
    pub fn register_names(self) -> &'static [&'static str] {
        match self {
            Machine::X86(_) => &X86_NAMES,
            Machine::Arm64 => &ARM64_NAMES,
        }
    }
}

/// One thing after another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are steps")]
#[non_exhaustive]
pub enum Item {
    /// An instruction was executed.
    Step(Step),
    /// Something else happened to a thread.
    Event(Event),
    /// Code of a file was seen in a process.
    Mapping(Mapping),
}

/// One instruction executed by one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// The instruction's address.
    pub pc: u64,
    /// What lay there when it was executed.
    pub code: Code,
    /// The width of the code segment; `None` where it is not known.
    pub bits: Option<Bits>,
    /// Where the processor went.
    pub next: Next,
    /// What the registers held before it, where they are recorded.
    pub registers: Option<Registers>,
}

/// Where the processor went from an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// It was found there.
    At(u64),
    /// It ran several instructions at once (`mov ss`; what the kernel emulates; from a load-exclusive to its store): the other one is
    /// the next step, and stands there by the decoder's word, not the processor's.
    Unseen(u64),
    /// The instruction was not completed: it faulted, or the thread or its program ended in it.
    Unfinished,
}

/// The bytes from an instruction's address on: as many as were readable, fifteen at most, whatever the instruction's length is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Code {
    bytes: [u8; MAX_LEN],
    len: u8,
}

impl Code {
    /// The first fifteen of `bytes`.
    pub fn new(bytes: &[u8]) -> Code {
        let len = bytes.len().min(MAX_LEN);
        let mut code = Code { bytes: [0; MAX_LEN], len: len as u8 };
        code.bytes[..len].copy_from_slice(&bytes[..len]);
        code
    }
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Code({:02x?})", self.bytes())
    }
}

const X86_NAMES: [&str; 19] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
    "rflags", "fs_base", "gs_base",
];
const ARM64_NAMES: [&str; REGISTERS] = [
    "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
    "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp", "pstate",
];

/// The most registers that are recorded.
pub const REGISTERS: usize = 33;

/// General registers in the processor's numbering, flags, and of x86 the bases of fs and gs: see [`Machine::register_names`]. Those that
/// the machine does not have are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Registers(pub [u64; REGISTERS]);

impl Default for Registers {
    fn default() -> Registers {
        Registers([0; REGISTERS])
    }
}

/// Something that happened to a thread and is no instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The thread.
    pub tid: u32,
    /// Its process; 0 where nothing was said of the thread before.
    pub pid: u32,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// The thread is recorded from here on.
    Started {
        /// The thread that made it; 0 for the first of a trace.
        by: u32,
    },
    /// Its code segment has this width from here on; `None`: not known, and no code is recorded.
    Bits(Option<Bits>),
    /// It enters the kernel with this number. The instruction follows.
    Syscall(u64),
    /// A signal was given to it. Where there is a handler the next instruction is the handler's first.
    Signal {
        /// Its number.
        number: u32,
        /// Whether the instruction at the thread's pc raised it (a fault), and not another thread, process or the kernel.
        fault: bool,
    },
    /// Its process runs another program, of which the next instruction is the first. Other threads of the process are gone.
    Exec,
    /// It ended; the status is the process' where it was the last thread.
    Exited(u32),
    /// It was killed by this signal.
    Killed(u32),
    /// It runs on and is no longer recorded.
    Released,
    /// The kernel or another tracer set its pc: to run a system call again, for one.
    Moved,
}

/// A file that a process has mapped with code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// The process.
    pub pid: u32,
    /// First address.
    pub start: u64,
    /// Behind the last address.
    pub end: u64,
    /// The lowest address of the file's mappings side by side with this one: where its ELF header lies.
    pub base: u64,
    /// The path as the kernel tells it; `[vdso]` and its like included.
    pub path: Vec<u8>,
}
