//! Zydis.

use zydis::{AllOperands, Decoder, NoOperands, Operands};

use crate::tally::Tally;

pub(super) fn length(code: &[u8], tally: &mut Tally) {
    sweep::<NoOperands>(code, tally);
}

pub(super) fn full(code: &[u8], tally: &mut Tally) {
    sweep::<AllOperands>(code, tally);
}

pub(super) fn one_shot(code: &[u8], starts: &[u32], tally: &mut Tally) {
    for &start in starts {
        let rest = code.get(start as usize..).unwrap_or_default();
        if let Ok(Some(instruction)) = Decoder::new64().decode_first::<NoOperands>(rest) {
            tally.add(u64::from(instruction.length));
        }
    }
}

fn sweep<O: Operands>(code: &[u8], tally: &mut Tally) {
    let decoder = Decoder::new64();
    let mut rest = code;
    while !rest.is_empty() {
        let step = match decoder.decode_first::<O>(rest) {
            Ok(Some(instruction)) => {
                tally.add(u64::from(instruction.length));
                usize::from(instruction.length)
            }
            _ => 1,
        };
        rest = rest.get(step..).unwrap_or_default();
    }
}
