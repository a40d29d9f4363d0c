//! Instructions of agent expressions, with the numbers of gdb/common/ax.def.

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Binary(Binary),
    LogicalNot,
    BitwiseNot,
    /// Keep the low bits, with the sign of the highest of them.
    Extend(u8),
    /// Keep the low bits.
    ZeroExtend(u8),
    /// Read this number of bytes of memory.
    Read(u8),
    /// Go to an instruction, by its offset, if the value is not zero.
    GotoIf(u16),
    Goto(u16),
    Constant(u64),
    Register(u16),
    Duplicate,
    Pop,
    Swap,
    /// Copy the value at this depth.
    Pick(u8),
    Rotate,
    Print {
        arguments: u8,
        format: Vec<u8>,
    },
    End,
}

/// Operations on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    DivideSigned,
    DivideUnsigned,
    RemainderSigned,
    RemainderUnsigned,
    ShiftLeft,
    ShiftRightSigned,
    ShiftRightUnsigned,
    And,
    Or,
    Xor,
    Equal,
    LessSigned,
    LessUnsigned,
}

impl Binary {
    /// The result; `None` for a division by zero.
    pub(crate) fn apply(self, a: u64, b: u64) -> Option<u64> {
        let shift = u32::try_from(b).unwrap_or(u32::MAX);
        Some(match self {
            Binary::Add => a.wrapping_add(b),
            Binary::Subtract => a.wrapping_sub(b),
            Binary::Multiply => a.wrapping_mul(b),
            Binary::DivideSigned if b != 0 => (a as i64).wrapping_div(b as i64) as u64,
            Binary::RemainderSigned if b != 0 => (a as i64).wrapping_rem(b as i64) as u64,
            Binary::DivideSigned | Binary::RemainderSigned => return None,
            Binary::DivideUnsigned => a.checked_div(b)?,
            Binary::RemainderUnsigned => a.checked_rem(b)?,
            Binary::ShiftLeft => a.checked_shl(shift).unwrap_or(0),
            Binary::ShiftRightSigned => ((a as i64) >> shift.min(63)) as u64,
            Binary::ShiftRightUnsigned => a.checked_shr(shift).unwrap_or(0),
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            Binary::Equal => u64::from(a == b),
            Binary::LessSigned => u64::from((a as i64) < b as i64),
            Binary::LessUnsigned => u64::from(a < b),
        })
    }
}

/// The low `bits` of a value, with their sign if `signed`.
pub(crate) fn extend(value: u64, bits: u8, signed: bool) -> u64 {
    let Some(unused @ 1..) = 64u32.checked_sub(bits.into()) else { return value };
    let shifted = value.checked_shl(unused).unwrap_or(0);
    if signed { ((shifted as i64) >> unused.min(63)) as u64 } else { shifted.checked_shr(unused).unwrap_or(0) }
}

/// The most instructions of an expression.
const MOST_OPS: usize = 4096;

/// A decoded expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expression {
    /// Instructions with the offsets that jumps name, ascending.
    ops: Vec<(u16, Op)>,
}

impl Expression {
    /// Decodes an expression; `None` if it has an instruction that is unknown, floating-point or of tracepoints, or if it is cut off.
    pub(crate) fn parse(code: &[u8]) -> Option<Expression> {
        let mut ops = Vec::new();
        let mut at = 0;
        while at < code.len() {
            let start = u16::try_from(at).ok()?;
            let (op, length) = decode(code.get(at..)?)?;
            ops.push((start, op));
            at += length;
            if ops.len() > MOST_OPS {
                return None;
            }
        }
        Some(Expression { ops })
    }

    /// The place of the first instruction.
    pub(crate) fn start(&self) -> usize {
        0
    }

    /// The instruction at a place. Behind the last one the expression ends.
    pub(crate) fn op(&self, place: usize) -> &Op {
        self.ops.get(place).map_or(&Op::End, |(_, op)| op)
    }

    /// The place of the instruction at an offset; `None` if none begins there.
    pub(crate) fn place(&self, offset: u16) -> Option<usize> {
        self.ops.binary_search_by_key(&offset, |&(start, _)| start).ok()
    }
}

/// The instruction at the beginning of `code`, and its length.
fn decode(code: &[u8]) -> Option<(Op, usize)> {
    let (&first, rest) = code.split_first()?;
    let number = |bytes: usize| -> Option<u64> {
        Some(rest.get(..bytes)?.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    };
    let plain = |op| Some((op, 1));
    let binary = |op| Some((Op::Binary(op), 1));
    match first {
        0x02 => binary(Binary::Add),
        0x03 => binary(Binary::Subtract),
        0x04 => binary(Binary::Multiply),
        0x05 => binary(Binary::DivideSigned),
        0x06 => binary(Binary::DivideUnsigned),
        0x07 => binary(Binary::RemainderSigned),
        0x08 => binary(Binary::RemainderUnsigned),
        0x09 => binary(Binary::ShiftLeft),
        0x0a => binary(Binary::ShiftRightSigned),
        0x0b => binary(Binary::ShiftRightUnsigned),
        0x0e => plain(Op::LogicalNot),
        0x0f => binary(Binary::And),
        0x10 => binary(Binary::Or),
        0x11 => binary(Binary::Xor),
        0x12 => plain(Op::BitwiseNot),
        0x13 => binary(Binary::Equal),
        0x14 => binary(Binary::LessSigned),
        0x15 => binary(Binary::LessUnsigned),
        0x16 => Some((Op::Extend(number(1)? as u8), 2)),
        0x17 => plain(Op::Read(1)),
        0x18 => plain(Op::Read(2)),
        0x19 => plain(Op::Read(4)),
        0x1a => plain(Op::Read(8)),
        0x20 => Some((Op::GotoIf(number(2)? as u16), 3)),
        0x21 => Some((Op::Goto(number(2)? as u16), 3)),
        0x22 => Some((Op::Constant(number(1)?), 2)),
        0x23 => Some((Op::Constant(number(2)?), 3)),
        0x24 => Some((Op::Constant(number(4)?), 5)),
        0x25 => Some((Op::Constant(number(8)?), 9)),
        0x26 => Some((Op::Register(number(2)? as u16), 3)),
        0x27 => plain(Op::End),
        0x28 => plain(Op::Duplicate),
        0x29 => plain(Op::Pop),
        0x2a => Some((Op::ZeroExtend(number(1)? as u8), 2)),
        0x2b => plain(Op::Swap),
        0x32 => Some((Op::Pick(number(1)? as u8), 2)),
        0x33 => plain(Op::Rotate),
        0x34 => {
            let arguments = *rest.first()?;
            let length = usize::from(u16::from_be_bytes([*rest.get(1)?, *rest.get(2)?]));
            let text = rest.get(3..3 + length)?;
            let format = text.strip_suffix(b"\0").unwrap_or(text).to_vec();
            Some((Op::Print { arguments, format }, 4 + length))
        }
        _ => None,
    }
}
