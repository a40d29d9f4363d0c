use core::fmt;

use super::chunk::MAX_LEN;

/// Why bytes are not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum ErrorKind {
    /// The slice ends before the instruction does.
    Truncated,
    /// The instruction would be longer than 15 bytes.
    TooLong,
    /// The opcode does not exist in this mode, or not with this prefix, modrm extension or vector length.
    Opcode,
    /// The instruction or operand does not allow LOCK.
    Lock,
    /// 66, F2, F3, LOCK or REX precedes VEX, XOP, EVEX or REX2, or a mandatory prefix does not fit.
    Prefix,
    /// A reserved field of VEX, XOP, EVEX or REX2 is set.
    Reserved,
    /// modrm names a register where only memory is allowed, or the reverse.
    Operand,
    /// Operands that must differ name the same register (gathers, AMX).
    SameRegister,
    /// The encoding is MVEX of Knights Corner, which is not supported.
    Mvex,
}

/// Why bytes are not an instruction, and which byte decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Offset of the byte that decides, in bytes.
    pub offset: u8,
    /// Value of that byte; 0 if it is missing ([`ErrorKind::Truncated`]).
    pub byte: u8,
}

impl Error {
    /// The error of an instruction that goes on behind the last of `available` bytes.
    pub(super) fn out_of_bytes(chunk: &[u8; MAX_LEN], available: usize) -> Error {
        if available < MAX_LEN {
            return Error { kind: ErrorKind::Truncated, offset: available as u8, byte: 0 };
        }
        Error { kind: ErrorKind::TooLong, offset: (MAX_LEN - 1) as u8, byte: chunk[MAX_LEN - 1] }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ErrorKind::Truncated => return write!(f, "truncated after {} bytes", self.offset),
            ErrorKind::TooLong => "longer than 15 bytes",
            ErrorKind::Opcode => "no such opcode",
            ErrorKind::Lock => "LOCK not allowed",
            ErrorKind::Prefix => "prefix not allowed",
            ErrorKind::Reserved => "reserved field set",
            ErrorKind::Operand => "operand form not allowed",
            ErrorKind::SameRegister => "registers must differ",
            ErrorKind::Mvex => "MVEX is not supported",
        };
        write!(f, "{what}: byte {:#04x} at offset {}", self.byte, self.offset)
    }
}

impl core::error::Error for Error {}
