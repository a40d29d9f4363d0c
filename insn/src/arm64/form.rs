//! The form of a word: look-ups in the cold tables (`generated/forms.rs`).

use super::Insn;
use super::generated::forms::{FORMS, LISTS, STARTS};
use super::tables::Form;

impl Insn {
    /// The first form that fits, and its number.
    #[inline(never)]
    pub(super) fn form(&self) -> Option<(u16, &'static Form)> {
        let start = *STARTS.get((self.word >> 21) as usize)?;
        let list = LISTS.get(usize::from(start)..)?;
        let mut forms = list.iter().filter_map(|number| Some((*number, FORMS.get(usize::from(*number))?)));
        forms.find(|(_, form)| (self.word ^ form.value) & form.mask == 0)
    }
}
