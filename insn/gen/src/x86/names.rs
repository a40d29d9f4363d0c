//! The tables of names: of each rule of an opcode the number of a name, or a choice by a field.

#[path = "../../../src/x86/choice.rs"]
mod choice;

use super::by_rule::ByRule;
use super::parse::Form;
use crate::names::Names;
use crate::write::{array, head};
use choice::CHOICE;
use std::collections::{BTreeMap, HashMap};

/// What opcodes.txt calls a field, its code, and the number of its values.
const FIELDS: [(&str, u16, usize); 9] = [
    ("reg", choice::REG, 8),
    ("rm", choice::RM, 16),
    ("mod", choice::MOD, 2),
    ("osz", choice::OPERAND_SIZE, 3),
    ("asz", choice::ADDRESS_SIZE, 3),
    ("W", choice::W, 2),
    ("w", choice::LONG_W, 2),
    ("rex2w", choice::REX2_W, 2),
    ("pp", choice::PREFIX, 4),
];
/// Condition codes by their number (SDM vol. 1, appendix B).
const CONDITIONS: [&str; 16] = ["o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"];
/// Numbers 10 and 11 as source condition codes: true and false.
const TRUE_FALSE: [&str; 2] = ["t", "f"];

#[derive(Default)]
struct Choices {
    /// A field, and a name for each of its values; one after the other.
    all: Vec<u16>,
    starts: HashMap<Vec<u16>, usize>,
}

impl Choices {
    fn item(&mut self, choice: Vec<u16>) -> Result<u16, String> {
        let all = &mut self.all;
        let start = *self.starts.entry(choice).or_insert_with_key(|choice| {
            all.extend(choice);
            all.len() - choice.len()
        });
        u16::try_from(start)
            .ok()
            .filter(|start| start & CHOICE == 0)
            .map(|start| start | CHOICE)
            .ok_or("too many choices".into())
    }
}

/// The name's item of a form: its number or a choice.
fn item(form: &Form, names: &mut Names, choices: &mut Choices) -> Result<u16, String> {
    if let Some((field, text)) = form.mnemonic.split_once('=') {
        let (_, code, values) = FIELDS.into_iter().find(|(name, ..)| *name == field).ok_or("unknown field")?;
        let listed: Vec<&str> = text.split('/').collect();
        if listed.len() > values {
            return Err(format!("more than {values} names"));
        }
        let named = (0..values).map(|value| listed.get(value).map_or(0, |name| names.number(name)));
        let choice = [code].into_iter().chain(named).collect();
        return choices.item(choice);
    }
    if form.mnemonic.contains('/') {
        return Err("names without a field".into());
    }
    // `pfacc` ends with the letters, too.
    let conditional = form.mnemonic.rsplit_once("cc").filter(|_| form.has("cc") || form.has("scc"));
    let Some((before, after)) = conditional else {
        return Ok(names.number(&form.mnemonic));
    };
    if !form.has("scc") {
        return Ok(names.number(&format!("{before}{}{after}", CONDITIONS[usize::from(form.opcode & 15)])));
    }
    let mut choice = vec![choice::SCC];
    for (number, condition) in CONDITIONS.into_iter().enumerate() {
        let condition = number.checked_sub(10).and_then(|n| TRUE_FALSE.get(n)).map_or(condition, |text| *text);
        choice.push(names.number(&format!("{before}{condition}{after}")));
    }
    choices.item(choice)
}

/// The text of the tables; `rules` names the form of every rule of every opcode, in order.
pub(crate) fn tables(forms: &[Form], rules: &BTreeMap<(usize, u8), Vec<usize>>) -> Result<String, String> {
    let (mut names, mut choices) = (Names::new(), Choices::default());
    let mut by_rule = ByRule::default();
    for (slot, list) in rules {
        let of_rule = |i: &usize| {
            let form = &forms[*i];
            item(form, &mut names, &mut choices).map_err(|e| format!("line {}: {e}: {}", form.line, form.mnemonic))
        };
        by_rule.add(*slot, list.iter().map(of_rule).collect::<Result<Vec<u16>, String>>()?);
    }
    let mut out = head("opcodes.txt");
    by_rule.emit(&mut out, "Names or choices, one per rule of an opcode.");
    array(&mut out, "Choices: a field, and a name for each value.", "CHOICES", "u16", &choices.all, 12, u16::to_string);
    names.emit(&mut out);
    Ok(out)
}
