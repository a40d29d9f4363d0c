//! Shows which instructions of an exclusive sequence of A64 cannot carry a breakpoint, and the nearest ones that can.

use std::error::Error;
use std::io::{self, Write};

use insn::arm64::{LEN, decode};
use stepping::arm64::{Plan, plan_in};

/// An atomic increment.
const CODE: [(&str, u32); 6] = [
    ("mov w3, #1", 0x5280_0023),
    ("ldxr w1, [x0]", 0x885f_7c01),
    ("add w1, w1, w3", 0x0b03_0021),
    ("stxr w2, w1, [x0]", 0x8802_7c01),
    ("cbnz w2, .-12", 0x35ff_ffa2),
    ("ret", 0xd65f_03c0),
];

pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let words = CODE.map(|(_, word)| word);
    for (index, (text, word)) in CODE.iter().enumerate() {
        let pc = 0x1000 + (index * LEN) as u64;
        // The plan depends on the code around: an exception between load and store would make the store fail for ever.
        let answer = match plan_in(&decode(*word)?, pc, &words, index) {
            Plan::Emulate(_) => "emulated".to_owned(),
            Plan::Slot(slot) => format!("a copy that leaves by {:?}", slot.assemble(0x2000)?.exit),
            Plan::Refuse(reason) => format!("refused: {reason}"),
        };
        writeln!(out, "{pc:#x} {text:<18} {answer}")?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout())
}
