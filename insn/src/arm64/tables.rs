//! Types of the generated tables' entries.

use super::Kind;
use super::way::{Way, Ways};
use crate::Flow;

/// The tables that most words need, in one object.
#[repr(C)]
pub(super) struct Hot {
    pub(super) ways: Ways,
    /// By bits 31 to 21: the number of a class of words.
    pub(super) first: [u8; 2048],
    /// By class: the way of words that have `values` under `masks`, as most words of the class.
    pub(super) way: [Way; 256],
    pub(super) masks: [u32; 256],
    pub(super) values: [u32; 256],
}

/// Words with `value` under `mask`, and their way. Packed, because there are many, which are seldom used.
#[repr(C, packed)]
pub(super) struct Set {
    pub(super) mask: u32,
    pub(super) value: u32,
    pub(super) way: Way,
}

/// The flow of all allocated words with the same top bits in the low four bits, and their way in the high four bits.
#[derive(Clone, Copy)]
pub(super) struct Known(pub(super) u8);

impl Known {
    /// The words have several flows.
    pub(super) const NOTHING: Known = Known(15);

    /// The words have one flow and several ways.
    pub(super) const fn flow(flow: Flow) -> Known {
        Known(flow as u8)
    }
    pub(super) const fn way(way: Way) -> Known {
        Known(way.flow() as u8 | (way as u8) << 4)
    }
}

/// A form: words with `value` under `mask` that fit no earlier form.
pub(super) struct Form {
    pub(super) mask: u32,
    pub(super) value: u32,
    /// Bits of [`super::codes::when`].
    pub(super) unless: u16,
}

/// A form in the table of special properties: words with `value` under `mask` that fit no earlier form.
pub(super) struct SpecialForm {
    pub(super) mask: u32,
    pub(super) value: u32,
    pub(super) special: Special,
}

/// Special properties of a form.
pub(super) struct Special {
    pub(super) kind: Kind,
    /// The lowest bit of the condition, or [`NONE`](super::codes::NONE).
    pub(super) condition: u8,
    /// Size of a literal in bytes, 0 for a prefetch, or [`NONE`](super::codes::NONE). Bits 23 to 5 are its distance in words.
    pub(super) literal: u8,
}

/// A set of words and the list of their operands.
pub(super) struct Line {
    pub(super) mask: u32,
    pub(super) value: u32,
    /// Place of the first operand in the lists.
    pub(super) start: u16,
    pub(super) count: u8,
}

/// A number in a word: a row of bits, times `scale` plus `add`; or a function of its own.
pub(super) struct Value {
    /// Start and length in the list of bits.
    pub(super) bits: (u16, u8),
    pub(super) signed: bool,
    pub(super) scale: i16,
    pub(super) add: i16,
    pub(super) special: u8,
}

/// Bits that choose an item.
pub(super) struct Choice {
    /// Start and length in the list of bits.
    pub(super) bits: (u16, u8),
    /// Place of the first item.
    pub(super) start: u16,
}
