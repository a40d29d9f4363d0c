//! What the generated tables are made of.

use super::Kind;
use super::way::{Way, Ways};
use crate::Flow;

/// What most words need, in one place.
#[repr(C)]
pub(super) struct Hot {
    pub(super) ways: Ways,
    /// By bits 31 to 21: the number of a class, whose words the top bits tell apart from others.
    pub(super) first: [u8; 2048],
    /// Words that have `values` under `masks`, as most have, have that way.
    pub(super) way: [Way; 256],
    pub(super) masks: [u32; 256],
    pub(super) values: [u32; 256],
}

/// Words with `value` under `mask`, and their way. Packed: they are many, and seldom looked at.
#[repr(C, packed)]
pub(super) struct Set {
    pub(super) mask: u32,
    pub(super) value: u32,
    pub(super) way: Way,
}

/// The flow of all allocated words that have the same top bits, in the low four bits, and their way in the high ones.
#[derive(Clone, Copy)]
pub(super) struct Known(pub(super) u8);

impl Known {
    /// They have more flows than one.
    pub(super) const NOTHING: Known = Known(15);

    /// They have more ways than one.
    pub(super) const fn flow(flow: Flow) -> Known {
        Known(flow as u8)
    }
    pub(super) const fn way(way: Way) -> Known {
        Known(way.flow() as u8 | (way as u8) << 4)
    }
}

/// Words that fit `value` under `mask`, unless an earlier form has them.
pub(super) struct Form {
    pub(super) mask: u32,
    pub(super) value: u32,
    /// Number of its meaning.
    pub(super) meaning: u16,
}

/// What a form means.
pub(super) struct Meaning {
    /// First of its operands and their count.
    pub(super) operands: (u16, u16),
    /// See [`super::memory`]; [`NO_MEMORY`].
    pub(super) memory: [u32; 2],
    /// NZCV read and written.
    pub(super) flags: (u8, u8),
    /// Number of the implicit registers.
    pub(super) set: u8,
    /// See [`super::unpredictable`].
    pub(super) unpredictable: u16,
}

/// Words that fit `value` under `mask`, unless an earlier form has them.
pub(super) struct SpecialForm {
    pub(super) mask: u32,
    pub(super) value: u32,
    pub(super) special: Special,
}

/// What is told of them.
pub(super) struct Special {
    pub(super) kind: Kind,
    /// The lowest bit of the condition; [`NONE`].
    pub(super) condition: u8,
    /// Bytes that are loaded from bits 23 to 5 times four after the instruction, 0 of a prefetch; [`NONE`].
    pub(super) literal: u8,
}
