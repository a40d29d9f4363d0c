//! The table of names: of each form the number of a name, or a choice by bits of the word.

#[path = "../../../src/arm64/choice.rs"]
mod choice;

use super::parse::Form;
use crate::names::Names;
use crate::write::{array, head};
use choice::CHOICE;
use std::collections::HashMap;

/// Most bits that a choice is by.
const MOST_BITS: usize = 7;

/// The number of bits that choose, their numbers from the highest of the value on, and a name for each value.
fn choice(bits: &str, text: &str, names: &mut Names) -> Result<Vec<u16>, String> {
    let bits: Vec<u16> = bits.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| "no number of a bit")?;
    let listed: Vec<&str> = text.split('/').collect();
    if bits.len() > MOST_BITS || bits.iter().any(|bit| *bit > 31) || listed.len() > 1 << bits.len() {
        return Err("too many bits or names".into());
    }
    let named = (0..1 << bits.len()).map(|value: usize| listed.get(value).map_or(0, |name| names.number(name)));
    let named: Vec<u16> = named.collect();
    Ok([vec![bits.len() as u16], bits, named].concat())
}

/// The text of the table.
pub(crate) fn table(forms: &[Form]) -> Result<String, String> {
    let (mut names, mut choices, mut starts) = (Names::new(), Vec::new(), HashMap::new());
    let mut items = Vec::new();
    for form in forms {
        let error = |e: String| format!("line {}: {e}: {}", form.line, form.name);
        let Some((bits, text)) = form.name.split_once(':') else {
            items.push(names.number(&form.name));
            continue;
        };
        let choice = choice(bits, text, &mut names).map_err(error)?;
        let start = *starts.entry(choice).or_insert_with_key(|choice| {
            choices.extend(choice);
            choices.len() - choice.len()
        });
        let start = u16::try_from(start).ok().filter(|start| start & CHOICE == 0);
        items.push(start.ok_or_else(|| error("too many choices".into()))? | CHOICE);
    }
    let mut out = head("encodings.txt");
    array(&mut out, "Name or choice, by the number of a form.", "ITEMS", "u16", &items, 16, u16::to_string);
    let told = "Choices: how many bits, their numbers, and a name for each value.";
    array(&mut out, told, "CHOICES", "u16", &choices, 16, u16::to_string);
    names.emit(&mut out);
    Ok(out)
}
