//! Other decoders, whose answers are read from the text that they print.

use ::capstone::Capstone;
use ::capstone::arch::BuildsCapstone;
use ::capstone::arch::arm64::ArchMode;
use ::disarm64::InsnOpcode;
use insn::{Flow, Target};
use yaxpeax_arch::{Decoder, U8Reader};

/// What a decoder says of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it does to the flow of control, for branches alone.
    pub flow: Option<Flow>,
    /// How far a direct branch goes.
    pub distance: Option<i64>,
}

/// A decoder that is linked in.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its name in the list of deviations.
    pub name: &'static str,
    /// Its answer; nothing where it refuses.
    pub decode: fn(u32) -> Option<Answer>,
}

/// All of them.
pub const PEERS: &[Peer] = &[
    Peer { name: "yaxpeax-arm", decode: yaxpeax },
    Peer { name: "capstone", decode: capstone },
    Peer { name: "disarm64", decode: disarm64 },
    #[cfg(feature = "bad64")]
    Peer { name: "bad64", decode: bad64 },
];

/// Our own answer.
pub fn ours(word: u32) -> Option<Answer> {
    let insn = insn::arm64::decode(word).ok()?;
    let flow = insn.flow();
    let branch = matches!(flow, Flow::Jump | Flow::ConditionalJump | Flow::Call | Flow::Return);
    let distance = match insn.target() {
        Target::Relative(distance) => Some(distance),
        _ => None,
    };
    Some(Answer { flow: branch.then_some(flow), distance })
}

/// The answer that a line of assembly stands for; the instruction lies at 0.
pub(crate) fn of_text(text: &str) -> Answer {
    let text = text.trim();
    let (name, operands) = text.split_once([' ', '\t']).unwrap_or((text, ""));
    let flow = match name {
        "b" | "br" | "braa" | "brab" | "braaz" | "brabz" => Flow::Jump,
        "bl" | "blr" | "blraa" | "blrab" | "blraaz" | "blrabz" => Flow::Call,
        "cbz" | "cbnz" | "tbz" | "tbnz" => Flow::ConditionalJump,
        _ if name.starts_with("b.") || name.starts_with("bc.") => Flow::ConditionalJump,
        _ if name.starts_with("cb") && operands.contains(',') => Flow::ConditionalJump,
        _ if name.starts_with("ret") => Flow::Return,
        _ => return Answer { flow: None, distance: None },
    };
    let last = operands.rsplit(',').next().unwrap_or("").trim();
    let number = last.trim_start_matches(['#', '$']);
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, number.trim_start_matches('+')),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|n| n as i64),
        None => digits.parse().ok(),
    };
    let distance = value.map(|value| value.wrapping_mul(sign)).filter(|_| flow != Flow::Return);
    Answer { flow: Some(flow), distance }
}

fn yaxpeax(word: u32) -> Option<Answer> {
    let decoder = yaxpeax_arm::armv8::a64::InstDecoder::default();
    let instruction = decoder.decode(&mut U8Reader::new(&word.to_le_bytes())).ok()?;
    Some(of_text(&instruction.to_string()))
}

thread_local! {
    static CAPSTONE: Option<Capstone> = Capstone::new().arm64().mode(ArchMode::Arm).build().ok();
}

fn capstone(word: u32) -> Option<Answer> {
    CAPSTONE.with(|decoder| {
        let decoder = decoder.as_ref().expect("capstone was built for arm64");
        let found = decoder.disasm_count(&word.to_le_bytes(), 0, 1).ok()?;
        let instruction = found.first()?;
        Some(of_text(&format!("{} {}", instruction.mnemonic()?, instruction.op_str()?)))
    })
}

fn disarm64(word: u32) -> Option<Answer> {
    let instruction = ::disarm64::decoder::decode(word)?;
    // This peer's text of other instructions than branches may panic.
    let name = of_text(&format!("{} ,", instruction.definition().mnemonic));
    Some(if name.flow.is_some() { of_text(&instruction.to_string()) } else { name })
}

#[cfg(feature = "bad64")]
fn bad64(word: u32) -> Option<Answer> {
    Some(of_text(&::bad64::decode(word, 0).ok()?.to_string()))
}
