//! What a form reads and writes: look-ups in the cold tables (`generated/forms.rs`).

use super::Insn;
use super::codes::memory::NONE;
use super::generated::forms::{FORMS, LISTS, MEANINGS, OPERANDS, STARTS};
use super::tables::Meaning;

/// The meaning of a word that the tables do not know. There is none.
static NOTHING: Meaning = Meaning { operands: (0, 0), memory: [NONE; 2], flags: (0, 0), set: 0, unpredictable: 0 };

impl Meaning {
    pub(super) fn operands(&self) -> &'static [u32] {
        let (start, count) = (usize::from(self.operands.0), usize::from(self.operands.1));
        OPERANDS.get(start..).and_then(|rest| rest.get(..count)).unwrap_or(&[])
    }
}

impl Insn {
    /// The meaning of the first form that fits.
    #[inline(never)]
    pub(super) fn meaning(&self) -> &'static Meaning {
        let top = (self.word >> 21) as usize;
        let start = STARTS.get(top).copied().unwrap_or(0);
        let list = LISTS.get(usize::from(start)..).unwrap_or(&[]);
        list.iter()
            .filter_map(|number| FORMS.get(usize::from(*number)))
            .find(|form| (self.word ^ form.value) & form.mask == 0)
            .and_then(|form| MEANINGS.get(usize::from(form.meaning)))
            .unwrap_or(&NOTHING)
    }
}
