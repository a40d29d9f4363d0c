//! The parts of an instruction that accesses memory: operands, size, direction, operation.

use insn::Access;
use insn::x86::{Insn, Memory, Reg};

use super::arithmetic::Arithmetic;

/// An access of memory by `mov`, `movzx`, `movsx`, `movsxd`, `movbe`, `movnti`, `xchg`, or by arithmetic with an operand in memory, taken apart
/// for whoever carries it out in place of the processor: a virtual machine whose guest accesses the registers of a device, or an emulator.
///
/// Prefixes, REX, high bytes (`ah`), `moffs` and the opcodes' groups are dealt with. There is no `Mmio` of string instructions, of vector
/// registers, of `cmpxchg`, `xadd`, `adc`, `sbb`, shifts and bit tests, and of APX.
///
/// ```
/// use insn::Access;
/// use insn::x86::{Mode, Reg, decode};
/// use stepping::x86::{Mmio, Operation};
///
/// // movzbl 0x10(%rbx), %ecx
/// let insn = decode(&[0x0f, 0xb6, 0x4b, 0x10], Mode::INTEL_64)?;
/// let mmio = Mmio::of(&insn, 0x1000).expect("a load");
/// assert_eq!((mmio.size, mmio.access, mmio.operation), (1, Access::Read, Operation::ZeroExtend));
/// let register = mmio.register.expect("the destination");
/// assert_eq!((register.reg, register.size, register.high), (Reg::RCX, 4, false));
/// # Ok::<(), insn::x86::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mmio {
    /// The operand in memory.
    pub memory: Memory,
    /// The number of bytes that are accessed: 1, 2, 4 or 8.
    pub size: u8,
    /// Whether the memory is read, written, or read and then written.
    pub access: Access,
    /// The operation on the data.
    pub operation: Operation,
    /// The register operand: the source, the destination, or both.
    pub register: Option<Part>,
    /// The immediate, extended to `size` bytes as the instruction does it.
    pub immediate: Option<u64>,
    /// Whether the memory is the first operand, which is the destination of all that has one.
    pub(super) is_first: bool,
    pub(super) insn: Insn,
    pub(super) pc: u64,
}

/// The operation of an instruction on the data that it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// The destination gets the source.
    Move,
    /// The destination gets the source with its bytes in the opposite order (`movbe`).
    MoveSwapped,
    /// The register gets the memory, extended with zeros.
    ZeroExtend,
    /// The register gets the memory, extended with its sign.
    SignExtend,
    /// Memory and register exchange their contents (`xchg`).
    Exchange,
    /// The destination gets the result, and the flags tell of it.
    Arithmetic(Arithmetic),
    /// The flags tell of the result, which goes nowhere (`cmp`: a subtraction; `test`: an and).
    Compare(Arithmetic),
}

/// A general register, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// The whole register.
    pub reg: Reg,
    /// The number of bytes: 1, 2, 4 or 8. A register that gets 4 bytes has zeros above them in 64-bit mode.
    pub size: u8,
    /// The byte is that of the bits 15 to 8.
    pub high: bool,
}
