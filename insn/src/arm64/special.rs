//! What an instruction is beside its flow and effects: a small table (`generated/special.rs`), written by insn/gen/src/arm64/special.rs.

use super::generated::special::{FORMS, LISTS, STARTS};
use super::{Insn, Kind};

/// Words that fit `value` under `mask`, unless an earlier form has them.
pub(super) struct Form {
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

pub(super) const NONE: u8 = u8::MAX;

/// Of what fits no form, as most words.
static PLAIN: Special = Special { kind: Kind::Plain, condition: NONE, literal: NONE };

impl Insn {
    /// What the first form that fits says.
    #[inline(never)]
    pub(super) fn special(&self) -> &'static Special {
        let top = (self.word >> 24) as usize;
        let list = match STARTS.get(top..) {
            Some([start, end, ..]) => LISTS.get(usize::from(*start)..usize::from(*end)).unwrap_or(&[]),
            _ => &[],
        };
        list.iter()
            .filter_map(|number| FORMS.get(usize::from(*number)))
            .find(|form| (self.word ^ form.value) & form.mask == 0)
            .map_or(&PLAIN, |form| &form.special)
    }
}
