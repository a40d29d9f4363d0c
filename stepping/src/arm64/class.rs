//! Classes of instructions by how threads pass a breakpoint on them.

use insn::arm64::{Condition, Insn, Kind, LEN, PcRelative, Reg};
use insn::{Flow, Target};

use super::Refusal;

/// How threads pass a breakpoint on an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Emulated: only the pc moves.
    Nop,
    /// Emulated: `bti`.
    LandingPad,
    /// Emulated: the program's own `brk`.
    Breakpoint,
    /// Emulated: `adr`, `adrp`.
    Address(Reg),
    /// Emulated: load of a literal to a general register.
    Literal(Literal),
    /// Emulated: a direct jump by a distance in bytes, if the test holds.
    Jump(Test, i64),
    /// Emulated: `bl`.
    Call(i64),
    /// Emulated: `br`.
    JumpTo(Reg),
    /// Emulated: `blr`.
    CallTo(Reg),
    /// Emulated: `ret`.
    Return(Reg),
    /// A copy, then a branch back.
    Copy,
    /// A copy; control does not return to the slot.
    Leave,
    /// A copy of a call, which stores a slot address in x30.
    AuthenticatedCall,
    /// Load of a literal to a vector register.
    VectorLiteral,
    /// `movprfx`, which a branch must not follow.
    Prefix,
    /// A load-exclusive: no exception may occur between it and its store-exclusive.
    LoadExclusive,
    /// Second instruction of a memory copy or set: the kernel may return to the one before (arch/arm64/include/asm/traps.h,
    /// `arm64_mops_reset_regs`).
    MemoryMain,
    /// Third instruction of a memory copy or set: the kernel may return to the first.
    MemoryEpilogue,
    /// Authenticates x30 with the address at this distance in bytes.
    AuthenticateAt(i64),
    /// Authenticates x30 with the address at this distance in bytes, and returns.
    ReturnAuthenticatedAt(i64),
    /// Cannot carry a breakpoint.
    Refused(Refusal),
}

/// A load of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Literal {
    pub(super) register: Reg,
    /// Distance in bytes.
    pub(super) distance: i64,
    /// Size in bytes.
    pub(super) size: u8,
    /// Whether the value is sign-extended.
    pub(super) signed: bool,
}

/// The condition of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    Always,
    /// `b.cond`, `bc.cond`.
    Flags(Condition),
    /// `cbz`, `cbnz`: register, number of its bits that count, and whether they must be zero.
    Zero(Reg, u8, bool),
    /// `tbz`, `tbnz`: register, number of its bit, and whether the bit must be set.
    Bit(Reg, u8, bool),
    /// `cb<cc>` and similar.
    Compare(Comparison),
}

/// A comparison of two operands as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) relation: Relation,
    pub(super) left: Reg,
    pub(super) right: Right,
    /// Number of low bits of the operands that count.
    pub(super) bits: u8,
}

/// The second operand of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    Register(Reg),
    Immediate(u8),
}

/// The relation that a comparison tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Greater,
    GreaterOrEqual,
    Less,
    Higher,
    HigherOrSame,
    Lower,
    Equal,
    NotEqual,
}

/// `nop`, which is emulated; other hints run as copies.
pub(super) const NOP: u32 = 0xd503_201f;

pub(super) fn class(insn: &Insn) -> Class {
    match insn.kind() {
        Kind::Hint if insn.word() == NOP => Class::Nop,
        Kind::Bti => Class::LandingPad,
        Kind::Brk => Class::Breakpoint,
        Kind::Adr | Kind::Adrp => Class::Address(register(insn, 0)),
        Kind::Branch => match insn.flow() {
            Flow::Call => Class::Call(distance(insn)),
            _ => Class::Jump(Test::Always, distance(insn)),
        },
        Kind::BranchCondition | Kind::BranchZero | Kind::BranchBit | Kind::BranchCompare => {
            test(insn).map_or(Class::Copy, |test| Class::Jump(test, distance(insn)))
        }
        Kind::BranchRegister => match insn.flow() {
            Flow::Call => Class::CallTo(register(insn, 5)),
            Flow::Return => Class::Return(register(insn, 5)),
            _ => Class::JumpTo(register(insn, 5)),
        },
        Kind::BranchAuthenticated if insn.flow() == Flow::Call => Class::AuthenticatedCall,
        Kind::BranchAuthenticated => Class::Leave,
        Kind::StoreExclusive => Class::Refused(Refusal::StoreExclusive),
        Kind::LoadExclusive => Class::LoadExclusive,
        Kind::MemoryMain => Class::MemoryMain,
        Kind::MemoryEpilogue => Class::MemoryEpilogue,
        Kind::Prefix => Class::Prefix,
        Kind::SignAt | Kind::PacSpAt => Class::Refused(Refusal::SignsWithAddress),
        Kind::Pacm => Class::Refused(Refusal::Modifier),
        Kind::TIndex => Class::Refused(Refusal::ChangesPermissions),
        Kind::AuthenticateAt => modifier(insn).map_or(Class::Copy, Class::AuthenticateAt),
        Kind::ReturnAuthenticatedAt => modifier(insn).map_or(Class::Leave, Class::ReturnAuthenticatedAt),
        _ => literal(insn),
    }
}

fn literal(insn: &Insn) -> Class {
    match insn.pc_relative() {
        Some(PcRelative::Load { register, distance, size, signed }) => {
            if register.as_vector().is_some() {
                Class::VectorLiteral
            } else {
                Class::Literal(Literal { register, distance, size, signed })
            }
        }
        Some(PcRelative::Prefetch { .. }) => Class::Nop,
        _ => Class::Copy,
    }
}

fn modifier(insn: &Insn) -> Option<i64> {
    match insn.pc_relative() {
        Some(PcRelative::Modifier { distance }) => Some(distance),
        _ => None,
    }
}

fn distance(insn: &Insn) -> i64 {
    match insn.target() {
        Target::Relative(distance) => distance,
        _ => 0,
    }
}

/// The condition of a conditional branch.
fn test(insn: &Insn) -> Option<Test> {
    let word = insn.word();
    let set = field(word, 24, 1) == 1;
    let width = if word >> 31 == 1 { 64 } else { 32 };
    match insn.kind() {
        Kind::BranchCondition => insn.condition().map(Test::Flags),
        Kind::BranchZero => Some(Test::Zero(register(insn, 0), width, !set)),
        Kind::BranchBit => {
            let bit = field(word, 31, 1) << 5 | field(word, 19, 5);
            Some(Test::Bit(register(insn, 0), bit as u8, set))
        }
        _ => comparison(insn, set, width).map(Test::Compare),
    }
}

/// The comparison of an instruction of FEAT_CMPBR. Forms with an immediate have no relations that include equality.
fn comparison(insn: &Insn, immediate: bool, width: u8) -> Option<Comparison> {
    let word = insn.word();
    let relation = match (field(word, 21, 3), immediate) {
        (0, _) => Relation::Greater,
        (1, false) => Relation::GreaterOrEqual,
        (1, true) => Relation::Less,
        (2, _) => Relation::Higher,
        (3, false) => Relation::HigherOrSame,
        (3, true) => Relation::Lower,
        (6, _) => Relation::Equal,
        (7, _) => Relation::NotEqual,
        _ => return None,
    };
    let (right, bits) = if immediate {
        (Right::Immediate(field(word, 15, 6) as u8), width)
    } else {
        let bits = match field(word, 14, 2) {
            0 => width,
            2 => 8,
            3 => 16,
            _ => return None,
        };
        (Right::Register(register(insn, 16)), bits)
    };
    Some(Comparison { relation, left: register(insn, 0), right, bits })
}

/// The general register in the five bits from `low` on; 31 is xzr.
fn register(insn: &Insn, low: u32) -> Reg {
    Reg::general(field(insn.word(), low, 5))
}

/// The field of `width` bits from bit `low` on.
pub(super) fn field(word: u32, low: u32, width: u32) -> u32 {
    word.wrapping_shr(low) & 1_u32.wrapping_shl(width).wrapping_sub(1)
}

/// The address after the instruction at `pc`.
pub(super) fn next(pc: u64) -> u64 {
    pc.wrapping_add(LEN as u64)
}

pub(super) fn decode(word: u32) -> Option<Insn> {
    insn::arm64::decode(word).ok()
}
