//! The table of forms: sets of words, and when they are CONSTRAINED UNPREDICTABLE. insn/src/arm64/form.rs reads it.

use super::codes::when;
use super::parse::Form;
use super::tree::TOP;
use std::collections::HashMap;

/// The tables as they are emitted.
pub(crate) struct Cold {
    /// Where the forms of words with the same top bits begin in `lists`.
    pub(crate) starts: Vec<u16>,
    /// Forms by top bits in file order.
    pub(crate) lists: Vec<u16>,
    /// Mask, value, and bits of [`when`].
    pub(crate) forms: Vec<(u32, u32, u16)>,
}

/// When words of the form are unpredictable.
fn unpredictable(form: &Form) -> Result<u16, String> {
    let mut bits = 0;
    for name in form.attrs.iter().filter_map(|attr| attr.strip_prefix("unless:")).flat_map(|names| names.split(',')) {
        let found = when::NAMES.iter().find(|(text, _)| *text == name);
        bits |= found.ok_or_else(|| format!("line {}: no such attribute: {name}", form.line))?.1;
    }
    Ok(bits)
}

/// Builds the tables.
pub(crate) fn build(forms: &[Form]) -> Result<Cold, String> {
    let mut cold = Cold { starts: Vec::new(), lists: Vec::new(), forms: Vec::new() };
    for form in forms {
        cold.forms.push((form.mask, form.value, unpredictable(form)?));
    }
    // Words with other top bits may have the same forms to try.
    let mut known: HashMap<Vec<u16>, u16> = HashMap::new();
    for top in 0..1 << TOP {
        let fits =
            |(mask, value, _): &&(u32, u32, u16)| (top << (32 - TOP) ^ value) & mask >> (32 - TOP) << (32 - TOP) == 0;
        let list: Vec<u16> = (0..).zip(&cold.forms).filter(|(_, form)| fits(form)).map(|(i, _)| i).collect();
        if !known.contains_key(&list) {
            let start = u16::try_from(cold.lists.len()).map_err(|_| "too many forms")?;
            cold.lists.extend(&list);
            known.insert(list.clone(), start);
        }
        cold.starts.push(known[&list]);
    }
    Ok(cold)
}
