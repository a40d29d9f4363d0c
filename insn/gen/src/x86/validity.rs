//! The validity tables: per opcode a list of rules, shared where equal.

use super::codes::space;
use super::parse::Form;
use super::rules;
use std::collections::{BTreeMap, HashMap};

/// Marks the last rule of a list.
const LAST: u16 = 0x8000;

/// The tables as they are emitted.
pub(crate) struct Validity {
    /// Page number per space and opcode row (high five bits).
    pub rows: Vec<[u8; 32]>,
    /// Start in `lists` per opcode of a page; 0: no such opcode.
    pub pages: Vec<[u16; 8]>,
    pub lists: Vec<u16>,
    pub rules: Vec<u64>,
}

/// Interns the rules of all forms.
pub(crate) fn build(forms: &[Form], slots: &BTreeMap<(usize, u8), Vec<usize>>) -> Validity {
    let mut rule_numbers: HashMap<u64, u16> = HashMap::new();
    let mut all_rules = Vec::new();
    let mut wanted: BTreeMap<(usize, u8), Vec<u16>> = BTreeMap::new();
    for (slot, list) in slots {
        for i in list {
            for rule in rules::rules(&forms[*i]) {
                let number = *rule_numbers.entry(rule).or_insert_with(|| {
                    all_rules.push(rule);
                    all_rules.len() as u16 - 1
                });
                wanted.entry(*slot).or_default().push(number);
            }
        }
        if let Some(last) = wanted.get_mut(slot).and_then(|l| l.last_mut()) {
            *last |= LAST;
        }
    }
    // Longest first, so that a short list can be the end of a longer one.
    let mut unique: Vec<&Vec<u16>> = wanted.values().collect();
    unique.sort_by_key(|l| std::cmp::Reverse((l.len(), (*l).clone())));
    unique.dedup();
    let mut lists: Vec<u16> = vec![LAST];
    let mut starts: HashMap<&Vec<u16>, u16> = HashMap::new();
    for list in unique {
        let found = lists.windows(list.len()).skip(1).position(|w| w == &list[..]).map(|p| p + 1);
        let start = found.unwrap_or_else(|| {
            lists.extend_from_slice(list);
            lists.len() - list.len()
        });
        starts.insert(list, start as u16);
    }
    let mut pages: Vec<[u16; 8]> = vec![[0; 8]];
    let mut rows = vec![[0u8; 32]; space::NAMES.len()];
    for (space, row) in rows.iter_mut().enumerate() {
        for (high, number) in row.iter_mut().enumerate() {
            let page: [u16; 8] =
                std::array::from_fn(|low| wanted.get(&(space, (high * 8 + low) as u8)).map_or(0, |l| starts[l]));
            let index = pages.iter().position(|p| *p == page).unwrap_or_else(|| {
                pages.push(page);
                pages.len() - 1
            });
            assert!(index < 256, "more pages than a row's byte can name");
            *number = index as u8;
        }
    }
    Validity { rows, pages, lists, rules: all_rules }
}
