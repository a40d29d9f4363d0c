//! The way to choose the form of a valid instruction among those of its opcode: by one field if that is enough, else by the rules.

use super::codes::key::{EXT, MEM, PP, REG, W};
use super::codes::{rule, select};

/// A way to choose, and for a rule whether it allows each value of the field.
type Field = (u16, fn(u64) -> Vec<bool>);

/// The fields, the cheapest first.
const FIELDS: [Field; 4] = [
    (select::MODE, |rule| vec![rule & MEM != 0, rule & REG != 0]),
    (select::EXTENSION, |rule| bits(rule, EXT, 8)),
    (select::PREFIX, |rule| bits(rule, PP, 4)),
    (select::W, |rule| bits(rule, W, 2)),
];

fn bits(rule: u64, position: u32, count: u32) -> Vec<bool> {
    (0..count).map(|value| rule >> (position + value) & 1 != 0).collect()
}

/// The way to choose, one of [`mod@select`], and the forms to choose from. `rules` has an opcode's rules, each with its form.
pub(crate) fn select(rules: &[(u64, u16)]) -> (u16, Vec<u16>) {
    let valid: Vec<_> = rules.iter().filter(|(rule, _)| rule & rule::REFUSED == 0).collect();
    let first = valid.first().map_or(0, |(_, form)| *form);
    if valid.iter().all(|(_, form)| *form == first) {
        return (select::ONE, vec![first]);
    }
    let by_field = FIELDS.iter().find_map(|(way, values)| {
        let count = values(0).len();
        let chosen = (0..count).map(|value| {
            let mut forms = valid.iter().filter(|(rule, _)| values(*rule)[value]).map(|(_, form)| *form);
            let form = forms.next().unwrap_or(0);
            forms.all(|other| other == form).then_some(form)
        });
        Some((*way, chosen.collect::<Option<Vec<u16>>>()?))
    });
    by_field.unwrap_or_else(|| (select::RULE, rules.iter().map(|(_, form)| *form).collect()))
}
