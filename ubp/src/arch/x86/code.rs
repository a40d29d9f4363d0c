//! Instructions of x86, and the breakpoint instruction.

pub(crate) use insn::x86::Insn;
pub use insn::x86::{Error, MAX_LEN, Mode, Reg, decode};
#[cfg(feature = "std")]
use insn::x86::{Map, Prefixes};
#[cfg(feature = "std")]
use insn::{Flow, Target};
pub use stepping::x86::{Code, Emulate, Place, Refusal, Slot, plan};

/// The breakpoint instruction, `int3`.
pub const BREAKPOINT: [u8; 1] = [0xcc];
/// The alignment of instructions in bytes.
pub const ALIGNMENT: u64 = 1;
/// Distance in bytes from the breakpoint instruction to the pc of a thread that executed it.
pub const BEHIND: u64 = 1;
/// Whether the code of a slot can stand for a branch as a whole: only shadow stacks stay as they were.
pub const WHOLE_BRANCHES: bool = true;

/// Bytes of code before and after an instruction that decide whether it can carry a breakpoint.
pub const MARGIN: u64 = 0;

/// Why the code around the instruction at `site`, which is `offset` bytes into `code`, does not permit a breakpoint; on x86 it always does.
pub fn refusal(_code: &[u8], _offset: usize, _site: u64) -> Option<Refusal> {
    None
}

/// A mode for tests.
#[cfg(test)]
pub(crate) const MODE: Mode = Mode::AMD_64;

/// The length of an instruction in bytes.
pub fn length(insn: &Insn) -> usize {
    insn.len()
}

/// Whether a debugger passes the instruction as a whole by running to the next one: a call, though not one of the next instruction, or a
/// repeated string instruction.
#[cfg(feature = "std")]
pub(crate) fn is_passed_whole(insn: &Insn) -> bool {
    let repeated = insn.prefixes().has(Prefixes::REP) || insn.prefixes().has(Prefixes::REPNE);
    match insn.flow() {
        Flow::Call => insn.target() != Target::Relative(0),
        // ins, outs; movs, cmps; stos, lods, scas.
        Flow::Next => {
            repeated && insn.map() == Map::OneByte && matches!(insn.opcode(), 0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf)
        }
        _ => false,
    }
}

/// Whether the instruction makes a system call.
#[cfg(feature = "std")]
pub(crate) fn enters_kernel(insn: &Insn) -> bool {
    matches!(insn.flow(), Flow::Syscall | Flow::Interrupt)
}
