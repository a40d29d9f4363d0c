//! Filters: `"arg0 >= 4096"`, lists of which all hold, and tables with `any`, `all`, `not`, `process`, `thread` or `executable`.

use ubp::rules::{Filter, Glob};
use ubp::{Comparison, Pid, Tid};

use super::value::{number, value};
use crate::item::{Item, Wrong};

/// The signs of comparisons. Those with `s` compare signed numbers.
const COMPARISONS: [(&str, Comparison); 11] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Below),
    ("<=", Comparison::BelowOrEqual),
    (">", Comparison::Above),
    (">=", Comparison::AboveOrEqual),
    ("s<", Comparison::Less),
    ("s<=", Comparison::LessOrEqual),
    ("s>", Comparison::Greater),
    ("s>=", Comparison::GreaterOrEqual),
    ("has", Comparison::HasBits),
];

/// The deepest nesting that is read. The library's bound is lower.
const DEEPEST: u32 = 32;

pub(super) fn read(item: &Item<'_>) -> Result<Filter, Wrong> {
    within(item, DEEPEST)
}

fn within(item: &Item<'_>, left: u32) -> Result<Filter, Wrong> {
    let left = left.checked_sub(1).ok_or_else(|| item.wrong("the filter is nested too deep"))?;
    let parts = |item: &Item<'_>| item.values()?.iter().map(|part| within(part, left)).collect::<Result<Vec<_>, _>>();
    if item.is_list() {
        return parts(item).map(Filter::All);
    }
    if !item.is_table() {
        return comparison(item);
    }
    let (key, item) = item.single()?;
    Ok(match key {
        "all" => Filter::All(parts(&item)?),
        "any" => Filter::Any(parts(&item)?),
        "not" => Filter::Not(Box::new(within(&item, left)?)),
        "process" => Filter::Process(Pid(item.number()?)),
        "thread" => Filter::Thread(Tid(item.number()?)),
        "executable" => Filter::Executable(Glob::new(item.text()?)),
        other => {
            return Err(
                item.wrong(format!("no such filter: '{other}'; there are all, any, not, process, thread, executable"))
            );
        }
    })
}

fn comparison(item: &Item<'_>) -> Result<Filter, Wrong> {
    let text = item.text()?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let parsed = match words[..] {
        [left, sign, right] => {
            let sign = COMPARISONS.iter().find(|(known, _)| *known == sign);
            value(left).zip(sign).zip(number(right))
        }
        _ => None,
    };
    let ((left, (_, comparison)), right) = parsed.ok_or_else(|| {
        let signs = COMPARISONS.map(|(sign, _)| sign).join(" ");
        item.wrong(format!("not a comparison: '{text}'; write VALUE SIGN NUMBER, with one of the signs {signs}"))
    })?;
    Ok(Filter::Compare { left, comparison: *comparison, right })
}
