//! What kprobes do with an instruction (arch/x86/kernel/kprobes/core.c of Linux 7.3).
//!
//! The kernel looks at opcode bytes, whatever map they belong to: the opcode behind VEX, EVEX, XOP and REX2 is taken for one of the one-byte map.

use core::fmt;

use insn::x86::{Encoding, Insn, Map, Prefixes};
use insn::{Flow, Target};

use super::uprobes::{first_byte, is_one_byte, legacy_prefixes};
use crate::{Kprobe, KprobeKernel};

/// Why kprobes refuse an address of x86.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KprobeRefusal {
    /// The instruction is a trap or an interrupt by definition: `int3`, `int1`, `int n`, `into`, `ud0`, `ud1`, `ud2`.
    Exception,
    /// The instruction loads ss.
    StackSegment,
    /// The instruction is a far jump, a far call or `iret`.
    Far,
    /// The instruction is a jump or call through memory, or with an address size that is not the mode's.
    Indirect,
    /// The instruction is one of the group of `vmcall`, such as `vmlaunch`.
    Virtualization,
    /// No kprobe may be set in the function: [`KprobeKernel::blacklist`].
    Blacklisted,
    /// The kernel rewrites the instruction: [`KprobeKernel::patched`].
    Patched,
    /// The instruction is that of a `BUG` or `WARN`: [`KprobeKernel::bugs`].
    Bug,
    /// No instruction begins at the address, counted from the first one of the function.
    NotAnInstruction,
    /// The bytes at the address given, from the function's first instruction to the kprobe, are no instruction.
    Undecodable(u64),
}

/// What kprobes do wrong at an instruction of x86.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KprobeDeviation {
    /// The kernel takes the opcode for that of another instruction, which it does: it branches, or changes flags or stack.
    OtherInstruction,
    /// The kernel tests the count of `loop` before it subtracts one, not after.
    LoopCount,
    /// The kernel does a return and leaves the arguments or the selector on the stack.
    ReturnKeepsStack,
    /// The kernel pushes or pops 64 bits (32 in 32-bit code), and the instruction 16.
    StackSize,
    /// The processor halts in the copy with interrupts masked.
    Halts,
    /// The thread leaves the copy before the trap behind it.
    LeavesCopy,
}

/// Opcodes of the map 0F of which the copy may be boosted: a row for each high digit, a bit for each low one.
const BOOSTED_0F: [u16; 16] = [
    0x034c, 0x8000, 0x000f, 0x0002, 0xffff, 0, 0xcfff, 0xc0f0, 0, 0xffff, 0xbb3b, 0xf8ff, 0xff03, 0xbb2e, 0xbb26,
    0x772e,
];
/// Opcodes of one byte of which the copy is not boosted, as ranges.
const NOT_BOOSTED: [(u8, u8); 10] = [
    (0x62, 0x62),
    (0x70, 0x7f),
    (0x9a, 0x9a),
    (0xcc, 0xce),
    (0xd6, 0xd6),
    (0xd8, 0xdf),
    (0xe0, 0xe3),
    (0xe8, 0xe9),
    (0xeb, 0xeb),
    (0xf0, 0xf4),
];
/// The longest instruction whose copy has room for the jump behind it, in bytes.
const LONGEST_BOOSTED: usize = 11;

/// What kprobes do with an instruction of the kernel, by its bytes alone; [`kprobe_at`](super::kprobe_at()) knows the address too. Of `kernel`
/// the field `preemption` counts.
///
/// The kernel's decoder reads another instruction where a further prefix follows a REX prefix, which no compiler writes.
pub fn kprobe(insn: &Insn, kernel: &KprobeKernel<'_>) -> Kprobe<KprobeRefusal, KprobeDeviation> {
    classify(insn, !kernel.preemption)
}

/// What kprobes do with an instruction. `may_boost`: kernel and address allow that its copy jumps back.
pub(super) fn classify(insn: &Insn, may_boost: bool) -> Kprobe<KprobeRefusal, KprobeDeviation> {
    if let Some(reason) = refusal(insn) {
        return Kprobe::Refused(reason);
    }
    let is_boosted = may_boost && is_boostable(insn) && insn.len() <= LONGEST_BOOSTED;
    let (way, deviation) = match (is_boosted, emulation(insn)) {
        (true, _) => (Kprobe::Boosted, is_transaction(insn).then_some(KprobeDeviation::LeavesCopy)),
        (false, Some(deviation)) => (Kprobe::Emulated, deviation),
        (false, None) => (Kprobe::Stepped, stepping_deviation(insn)),
    };
    deviation.map_or(way, Kprobe::Wrong)
}

/// The byte behind an opcode byte 0F, as the kernel reads it: 0 where there is none.
fn second_byte(insn: &Insn) -> u8 {
    match insn.map() {
        _ if insn.encoding() != Encoding::Legacy => 0,
        Map::M0F => insn.opcode(),
        Map::M0F38 => 0x38,
        Map::M0F3A => 0x3a,
        _ => 0,
    }
}

/// The field `reg` of the modrm byte: 0 where there is none.
fn reg(insn: &Insn) -> u8 {
    insn.modrm().unwrap_or(0) >> 3 & 7
}

/// Whether the modrm byte names a register.
fn is_register(insn: &Insn) -> bool {
    insn.modrm().is_some_and(|modrm| modrm >> 6 == 3)
}

/// Whether the copy may end with a jump back, by the bytes alone.
pub(super) fn is_boostable(insn: &Insn) -> bool {
    let first = first_byte(insn);
    if insn.encoding() == Encoding::Legacy && insn.map() != Map::OneByte {
        let row = BOOSTED_0F.get(usize::from(insn.opcode() >> 4)).copied().unwrap_or(0);
        return insn.map() == Map::M0F && row >> (insn.opcode() & 15) & 1 == 1;
    }
    if legacy_prefixes(insn).any(|prefix| matches!(prefix, 0x2e | 0x67)) {
        return false;
    }
    let is_in = |(start, end): &(u8, u8)| (*start..=*end).contains(&first);
    match first {
        _ if NOT_BOOSTED.iter().any(is_in) => false,
        // These groups hold what the manuals reserve.
        0xc0 | 0xc1 | 0xd0..=0xd3 => reg(insn) != 6,
        0xf6 | 0xf7 => reg(insn) != 1,
        0xfe => reg(insn) < 2,
        0xff => matches!(reg(insn), 0 | 1 | 4),
        _ => true,
    }
}

/// Why the instruction is refused, by its bytes alone.
pub(super) fn refusal(insn: &Insn) -> Option<KprobeRefusal> {
    let (first, second) = (first_byte(insn), second_byte(insn));
    match first {
        0xcc | 0xcd | 0xce | 0xf1 => Some(KprobeRefusal::Exception),
        0x0f if matches!(second, 0xff | 0xb9 | 0x0b) => Some(KprobeRefusal::Exception),
        0x0f if second == 0x01 && reg(insn) == 0 && is_register(insn) => Some(KprobeRefusal::Virtualization),
        0x17 => Some(KprobeRefusal::StackSegment),
        0x8e if reg(insn) == 2 => Some(KprobeRefusal::StackSegment),
        0x9a | 0xea | 0xcf => Some(KprobeRefusal::Far),
        0xff if matches!(reg(insn), 3 | 5) => Some(KprobeRefusal::Far),
        0xff if matches!(reg(insn), 2 | 4) => {
            let is_whole = !legacy_prefixes(insn).any(|prefix| prefix == 0x67);
            (!is_register(insn) || !is_whole).then_some(KprobeRefusal::Indirect)
        }
        _ => None,
    }
}

/// Whether the kernel does the instruction on the registers, and what it does wrong then.
fn emulation(insn: &Insn) -> Option<Option<KprobeDeviation>> {
    let first = first_byte(insn);
    let is_emulated = match first {
        0x70..=0x7f | 0x9c | 0x9d | 0xc2 | 0xc3 | 0xca | 0xcb | 0xe0..=0xe3 | 0xe8 | 0xe9 | 0xeb | 0xfa | 0xfb => true,
        0x0f => second_byte(insn) & 0xf0 == 0x80,
        0xff => matches!(reg(insn), 2 | 4),
        _ => false,
    };
    let has = |prefix| insn.prefixes().has(prefix);
    let deviation = match first {
        _ if first != 0x0f && !is_one_byte(insn) => Some(KprobeDeviation::OtherInstruction),
        0xe0..=0xe2 => Some(KprobeDeviation::LoopCount),
        0xc2 | 0xca | 0xcb => Some(KprobeDeviation::ReturnKeepsStack),
        0x9c | 0x9d if has(Prefixes::OPERAND_SIZE) => Some(KprobeDeviation::StackSize),
        _ => None,
    };
    is_emulated.then_some(deviation)
}

/// The fault of the kernel at an instruction that runs as a copy with a trap behind it.
fn stepping_deviation(insn: &Insn) -> Option<KprobeDeviation> {
    let is_0f = insn.encoding() == Encoding::Legacy && insn.map() == Map::M0F;
    match (insn.opcode(), insn.flow()) {
        (0xf4, _) if insn.encoding() == Encoding::Legacy && is_one_byte(insn) => Some(KprobeDeviation::Halts),
        // `sysret`, `sysexit` and `rsm`.
        (0x07 | 0x35 | 0xaa, _) if is_0f => Some(KprobeDeviation::LeavesCopy),
        (_, Flow::Jump | Flow::ConditionalJump | Flow::Call | Flow::Return | Flow::Syscall | Flow::Far) => {
            Some(KprobeDeviation::LeavesCopy)
        }
        _ => is_transaction(insn).then_some(KprobeDeviation::LeavesCopy),
    }
}

/// Whether the instruction is `xbegin`, whose abort handler lies at a distance from the instruction.
fn is_transaction(insn: &Insn) -> bool {
    insn.flow() == Flow::Transaction && matches!(insn.target(), Target::Relative(_))
}

impl fmt::Display for KprobeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KprobeRefusal::Exception => "traps or interrupts by definition",
            KprobeRefusal::StackSegment => "load of ss",
            KprobeRefusal::Far => "far branch",
            KprobeRefusal::Indirect => "indirect branch through memory",
            KprobeRefusal::Virtualization => "instruction of virtual machines",
            KprobeRefusal::Blacklisted => "no kprobe may be set in the function",
            KprobeRefusal::Patched => "the kernel rewrites the instruction (jump label, static call)",
            KprobeRefusal::Bug => "BUG or WARN",
            KprobeRefusal::NotAnInstruction => "no instruction begins here",
            KprobeRefusal::Undecodable(at) => return write!(f, "no instruction at {at:#x}"),
        })
    }
}

impl fmt::Display for KprobeDeviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KprobeDeviation::OtherInstruction => "taken for another instruction, which the kernel does",
            KprobeDeviation::LoopCount => "the count is tested before it is decreased",
            KprobeDeviation::ReturnKeepsStack => "done as a return that pops an address alone",
            KprobeDeviation::StackSize => "done with the stack of a word",
            KprobeDeviation::Halts => "halts with interrupts masked",
            KprobeDeviation::LeavesCopy => "leaves its copy before the trap behind it",
        })
    }
}
