use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use insn::Flow;
use insn::x86::{Bits, Mode, Vendor};

use super::answer::{ADDRESS, Answer};

pub(super) fn decode(bytes: &[u8], mode: Mode) -> Option<Answer> {
    let vendor = if mode.vendor == Vendor::Amd { DecoderOptions::AMD } else { DecoderOptions::NONE };
    let bits = if mode.bits == Bits::B64 { 64 } else { 32 };
    let instruction = Decoder::with_ip(bits, bytes, ADDRESS, vendor).decode();
    if instruction.is_invalid() {
        return None;
    }
    let target = instruction.near_branch_target();
    let near = instruction.is_jmp_short_or_near()
        || instruction.is_jcc_short_or_near()
        || instruction.is_call_near()
        || instruction.is_loopcc()
        || instruction.is_loop()
        || instruction.is_jcx_short();
    Some(Answer { len: instruction.len(), flow: flow(&instruction), target: near.then_some(target) })
}

fn flow(instruction: &Instruction) -> Option<Flow> {
    use Mnemonic::{Iret, Iretd, Iretq, Retf, Sysexit, Sysexitq, Sysret, Sysretq, Uiret};
    let far =
        matches!(instruction.mnemonic(), Iret | Iretd | Iretq | Retf | Sysexit | Sysexitq | Sysret | Sysretq | Uiret);
    Some(match instruction.flow_control() {
        FlowControl::UnconditionalBranch if instruction.is_jmp_short_or_near() => Flow::Jump,
        FlowControl::IndirectBranch if !instruction.is_jmp_far_indirect() => Flow::Jump,
        FlowControl::ConditionalBranch => Flow::ConditionalJump,
        FlowControl::Call if instruction.code() != Code::Syscall && instruction.is_call_near() => Flow::Call,
        FlowControl::IndirectCall if instruction.is_call_near_indirect() => Flow::Call,
        FlowControl::Return if !far => Flow::Return,
        FlowControl::Exception => Flow::Faulting,
        FlowControl::Next if !instruction.is_privileged() => Flow::Next,
        _ => return None,
    })
}
