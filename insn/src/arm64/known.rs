//! What the top bits of a word tell, if it is known to be allocated.

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
    // The compiler makes nothing of it but the number.
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

/// A word that is known to be allocated, decoded.
#[inline(always)]
pub(super) fn decode_allocated(word: u32) -> Insn {
    match Way::of(known(word).0 >> 4) {
        Way::Undefined => Insn { word, way: way(word) },
        way => Insn { word, way },
    }
}

/// The way of a word whose top bits do not tell it.
#[cold]
#[inline(never)]
fn way(word: u32) -> Way {
    decode::decode(word).map_or(Way::Undefined, |insn| insn.way)
}
