use ::capstone::Capstone;
use ::capstone::arch::x86::ArchMode;
use ::capstone::prelude::*;
use insn::Flow;
use insn::x86::{Bits, Mode};

use super::answer::{ADDRESS, Answer};

fn make(mode: ArchMode) -> Option<Capstone> {
    Capstone::new().x86().mode(mode).build().ok()
}

thread_local! {
    static WIDE: Option<Capstone> = make(ArchMode::Mode64);
    static NARROW: Option<Capstone> = make(ArchMode::Mode32);
}

pub(super) fn decode(bytes: &[u8], mode: Mode) -> Option<Answer> {
    let decoder = if mode.bits == Bits::B64 { &WIDE } else { &NARROW };
    decoder.with(|decoder| {
        let decoder = decoder.as_ref().expect("capstone was built for x86");
        let found = decoder.disasm_count(bytes, ADDRESS, 1).ok()?;
        let instruction = found.first()?;
        // Prefixes may stand before the mnemonic.
        let name = instruction.mnemonic()?.split(' ').next_back()?;
        let flow = match name {
            "jmp" => Some(Flow::Jump),
            "call" => Some(Flow::Call),
            "ret" => Some(Flow::Return),
            "ljmp" | "lcall" | "jmpabs" => None,
            _ if name.starts_with('j') || name.starts_with("loop") => Some(Flow::ConditionalJump),
            _ => None,
        };
        let operand = instruction.op_str()?;
        let number = match operand.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => operand.parse().ok(),
        };
        Some(Answer {
            len: instruction.len(),
            flow,
            target: number.filter(|_| flow.is_some_and(|flow| flow != Flow::Return)),
        })
    })
}
