//! What kprobes do at an instruction of a kernel (arch/arm64/kernel/probes/decode-insn.c and kprobes.c, and kernel/kprobes.c, of Linux 7.3).
//!
//! The kernel does for a kprobe what it does for a uprobe, but that it carries out loads of literals itself. No kprobe is boosted or optimised
//! by a jump: a hit of a copy costs two traps, each other one a single trap.

use core::fmt;

use insn::arm64::Insn;

use super::uprobes::{UprobeDeviation, UprobeRefusal, is_simulated, uprobe};
use crate::kprobe::{has, within};
use crate::{Kprobe, KprobeKernel, Uprobe};

/// Why kprobes refuse an address of A64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KprobeRefusal {
    /// The instruction is one that uprobes refuse too.
    Instruction(UprobeRefusal),
    /// The address is no multiple of four, or lies outside of the code.
    NotAnInstruction,
    /// A load-exclusive stands at the address given, before the instruction, and no store-exclusive between them.
    ExclusiveRegion(u64),
    /// No kprobe may be set in the function: [`KprobeKernel::blacklist`].
    Blacklisted,
    /// The kernel rewrites the instruction: [`KprobeKernel::patched`].
    Patched,
    /// The instruction is that of a `BUG` or `WARN`: [`KprobeKernel::bugs`].
    Bug,
    /// A function calls ftrace here: [`KprobeKernel::ftrace`].
    Traced,
    /// The exception table names the instruction: [`KprobeKernel::fixups`].
    Fixup,
}

/// What kprobes do wrong at an instruction of A64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KprobeDeviation {
    /// The instruction uses its own address, and runs as a copy elsewhere: it loads from another place.
    UsesCopyAddress,
    /// The instruction is a branch that the kernel does not know: it branches from its copy to another place.
    BranchesFromCopy,
    /// The word is no instruction that this crate decodes. The kernel lets a thread run a copy of it.
    Undecodable,
}

/// Loads of a literal to a general register, as mask and value: `ldr` and `ldrsw`.
const LITERALS: [(u32, u32); 2] = [(0xbf00_0000, 0x1800_0000), (0xff00_0000, 0x9800_0000)];
/// `nop`.
const NOP: u32 = 0xd503_201f;
/// Loads and stores of exclusive sequences, as the kernel looks for them: mask, and values.
const EXCLUSIVE: u32 = 0x3fc0_0000;
const LOAD_EXCLUSIVE: u32 = 0x0840_0000;
const STORE_EXCLUSIVE: u32 = 0x0800_0000;
/// How many words before the instruction the kernel looks for a load-exclusive.
const ATOMIC_WORDS: usize = 32;

/// What kprobes do with an instruction of the kernel, by its word alone; [`kprobe_at`] knows the address too.
pub fn kprobe(insn: &Insn) -> Kprobe<KprobeRefusal, KprobeDeviation> {
    let word = insn.word();
    if word == NOP || LITERALS.iter().any(|(mask, value)| word & mask == *value) {
        return Kprobe::Emulated;
    }
    match uprobe(insn) {
        Uprobe::Refused(reason) => Kprobe::Refused(KprobeRefusal::Instruction(reason)),
        Uprobe::Wrong(UprobeDeviation::UsesCopyAddress) => Kprobe::Wrong(KprobeDeviation::UsesCopyAddress),
        Uprobe::Wrong(UprobeDeviation::NeverBranches) => Kprobe::Wrong(KprobeDeviation::BranchesFromCopy),
        Uprobe::Passed if is_simulated(word) => Kprobe::Emulated,
        Uprobe::Passed => Kprobe::Stepped,
    }
}

/// What kprobes do at the address `pc` in a function of the kernel.
///
/// `code` has the words from the function's first instruction on, which is at `start`: the code that stands in memory, without breakpoints.
pub fn kprobe_at(
    code: &[u32],
    start: u64,
    pc: u64,
    kernel: &KprobeKernel<'_>,
) -> Kprobe<KprobeRefusal, KprobeDeviation> {
    let reserved = [
        (pc & 3 != 0, KprobeRefusal::NotAnInstruction),
        (has(kernel.ftrace, pc), KprobeRefusal::Traced),
        (within(kernel.blacklist, pc), KprobeRefusal::Blacklisted),
        (within(kernel.patched, pc), KprobeRefusal::Patched),
        (has(kernel.bugs, pc), KprobeRefusal::Bug),
        (has(kernel.fixups, pc), KprobeRefusal::Fixup),
    ];
    if let Some((_, reason)) = reserved.into_iter().find(|(is_reserved, _)| *is_reserved) {
        return Kprobe::Refused(reason);
    }
    let index = usize::try_from(pc.wrapping_sub(start) / 4).unwrap_or(usize::MAX);
    let Some(word) = code.get(index) else { return Kprobe::Refused(KprobeRefusal::NotAnInstruction) };
    let Ok(insn) = insn::arm64::decode(*word) else { return Kprobe::Wrong(KprobeDeviation::Undecodable) };
    let way = kprobe(&insn);
    let before = code.get(..index).unwrap_or_default().iter().rev().take(ATOMIC_WORDS);
    let is_exclusive = |word: u32| matches!(word & EXCLUSIVE, LOAD_EXCLUSIVE | STORE_EXCLUSIVE);
    match before.enumerate().find(|(_, word)| is_exclusive(**word)) {
        Some((words, load)) if load & EXCLUSIVE == LOAD_EXCLUSIVE && !matches!(way, Kprobe::Refused(_)) => {
            let distance = (words as u64).wrapping_add(1).wrapping_mul(4);
            Kprobe::Refused(KprobeRefusal::ExclusiveRegion(pc.wrapping_sub(distance)))
        }
        _ => way,
    }
}

impl fmt::Display for KprobeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KprobeRefusal::Instruction(reason) => return reason.fmt(f),
            KprobeRefusal::NotAnInstruction => "no instruction begins here",
            KprobeRefusal::ExclusiveRegion(at) => return write!(f, "behind the load-exclusive at {at:#x}"),
            KprobeRefusal::Blacklisted => "no kprobe may be set in the function",
            KprobeRefusal::Patched => "the kernel rewrites the instruction (jump label)",
            KprobeRefusal::Bug => "BUG or WARN",
            KprobeRefusal::Traced => "call of ftrace",
            KprobeRefusal::Fixup => "the instruction may fault and continue elsewhere",
        })
    }
}

impl fmt::Display for KprobeDeviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KprobeDeviation::UsesCopyAddress => "uses the address of its copy",
            KprobeDeviation::BranchesFromCopy => "branch that the kernel does not know: taken from its copy",
            KprobeDeviation::Undecodable => "no instruction",
        })
    }
}
