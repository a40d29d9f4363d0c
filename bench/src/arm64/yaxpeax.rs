//! yaxpeax-arm.

use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Instruction, Opcode};

use crate::tally::Tally;

pub(super) fn decode(words: &[u32]) -> Tally {
    let mut tally = Tally::default();
    let decoder = InstDecoder::default();
    let mut instruction = Instruction::default();
    for word in words {
        let decoded = decoder.decode_into(&mut instruction, &mut U8Reader::new(&word.to_le_bytes()));
        tally.add(decoded.map_or(0, |()| u64::from(instruction.opcode != Opcode::Invalid)));
    }
    tally
}
