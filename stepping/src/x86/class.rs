//! Classes of instructions by how threads pass a breakpoint on them.

use insn::x86::{Bits, Encoding, Insn, Map, Memory, Prefixes, Reg, Vendor};
use insn::{Flow, Target};

use super::Refusal;

/// How threads pass a breakpoint on an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Emulated: only rip moves.
    Nop,
    /// Emulated: the program's own `int3`.
    Breakpoint,
    /// Emulated: `pushf`.
    PushFlags,
    /// Emulated: `popf`.
    PopFlags,
    /// Emulated: near jump.
    Jump(Destination),
    /// Emulated: `jcc`, by the low four bits of its opcode.
    ConditionalJump(u8, Destination),
    /// Emulated: `loopne`, `loope`, `loop`, `jcxz`.
    Loop(Loop, Destination),
    /// Emulated: near call.
    Call(Destination),
    /// Emulated: near return that frees this number of bytes of arguments.
    Return(u16),
    /// A copy, then a jump back.
    Copy,
    /// A copy that changes the code segment; control does not return to the slot.
    Leave,
    /// A copy of a far call, which pushes a slot address of this size in bytes.
    FarCall(u8),
    /// `syscall` in 64-bit mode, which stores a slot address in rcx.
    Syscall,
    /// `int n`: the kernel restarts a system call at the instruction's last two bytes.
    Interrupt,
    /// A copy of an instruction that UMIP forbids in user mode and that the kernel emulates: a single-step trap is delayed until the next
    /// instruction is complete.
    TrapHeldOff,
    /// A copy of `mov ss` or `pop ss`, which delay a single-step trap until the next instruction is complete.
    StackSegment,
    /// `xbegin`, with the distance of its abort handler in bytes.
    Transaction(i64),
    /// Cannot carry a breakpoint.
    Refused(Refusal),
}

/// The destination of a near branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// A distance in bytes from the end of the instruction.
    Relative(i64),
    /// An address.
    Absolute(u64),
    /// The value of a register.
    Register(Reg),
    /// The value in memory.
    Memory(Memory),
}

/// The branches on the count register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loop {
    /// `loopne`.
    WhileNotZero,
    /// `loope`.
    WhileZero,
    /// `loop`.
    While,
    /// `jcxz`, `jecxz`, `jrcxz`.
    IfCountZero,
}

pub(super) fn class(insn: &Insn) -> Class {
    if insn.mode().bits == Bits::B16 {
        return Class::Refused(Refusal::CodeSegment16);
    }
    let legacy = matches!(insn.encoding(), Encoding::Legacy | Encoding::Rex2);
    let (map, opcode) = (insn.map(), insn.opcode());
    // `enclu` is 0f 01 d7.
    if legacy && map == Map::M0F && opcode == 0x01 && insn.modrm() == Some(0xd7) {
        return Class::Refused(Refusal::Enclave);
    }
    match insn.flow() {
        Flow::Next => sequential(insn, map, opcode),
        Flow::Jump => destination(insn).map_or(Class::Leave, Class::Jump),
        Flow::ConditionalJump => conditional(insn, map, opcode),
        Flow::Call => destination(insn).map_or(Class::Leave, Class::Call),
        Flow::Return => Class::Return(match insn.immediate() {
            Some(freed) => freed.value as u16,
            None => 0,
        }),
        Flow::Far if far_call(insn, map, opcode) => Class::FarCall(far_size(insn)),
        // `uiret` among others.
        Flow::Far => Class::Leave,
        Flow::Syscall if opcode == 0x05 && insn.mode().bits == Bits::B64 => Class::Syscall,
        Flow::Interrupt if opcode == 0xcd => Class::Interrupt,
        Flow::Trap if opcode == 0xcc => Class::Breakpoint,
        Flow::Transaction if map == Map::OneByte && opcode == 0xc7 => match insn.immediate() {
            Some(distance) if distance.size == 4 => Class::Transaction(distance.value),
            _ => Class::Refused(Refusal::TransactionTarget16),
        },
        _ => Class::Copy,
    }
}

fn sequential(insn: &Insn, map: Map, opcode: u8) -> Class {
    let extension = insn.modrm().map(|modrm| modrm >> 3 & 7);
    let memory = insn.modrm().is_some_and(|modrm| modrm < 0xc0);
    match (map, opcode) {
        // Not `pause`, and not `xchg %r8, %rax`.
        (Map::OneByte, 0x90) if insn.rm() == 0 && !insn.prefixes().has(Prefixes::REP) => Class::Nop,
        (Map::OneByte, 0x9c) => Class::PushFlags,
        (Map::OneByte, 0x9d) => Class::PopFlags,
        (Map::OneByte, 0x17) => Class::StackSegment,
        (Map::OneByte, 0x8e) if extension == Some(2) => Class::StackSegment,
        // `sldt`, `str`; `sgdt`, `sidt`, `smsw`.
        (Map::M0F, 0x00) if matches!(extension, Some(0 | 1)) => Class::TrapHeldOff,
        (Map::M0F, 0x01) if matches!(extension, Some(4)) || memory && matches!(extension, Some(0 | 1)) => {
            Class::TrapHeldOff
        }
        (Map::M0F, 0x1f) => Class::Nop,
        // `endbr64` and `endbr32`; the rest of 0f 1e holds `rdssp`.
        (Map::M0F, 0x1e) if matches!(insn.modrm(), Some(0xfa | 0xfb)) => Class::Nop,
        _ => Class::Copy,
    }
}

fn conditional(insn: &Insn, map: Map, opcode: u8) -> Class {
    let Some(to) = destination(insn) else { return Class::Leave };
    match (map, opcode) {
        (Map::OneByte, 0xe0 | 0xe1) => {
            Class::Loop(if while_zero(insn) { Loop::WhileZero } else { Loop::WhileNotZero }, to)
        }
        (Map::OneByte, 0xe2) => Class::Loop(Loop::While, to),
        (Map::OneByte, 0xe3) => Class::Loop(Loop::IfCountZero, to),
        _ => Class::ConditionalJump(opcode & 15, to),
    }
}

/// Whether a conditional loop is `loope`, not `loopne`. On AMD the last of F2 and F3 overrides the opcode (seen on Zen 4).
fn while_zero(insn: &Insn) -> bool {
    let prefixes = insn.bytes().iter().take(insn.opcode_offset()).rev();
    match prefixes.copied().find(|byte| matches!(byte, 0xf2 | 0xf3)) {
        Some(prefix) if insn.mode().vendor == Vendor::Amd => prefix == 0xf3,
        _ => insn.opcode() & 1 != 0,
    }
}

fn destination(insn: &Insn) -> Option<Destination> {
    match insn.target() {
        Target::Relative(distance) => Some(Destination::Relative(distance)),
        Target::Absolute(address) => Some(Destination::Absolute(address)),
        Target::Register(register) => Some(Destination::Register(register)),
        Target::Memory => insn.memory().map(Destination::Memory),
        _ => None,
    }
}

fn far_call(insn: &Insn, map: Map, opcode: u8) -> bool {
    let extension = insn.modrm().map(|modrm| modrm >> 3 & 7);
    map == Map::OneByte && (opcode == 0x9a || opcode == 0xff && extension == Some(3))
}

/// Bytes of each of the two values that a far call pushes. AMD has no 64-bit far call (APM vol. 3, CALL (Far)).
fn far_size(insn: &Insn) -> u8 {
    let mode = insn.mode();
    if mode.bits == Bits::B64 && mode.vendor == Vendor::Intel && insn.w() {
        8
    } else if insn.prefixes().has(Prefixes::OPERAND_SIZE) {
        2
    } else {
        4
    }
}

/// The operand size of a near branch in bytes: the size of the pushed or popped address, and of the target.
///
/// In 64-bit mode Intel ignores prefix 66 (SDM vol. 2A, 2.2.1.7 and each branch's entry); AMD obeys it unless REX.W is set (APM
/// vol. 3, 1.2.7).
pub(super) fn branch_size(insn: &Insn) -> u8 {
    let short = insn.prefixes().has(Prefixes::OPERAND_SIZE);
    match (insn.mode().bits, insn.mode().vendor) {
        (Bits::B64, Vendor::Amd) if short && !insn.w() => 2,
        (Bits::B64, _) => 8,
        _ if short => 2,
        _ => 4,
    }
}

/// `address` truncated to the width of the mode's instruction pointer.
pub(super) fn wrap(insn: &Insn, address: u64) -> u64 {
    if insn.mode().bits == Bits::B64 { address } else { address & 0xffff_ffff }
}

/// The address after the instruction at `pc`.
pub(super) fn next(insn: &Insn, pc: u64) -> u64 {
    wrap(insn, pc.wrapping_add(insn.len() as u64))
}
