//! A64.

mod effects;
mod flow;
mod kind;
mod names;
mod operands;
mod text;

use insn::arm64::{Insn, decode};

/// Instructions of words by chance.
fn instructions() -> impl Iterator<Item = Insn> {
    let mut word = 1u32;
    let words = std::iter::repeat_with(move || {
        word = word.wrapping_mul(0x915f_77f5).wrapping_add(0x6d2b_79f5);
        word ^ word >> 15
    });
    words.take(1_000_000).filter_map(|word| decode(word).ok())
}

/// The instruction of a word.
fn insn(word: u32) -> Insn {
    decode(word).unwrap_or_else(|error| panic!("{error}"))
}
