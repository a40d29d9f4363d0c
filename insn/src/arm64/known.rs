//! Words that are known to be allocated: what their top bits tell.

use super::generated::hot::KNOWN;
use super::tables::Known;
use super::way::Way;
use super::{Insn, decode};
use crate::Flow;

#[inline(always)]
fn known(word: u32) -> Known {
    KNOWN[(word >> 21) as usize]
}

/// The flow of a word that is known to be allocated.
#[inline(always)]
pub(super) fn flow_of_allocated(word: u32) -> Flow {
    // Compiles to nothing: the number is the variant.
    match known(word).0 & 15 {
        0 => Flow::Next,
        1 => Flow::Jump,
        2 => Flow::ConditionalJump,
        3 => Flow::Call,
        4 => Flow::Return,
        5 => Flow::Syscall,
        6 => Flow::Interrupt,
        7 => Flow::Trap,
        8 => Flow::Far,
        9 => Flow::Transaction,
        10 => Flow::Privileged,
        11 => Flow::Faulting,
        _ => way(word).flow(),
    }
}

/// Decodes a word that is known to be allocated.
#[inline(always)]
pub(super) fn decode_allocated(word: u32) -> Insn {
    match Way::of(known(word).0 >> 4) {
        Way::Undefined => Insn { word, way: way(word) },
        way => Insn { word, way },
    }
}

/// The way of a word whose top bits are not sufficient.
#[cold]
#[inline(never)]
fn way(word: u32) -> Way {
    decode::decode(word).map_or(Way::Undefined, |insn| insn.way)
}
