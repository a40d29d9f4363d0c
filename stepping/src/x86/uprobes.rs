//! What uprobes do with an instruction (arch/x86/kernel/uprobes.c of Linux 6.18 to 7.3).
//!
//! The kernel looks at one opcode byte, whatever map the byte belongs to: behind VEX, EVEX, XOP and REX2 it takes the byte for one of the
//! one-byte map. Opcodes behind 0F are looked at for `jcc` alone.

use core::fmt;

use insn::x86::{Bits, Encoding, Insn, Map};

use crate::Uprobe;

/// Why uprobes refuse an instruction of x86.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UprobeRefusal {
    /// The instruction has a prefix `lock`, or one that chooses es, cs, ss or ds. `notrack` and branch hints are such prefixes.
    Prefix,
    /// The instruction loads ss.
    StackSegment,
    /// The opcode is not on the kernel's list.
    Opcode,
    /// The instruction is a relative branch with prefix 66.
    Branch16,
}

/// What uprobes do wrong at an instruction of x86.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UprobeDeviation {
    /// The kernel takes the instruction for `nop` and skips it. Linux 6.18 does so, 7.3 does not.
    Skipped,
    /// The kernel takes the instruction for a jump, skips it, and may jump by its immediate.
    Jumps,
    /// The kernel takes the instruction for a call: it pushes an address and skips the instruction.
    Calls,
    /// The kernel takes the instruction for a return or a far jump, and leaves the thread in the copy.
    StaysInCopy,
    /// The kernel takes the instruction for a far call, and writes a return address into the top of the stack.
    WritesReturnAddress,
    /// The kernel takes the instruction for `popf`, and leaves the trap flag set: SIGTRAP follows.
    KeepsTrapFlag,
    /// The instruction stores the trap flag that the kernel steps by. If the program restores these flags, SIGTRAP follows.
    StoresTrapFlag,
    /// The instruction stores the address behind its copy in rcx, and the trap flag in r11.
    StoresCopyAddress,
    /// Each repetition of the string instruction is a hit.
    CountsRepetitions,
}

/// Opcodes that the kernel lists neither in 64-bit nor in 32-bit code, as ranges.
const UNLISTED: [(u8, u8); 11] = [
    (0x07, 0x07),
    (0x17, 0x17),
    (0x1f, 0x1f),
    (0x6c, 0x6f),
    (0xcc, 0xcf),
    (0xe4, 0xe7),
    (0xec, 0xef),
    (0xf1, 0xf1),
    (0xf4, 0xf4),
    (0xfa, 0xfa),
    (0xfb, 0xfb),
];
/// Opcodes that it lists in 32-bit code alone, as ranges.
const UNLISTED_64: [(u8, u8); 12] = [
    (0x06, 0x06),
    (0x0e, 0x0e),
    (0x16, 0x16),
    (0x1e, 0x1e),
    (0x27, 0x27),
    (0x2f, 0x2f),
    (0x37, 0x37),
    (0x3f, 0x3f),
    (0x60, 0x62),
    (0x82, 0x82),
    (0x9a, 0x9a),
    (0xd4, 0xd6),
];
/// The last one of those.
const FAR_JUMP: u8 = 0xea;

/// What uprobes do with a breakpoint on the instruction, if the kernel's decoder knows it. Where that decoder is older than the instruction,
/// they refuse it. It reads another instruction where a further prefix follows a REX prefix, which no compiler writes.
pub fn uprobe(insn: &Insn) -> Uprobe<UprobeRefusal, UprobeDeviation> {
    match refusal(insn) {
        Some(reason) => Uprobe::Refused(reason),
        None => deviation(insn).map_or(Uprobe::Passed, Uprobe::Wrong),
    }
}

/// The opcode byte that the kernel looks at.
pub(super) fn first_byte(insn: &Insn) -> u8 {
    if insn.encoding() == Encoding::Legacy && insn.map() != Map::OneByte { 0x0f } else { insn.opcode() }
}

/// Whether the opcode byte is that of the one-byte map.
pub(super) fn is_one_byte(insn: &Insn) -> bool {
    insn.map() == Map::OneByte
}

fn refusal(insn: &Insn) -> Option<UprobeRefusal> {
    let first = first_byte(insn);
    let has = |wanted: &[u8]| legacy_prefixes(insn).any(|byte| wanted.contains(&byte));
    if has(&[0x26, 0x2e, 0x36, 0x3e, 0xf0]) {
        return Some(UprobeRefusal::Prefix);
    }
    if first == 0x8e && insn.modrm().is_some_and(|modrm| modrm >> 3 & 7 == 2) {
        return Some(UprobeRefusal::StackSegment);
    }
    let is_in = |ranges: &[(u8, u8)]| ranges.iter().any(|(start, end)| (*start..=*end).contains(&first));
    if is_in(&UNLISTED) || insn.mode().bits == Bits::B64 && (is_in(&UNLISTED_64) || first == FAR_JUMP) {
        return Some(UprobeRefusal::Opcode);
    }
    let is_near_jcc = insn.encoding() == Encoding::Legacy && insn.map() == Map::M0F && insn.opcode() & 0xf0 == 0x80;
    let is_branch = matches!(first, 0x70..=0x7f | 0xe8 | 0xe9 | 0xeb) || is_near_jcc;
    (is_branch && has(&[0x66])).then_some(UprobeRefusal::Branch16)
}

/// The legacy prefixes. A REX prefix or a longer one ends them, and none of its first bytes is one of them.
pub(super) fn legacy_prefixes(insn: &Insn) -> impl Iterator<Item = u8> {
    insn.bytes().iter().take(insn.prefix_len()).copied().take_while(|byte| is_legacy_prefix(*byte))
}

fn is_legacy_prefix(byte: u8) -> bool {
    matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3)
}

fn deviation(insn: &Insn) -> Option<UprobeDeviation> {
    let first = first_byte(insn);
    if !is_one_byte(insn) {
        return match first {
            0x0f if insn.map() == Map::M0F && insn.opcode() == 0x05 => Some(UprobeDeviation::StoresCopyAddress),
            0x90 => Some(UprobeDeviation::Skipped),
            0x70..=0x7f | 0xe9 | 0xeb => Some(UprobeDeviation::Jumps),
            0xe8 => Some(UprobeDeviation::Calls),
            0xc2 | 0xc3 | 0xca | 0xcb | FAR_JUMP => Some(UprobeDeviation::StaysInCopy),
            0x9a => Some(UprobeDeviation::WritesReturnAddress),
            0x9d => Some(UprobeDeviation::KeepsTrapFlag),
            _ => None,
        };
    }
    let is_repeated = insn.prefixes().has(insn::x86::Prefixes::REP | insn::x86::Prefixes::REPNE);
    match first {
        // `xchg` of rax and a register that REX.B extends.
        0x90 if insn.rm() != 0 => Some(UprobeDeviation::Skipped),
        0x9c => Some(UprobeDeviation::StoresTrapFlag),
        0xa4..=0xa7 | 0xaa..=0xaf if is_repeated => Some(UprobeDeviation::CountsRepetitions),
        _ => None,
    }
}

impl fmt::Display for UprobeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UprobeRefusal::Prefix => "prefix lock, es, cs, ss or ds",
            UprobeRefusal::StackSegment => "load of ss",
            UprobeRefusal::Opcode => "opcode not on the kernel's list",
            UprobeRefusal::Branch16 => "relative branch with prefix 66",
        })
    }
}

impl fmt::Display for UprobeDeviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UprobeDeviation::Skipped => "taken for nop and skipped by Linux 6.18",
            UprobeDeviation::Jumps => "taken for a jump and skipped",
            UprobeDeviation::Calls => "taken for a call: an address is pushed",
            UprobeDeviation::StaysInCopy => "taken for a return: the thread stays in the copy",
            UprobeDeviation::WritesReturnAddress => "taken for a far call: the top of the stack is overwritten",
            UprobeDeviation::KeepsTrapFlag => "taken for popf: SIGTRAP follows",
            UprobeDeviation::StoresTrapFlag => "stores the trap flag",
            UprobeDeviation::StoresCopyAddress => "stores the address of its copy in rcx, and the trap flag in r11",
            UprobeDeviation::CountsRepetitions => "each repetition is a hit",
        })
    }
}
