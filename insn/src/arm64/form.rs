//! What a form reads and writes: the cold tables (`generated/forms.rs`), written by insn/gen/src/arm64/forms.rs.

use super::Insn;
use super::generated::forms::{FORMS, LISTS, MEANINGS, OPERANDS, STARTS};

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

pub(super) const NO_MEMORY: u32 = u32::MAX;

/// Of an instruction that the cold tables do not know, which none is.
static NOTHING: Meaning = Meaning { operands: (0, 0), memory: [NO_MEMORY; 2], flags: (0, 0), set: 0, unpredictable: 0 };

impl Meaning {
    pub(super) fn operands(&self) -> &'static [u32] {
        let (start, count) = (usize::from(self.operands.0), usize::from(self.operands.1));
        OPERANDS.get(start..).and_then(|rest| rest.get(..count)).unwrap_or(&[])
    }
}

impl Insn {
    /// What the first form that fits means.
    #[inline(never)]
    pub(super) fn meaning(&self) -> &'static Meaning {
        let top = (self.word >> 24) as usize;
        let start = STARTS.get(top).copied().unwrap_or(0);
        let list = LISTS.get(usize::from(start)..).unwrap_or(&[]);
        list.iter()
            .filter_map(|number| FORMS.get(usize::from(*number)))
            .find(|form| (self.word ^ form.value) & form.mask == 0)
            .and_then(|form| MEANINGS.get(usize::from(form.meaning)))
            .unwrap_or(&NOTHING)
    }
}
