use insn::Flow;
use insn::x86::{Bits, Mode};
use yaxpeax_arch::LengthedInstruction;
use yaxpeax_x86::{long_mode, protected_mode};

use super::answer::{ADDRESS, Answer};

macro_rules! decode {
    ($mode:ident, $bytes:expr, $mask:expr, $count:pat) => {{
        use $mode::{Opcode, Operand};
        let instruction = $mode::InstDecoder::default().decode_slice($bytes).ok()?;
        let len = instruction.len().to_const() as usize;
        let opcode = instruction.opcode();
        let flow = match opcode {
            Opcode::JMP => Some(Flow::Jump),
            Opcode::CALL => Some(Flow::Call),
            Opcode::RETURN => Some(Flow::Return),
            Opcode::LOOP | Opcode::LOOPZ | Opcode::LOOPNZ | $count => Some(Flow::ConditionalJump),
            _ if opcode.is_jcc() => Some(Flow::ConditionalJump),
            _ => None,
        };
        let distance = match instruction.operand(0) {
            Operand::ImmediateI8 { imm } => Some(i64::from(imm)),
            Operand::ImmediateI16 { imm } => Some(i64::from(imm)),
            Operand::ImmediateI32 { imm } => Some(i64::from(imm)),
            _ => None,
        };
        let target = distance.filter(|_| flow.is_some_and(|flow| flow != Flow::Return));
        let target = target.map(|distance| (ADDRESS + len as u64).wrapping_add_signed(distance) & $mask);
        Some(Answer { len, flow, target })
    }};
}

pub(super) fn decode(bytes: &[u8], mode: Mode) -> Option<Answer> {
    match mode.bits {
        Bits::B64 => decode!(long_mode, bytes, u64::MAX, Opcode::JRCXZ),
        _ => decode!(protected_mode, bytes, u64::from(u32::MAX), Opcode::JECXZ),
    }
}
