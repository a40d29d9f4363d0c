//! x86.

mod batch;
mod disagreements;
mod errors;
mod fields;
mod flow;
mod length;
mod liveness;
mod memory;
mod names;
mod operand_list;
mod overwrites;
mod registers;
mod text;

use insn::x86::{Insn, Mode, decode};

/// Bytes of a hexadecimal text; blanks are ignored.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Decodes with arbitrary bytes behind.
fn decode_padded(text: &str, mode: Mode) -> Result<Insn, insn::x86::Error> {
    let mut bytes = hex(text);
    bytes.resize(bytes.len() + 16, 0xa5);
    decode(&bytes, mode)
}

/// An instruction that must be valid in AMD's or Intel's 64-bit mode.
fn insn(text: &str) -> Insn {
    decode_padded(text, Mode::INTEL_64)
        .or_else(|_| decode_padded(text, Mode::AMD_64))
        .unwrap_or_else(|e| panic!("{text}: {e}"))
}
