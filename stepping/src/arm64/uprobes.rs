//! What uprobes do with an instruction (arch/arm64/kernel/probes/decode-insn.c and uprobes.c of Linux 6.12 to 7.3).
//!
//! The kernel refuses some encodings, carries out some branches and address computations itself, and steps a copy of everything else, after
//! which it sets the pc behind the instruction.

use core::fmt;

use insn::Flow;
use insn::arm64::Insn;

use crate::Uprobe;

/// Why uprobes refuse an instruction of A64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UprobeRefusal {
    /// The instruction enters the kernel or a debugger: `svc`, `brk` and similar.
    Exception,
    /// The instruction is a branch that authenticates its target, or `eret`.
    AuthenticatedBranch,
    /// The instruction writes a system register, or reads the interrupt mask.
    SystemRegister,
    /// The instruction is a hint that the kernel's list lacks, such as `yield` and `autiasp`.
    Hint,
    /// The instruction loads a literal to a general register, or prefetches it.
    Literal,
    /// The instruction is a load or store of an exclusive sequence, or `casp`.
    Exclusive,
    /// The instruction copies or sets memory (MOPS).
    MemoryCopy,
}

/// What uprobes do wrong at an instruction of A64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UprobeDeviation {
    /// The instruction uses its own address, and runs as a copy elsewhere: it loads from another place, or computes with another address.
    UsesCopyAddress,
    /// The instruction is a branch that the kernel does not know: it is never taken.
    NeverBranches,
}

/// Encodings as mask and value, and why they are refused. The first that matches decides.
const REFUSED: [(u32, u32, UprobeRefusal); 12] = [
    (0xff00_0000, 0xd400_0000, UprobeRefusal::Exception),
    (0xfeff_f800, 0xd61f_0800, UprobeRefusal::AuthenticatedBranch),
    (0xfeff_f800, 0xd63f_0800, UprobeRefusal::AuthenticatedBranch),
    (0xffff_fbff, 0xd65f_0bff, UprobeRefusal::AuthenticatedBranch),
    (0xffff_fbff, 0xd69f_0bff, UprobeRefusal::AuthenticatedBranch),
    (0xffff_ffff, 0xd69f_03e0, UprobeRefusal::AuthenticatedBranch),
    (0xfff8_f01f, 0xd500_401f, UprobeRefusal::SystemRegister),
    (0xfff0_0000, 0xd510_0000, UprobeRefusal::SystemRegister),
    (0xffff_ffe0, 0xd53b_4220, UprobeRefusal::SystemRegister),
    (0xbf00_0000, 0x1800_0000, UprobeRefusal::Literal),
    (0x3f80_0000, 0x0800_0000, UprobeRefusal::Exclusive),
    (0x3b20_0c00, 0x1900_0400, UprobeRefusal::MemoryCopy),
];
/// Further literals: `ldrsw` and `prfm`.
const MORE_LITERALS: [u32; 2] = [0x9800_0000, 0xd800_0000];
/// Hints by mask and value, and those among them that are accepted, by bits 11 to 5.
const HINT: (u32, u32) = (0xffff_f01f, 0xd503_201f);
const ACCEPTED_HINTS: [u32; 12] = [0x00, 0x07, 0x08, 0x0a, 0x18, 0x19, 0x1a, 0x1b, 0x20, 0x22, 0x24, 0x26];
/// Encodings that the kernel carries out itself, as mask and value: `adr`, `adrp`, `b`, `bl`, `cbz`, `cbnz`, `tbz`, `tbnz`, `b.cond`,
/// `br`, `blr`, `ret`.
const SIMULATED: [(u32, u32); 7] = [
    (0x1f00_0000, 0x1000_0000),
    (0x7c00_0000, 0x1400_0000),
    (0x7c00_0000, 0x3400_0000),
    (0xff00_0000, 0x5400_0000),
    (0xffff_fc1f, 0xd61f_0000),
    (0xffff_fc1f, 0xd63f_0000),
    (0xffff_fc1f, 0xd65f_0000),
];

/// What uprobes do with a breakpoint on the instruction.
pub fn uprobe(insn: &Insn) -> Uprobe<UprobeRefusal, UprobeDeviation> {
    let word = insn.word();
    let is = |(mask, value): (u32, u32)| word & mask == value;
    if let Some((.., reason)) = REFUSED.iter().find(|(mask, value, _)| is((*mask, *value))) {
        return Uprobe::Refused(*reason);
    }
    if MORE_LITERALS.contains(&(word & 0xff00_0000)) {
        return Uprobe::Refused(UprobeRefusal::Literal);
    }
    if is(HINT) && !ACCEPTED_HINTS.contains(&(word >> 5 & 0x7f)) {
        return Uprobe::Refused(UprobeRefusal::Hint);
    }
    if is_simulated(word) {
        return Uprobe::Passed;
    }
    match insn.flow() {
        Flow::Jump | Flow::ConditionalJump | Flow::Call | Flow::Return => Uprobe::Wrong(UprobeDeviation::NeverBranches),
        _ if insn.pc_relative().is_some() => Uprobe::Wrong(UprobeDeviation::UsesCopyAddress),
        _ => Uprobe::Passed,
    }
}

/// Whether the kernel carries out the instruction itself.
pub(super) fn is_simulated(word: u32) -> bool {
    SIMULATED.iter().any(|(mask, value)| word & mask == *value)
}

impl fmt::Display for UprobeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UprobeRefusal::Exception => "enters the kernel or a debugger",
            UprobeRefusal::AuthenticatedBranch => "branch that authenticates its target",
            UprobeRefusal::SystemRegister => "access to a system register",
            UprobeRefusal::Hint => "hint not on the kernel's list",
            UprobeRefusal::Literal => "load of a literal to a general register",
            UprobeRefusal::Exclusive => "exclusive access",
            UprobeRefusal::MemoryCopy => "memory copy or set",
        })
    }
}

impl fmt::Display for UprobeDeviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UprobeDeviation::UsesCopyAddress => "uses the address of its copy",
            UprobeDeviation::NeverBranches => "branch that the kernel does not know and never takes",
        })
    }
}
