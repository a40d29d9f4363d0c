//! Takes an instruction apart.

use insn::Access;
use insn::x86::{Bits, Encoding, Insn, Map, Operand, OperandKind, Prefixes};

use super::access::{Mmio, Operation, Part};
use super::arithmetic::{Arithmetic, mask};

impl Mmio {
    /// Takes apart the instruction at the address `pc`. `None` if it is none of those that [`Mmio`] names, or has no operand in memory.
    pub fn of(insn: &Insn, pc: u64) -> Option<Mmio> {
        if insn.encoding() != Encoding::Legacy {
            return None;
        }
        let operation = operation(insn)?;
        let mut operands = insn.operands().filter(|operand| !operand.implicit);
        let (first, second) = (operands.next()?, operands.next());
        let (memory, other) = match (first.kind, second.map(|operand| operand.kind)) {
            (OperandKind::Memory(memory), _) => (memory, second),
            (_, Some(OperandKind::Memory(memory))) => (memory, Some(first)),
            _ => return None,
        };
        let size = u8::try_from(memory.size).ok().filter(|size| matches!(size, 1 | 2 | 4 | 8))?;
        let is_first = matches!(first.kind, OperandKind::Memory(_));
        let access = match operation {
            Operation::Exchange => Access::ReadWrite,
            Operation::Compare(_) => Access::Read,
            Operation::Arithmetic(_) if is_first => Access::ReadWrite,
            Operation::Move | Operation::MoveSwapped if is_first => Access::Write,
            _ => Access::Read,
        };
        let register = other.and_then(part);
        let immediate = other.and_then(|operand| immediate(operand, size));
        Some(Mmio { memory, size, access, operation, register, immediate, is_first, insn: *insn, pc })
    }

    /// The instruction.
    pub fn insn(&self) -> &Insn {
        &self.insn
    }
}

fn part(operand: Operand) -> Option<Part> {
    let size = u8::try_from(operand.size).ok()?;
    match operand.kind {
        OperandKind::Register(reg) if reg.as_gpr().is_some() => Some(Part { reg, size, high: false }),
        OperandKind::HighByte(reg) => Some(Part { reg, size: 1, high: true }),
        _ => None,
    }
}

fn immediate(operand: Operand, size: u8) -> Option<u64> {
    match operand.kind {
        OperandKind::Immediate { value, .. } => Some(value as u64 & mask(size)),
        _ => None,
    }
}

/// What an instruction does by its opcode (SDM vol. 2D appendix A, tables ).
fn operation(insn: &Insn) -> Option<Operation> {
    let (opcode, extension) = (insn.opcode(), insn.opcode_extension());
    match insn.map() {
        Map::OneByte => one_byte(opcode, extension, insn.mode().bits == Bits::B64),
        Map::M0F => match opcode {
            0xb6 | 0xb7 => Some(Operation::ZeroExtend),
            0xbe | 0xbf => Some(Operation::SignExtend),
            0xc3 => Some(Operation::Move),
            _ => None,
        },
        Map::M0F38 => {
            let is_crc = insn.prefixes().has(Prefixes::REPNE);
            (matches!(opcode, 0xf0 | 0xf1) && !is_crc).then_some(Operation::MoveSwapped)
        }
        _ => None,
    }
}

fn one_byte(opcode: u8, extension: Option<u8>, wide: bool) -> Option<Operation> {
    match (opcode, extension) {
        (0x00..=0x3f, _) if opcode & 7 < 4 => of_group_1(opcode >> 3),
        (0x63, _) if wide => Some(Operation::SignExtend),
        (0x80..=0x83, Some(extension)) => of_group_1(extension),
        (0x84 | 0x85, _) | (0xf6 | 0xf7, Some(0 | 1)) => Some(Operation::Compare(Arithmetic::And)),
        (0x86 | 0x87, _) => Some(Operation::Exchange),
        (0x88..=0x8b | 0xa0..=0xa3, _) | (0xc6 | 0xc7, Some(0)) => Some(Operation::Move),
        (0xf6 | 0xf7, Some(2)) => Some(Operation::Arithmetic(Arithmetic::Not)),
        (0xf6 | 0xf7, Some(3)) => Some(Operation::Arithmetic(Arithmetic::Negate)),
        (0xfe | 0xff, Some(0)) => Some(Operation::Arithmetic(Arithmetic::Increment)),
        (0xfe | 0xff, Some(1)) => Some(Operation::Arithmetic(Arithmetic::Decrement)),
        _ => None,
    }
}

fn of_group_1(number: u8) -> Option<Operation> {
    match number {
        0 => Some(Operation::Arithmetic(Arithmetic::Add)),
        1 => Some(Operation::Arithmetic(Arithmetic::Or)),
        4 => Some(Operation::Arithmetic(Arithmetic::And)),
        5 => Some(Operation::Arithmetic(Arithmetic::Subtract)),
        6 => Some(Operation::Arithmetic(Arithmetic::ExclusiveOr)),
        7 => Some(Operation::Compare(Arithmetic::Subtract)),
        _ => None,
    }
}
