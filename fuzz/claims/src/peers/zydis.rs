use ::zydis::{BranchType, Decoder, DecoderMode, InstructionCategory, VisibleOperands, ffi::DecodedOperandKind};
use insn::Flow;
use insn::x86::{Bits, Mode, Vendor};

use super::answer::{ADDRESS, Answer};

pub(super) fn decode(bytes: &[u8], mode: Mode) -> Option<Answer> {
    let mut decoder = if mode.bits == Bits::B64 { Decoder::new64() } else { Decoder::new32() };
    decoder.enable_mode(DecoderMode::AMD_BRANCHES, mode.vendor == Vendor::Amd).ok()?;
    let instruction = decoder.decode_first::<VisibleOperands>(bytes).ok()??;
    let near = matches!(instruction.meta.branch_type, BranchType::SHORT | BranchType::NEAR);
    let flow = match instruction.meta.category {
        InstructionCategory::UNCOND_BR if near => Some(Flow::Jump),
        InstructionCategory::COND_BR if near => Some(Flow::ConditionalJump),
        InstructionCategory::CALL if near => Some(Flow::Call),
        InstructionCategory::RET if near => Some(Flow::Return),
        _ => None,
    };
    let operand = instruction.operands().iter().find(|operand| match &operand.kind {
        DecodedOperandKind::Imm(value) => value.is_relative,
        _ => false,
    });
    let target = operand.filter(|_| flow.is_some());
    let target = target.and_then(|operand| instruction.calc_absolute_address(ADDRESS, operand).ok());
    // Cutting to the width of the mode is left to its caller.
    let width = if mode.bits == Bits::B64 { u64::MAX } else { u64::from(u32::MAX) };
    let target = target.map(|target| target & width);
    Some(Answer { len: usize::from(instruction.length), flow, target })
}
