//! yaxpeax-x86.

use yaxpeax_arch::{Decoder, LengthedInstruction, U8Reader};
use yaxpeax_x86::long_mode::{InstDecoder, Instruction};

use crate::tally::Tally;

pub(super) fn length(code: &[u8], tally: &mut Tally) {
    let decoder = InstDecoder::default();
    let mut instruction = Instruction::default();
    let mut rest = code;
    while !rest.is_empty() {
        let step = match decoder.decode_into(&mut instruction, &mut U8Reader::new(rest)) {
            Ok(()) => {
                let length = instruction.len().to_const();
                tally.add(length);
                length as usize
            }
            Err(_) => 1,
        };
        rest = rest.get(step..).unwrap_or_default();
    }
}

pub(super) fn one_shot(code: &[u8], starts: &[u32], tally: &mut Tally) {
    for &start in starts {
        let rest = code.get(start as usize..).unwrap_or_default();
        if let Ok(instruction) = InstDecoder::default().decode(&mut U8Reader::new(rest)) {
            tally.add(instruction.len().to_const());
        }
    }
}
