//! The table of kinds, conditions and literals, which few forms have. insn/src/arm64/special.rs reads it.

use std::collections::HashMap;

use super::codes::NONE;
use super::diagram::{Cube, Diagram, UNDEFINED, restrict};
use super::hot::way;
use super::parse::Form;

/// Kinds: the attribute, and the variant of `Kind` (insn/src/arm64/kind.rs).
pub(crate) const KINDS: &[(&str, &str)] = &[
    ("plain", "Plain"),
    ("ldx", "LoadExclusive"),
    ("stx", "StoreExclusive"),
    ("clrex", "ClearExclusive"),
    ("bti", "Bti"),
    ("pacsp", "PacSp"),
    ("svc", "Svc"),
    ("brk", "Brk"),
    ("hlt", "Hlt"),
    ("udf", "Udf"),
    ("adr", "Adr"),
    ("adrp", "Adrp"),
    ("mopsp", "MemoryPrologue"),
    ("mopsm", "MemoryMain"),
    ("mopse", "MemoryEpilogue"),
    ("b.", "Branch"),
    ("b.cond", "BranchCondition"),
    ("cbz", "BranchZero"),
    ("tbz", "BranchBit"),
    ("cmpbr", "BranchCompare"),
    ("br", "BranchRegister"),
    ("auth", "BranchAuthenticated"),
    ("hint", "Hint"),
    ("mrs", "Mrs"),
    ("msr", "Msr"),
    ("msri", "MsrImmediate"),
    ("sys", "Sys"),
    ("autpc", "AuthenticateAt"),
    ("authpc", "ReturnAuthenticatedAt"),
    ("pacpc", "SignAt"),
    ("pacsppc", "PacSpAt"),
    ("pacm", "Pacm"),
    ("barrier", "Barrier"),
    ("movprfx", "Prefix"),
    ("tindex", "TIndex"),
];

/// The special properties of a form.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Special {
    /// Index in [`KINDS`].
    pub(crate) kind: usize,
    /// The lowest bit of a condition.
    pub(crate) condition: u8,
    /// Size of a literal in bytes; 0 if it is only prefetched.
    pub(crate) literal: u8,
}

/// The properties of most forms.
const PLAIN: Special = Special { kind: 0, condition: NONE, literal: NONE };

/// The table as it is emitted.
pub(crate) struct Specials {
    /// Where the forms of each top byte begin in `lists`.
    pub(crate) starts: Vec<u8>,
    /// Forms by top byte in file order.
    pub(crate) lists: Vec<u8>,
    pub(crate) forms: Vec<(u32, u32, Special)>,
}

/// The index of an attribute in [`KINDS`].
pub(crate) fn kind(attr: &str) -> Option<usize> {
    KINDS.iter().position(|(name, _)| *name == attr)
}

/// The lowest bit of the condition that an attribute names.
pub(crate) fn condition(attr: &str) -> Option<u8> {
    match attr {
        "cc0" => Some(0),
        "cc12" => Some(12),
        _ => None,
    }
}

/// The special properties of a form; `None` for a hole.
fn special(form: &Form) -> Result<Option<Special>, String> {
    if form.attrs.iter().any(|attr| way(attr) == Some(UNDEFINED)) {
        return Ok(None);
    }
    let literal = match form.memory.iter().find_map(|memory| memory.literal()) {
        Some(size) => u8::try_from(size).map_err(|_| format!("line {}: a literal of {size} bytes", form.line))?,
        None => NONE,
    };
    Ok(Some(Special {
        kind: form.attrs.iter().find_map(|attr| kind(attr)).unwrap_or(PLAIN.kind),
        condition: form.attrs.iter().find_map(|attr| condition(attr)).unwrap_or(NONE),
        literal,
    }))
}

/// Builds the table. It leaves out holes, whose words are not instructions, and plain forms, unless they contain words of a later form that
/// is not plain.
pub(crate) fn build(forms: &[Form]) -> Result<Specials, String> {
    let mut told = Vec::new();
    for form in forms {
        told.push((form.mask, form.value, special(form)?));
    }
    let mut table = Specials { starts: Vec::new(), lists: Vec::new(), forms: Vec::new() };
    for byte in 0..256u32 {
        table.starts.push(u8::try_from(table.lists.len()).map_err(|_| "too many forms that are not plain")?);
        let (top, top_mask) = (byte << 24, 0xff00_0000);
        let fits: Vec<_> = told.iter().filter(|(mask, value, _)| (value ^ top) & mask & top_mask == 0).collect();
        let mut kept: Vec<(u32, u32, Special)> = Vec::new();
        for (mask, value, special) in fits.into_iter().rev() {
            let Some(special) = *special else { continue };
            let mut later = kept.iter().filter(|(.., special)| *special != PLAIN);
            if special != PLAIN || later.any(|(m, v, _)| (v ^ value) & m & mask == 0) {
                kept.push((*mask, *value, special));
            }
        }
        for form in kept.iter().rev() {
            let number = table.forms.iter().position(|other| other == form).unwrap_or_else(|| {
                table.forms.push(*form);
                table.forms.len() - 1
            });
            table.lists.push(u8::try_from(number).map_err(|_| "too many forms that are not plain")?);
        }
        kept.reverse();
        prove(&told, &kept, top, top_mask)?;
    }
    table.starts.push(u8::try_from(table.lists.len()).map_err(|_| "too many forms that are not plain")?);
    Ok(table)
}

/// Proves that the remaining forms tell the same as all forms, for every word with this top byte that is an instruction.
fn prove(all: &[(u32, u32, Option<Special>)], left: &[(u32, u32, Special)], top: u32, mask: u32) -> Result<(), String> {
    let mut numbers = HashMap::from([(PLAIN, UNDEFINED + 1)]);
    let mut number = |special: Special| {
        let next = numbers.len() as u16 + UNDEFINED + 1;
        *numbers.entry(special).or_insert(next)
    };
    let all: Vec<Cube> =
        all.iter().map(|(mask, value, special)| (*mask, *value, special.map_or(UNDEFINED, &mut number))).collect();
    let mut left: Vec<Cube> = left.iter().map(|(mask, value, special)| (*mask, *value, number(*special))).collect();
    left.push((0, 0, number(PLAIN)));
    let mut diagram = Diagram::new(numbers.len() + 1);
    let (all, left) = (diagram.reference(&restrict(&all, mask, top)), diagram.reference(&restrict(&left, mask, top)));
    if diagram.says_of_all_allocated(all, left) {
        Ok(())
    } else {
        Err(format!("what is not plain is not told of the words from {top:#x} on"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm64::parse::parse;

    /// The properties of the first form that fits a word.
    fn told(table: &Specials, word: u32) -> Special {
        let top = (word >> 24) as usize;
        let list = &table.lists[table.starts[top].into()..table.starts[top + 1].into()];
        let mut forms = list.iter().map(|number| table.forms[usize::from(*number)]);
        forms.find(|(mask, value, _)| (word ^ value) & mask == 0).map_or(PLAIN, |(.., special)| special)
    }

    #[test]
    fn a_plain_form_is_kept_where_it_has_words_of_a_later_one_alone() {
        let text = "00000000................00000000 a\n00000000................00000001 b undef\n\
            0000000................000000000 c\n0000000................00000000. d hint\n\
            00000000................000000.. e";
        let table = build(&parse(text).unwrap()).unwrap();
        let kept: Vec<_> = table.forms.iter().map(|(mask, value, special)| (*mask, *value, special.kind)).collect();
        let hint = kind("hint").unwrap();
        assert_eq!(
            kept,
            [(0xff00_00ff, 0, 0), (0xfe00_01ff, 0, 0), (0xfe00_01fe, 0, hint)],
            "neither the hole nor what is last"
        );
        for (word, kind) in [(0x0000_0000, 0), (0x0100_0200, 0), (0x0100_0201, hint), (0x0000_0002, 0)] {
            assert_eq!(told(&table, word).kind, kind, "{word:#010x}");
        }
    }

    #[test]
    fn a_table_that_says_something_else_of_one_word_is_refused() {
        let plain = (0xffff_ffff, 0x0000_0100, PLAIN);
        let hint = (0xff00_0000, 0, Special { kind: kind("hint").unwrap(), ..PLAIN });
        let all = [plain, hint].map(|(mask, value, special)| (mask, value, Some(special)));
        assert!(prove(&all, &[plain, hint], 0, 0xff00_0000).is_ok());
        assert!(prove(&all, &[hint], 0, 0xff00_0000).is_err(), "the plain word is told to be a hint");
        assert!(prove(&all, &[plain], 0, 0xff00_0000).is_err(), "hints are told to be plain");
        let hole = [(plain.0, plain.1, None), all[1]];
        assert!(prove(&hole, &[hint], 0, 0xff00_0000).is_ok(), "of what is no instruction anything may be told");
    }
}
