//! Tables that tell a number of each rule of an opcode.

use super::codes::space;
use super::parse::Form;
use super::rules;
use crate::write::{array, row};
use std::collections::{BTreeMap, HashMap};

/// The form of every rule of every opcode, in order.
pub(crate) fn forms_of_rules(
    forms: &[Form],
    slots: &BTreeMap<(usize, u8), Vec<usize>>,
) -> BTreeMap<(usize, u8), Vec<usize>> {
    let of_form = |i: &usize| rules::rules(&forms[*i]).into_iter().map(|_| *i).collect::<Vec<_>>();
    slots.iter().map(|(slot, list)| (*slot, list.iter().flat_map(of_form).collect())).collect()
}

/// What is told of the rules of each opcode, in the order of its rules.
#[derive(Default)]
pub(crate) struct ByRule {
    starts: HashMap<Vec<u16>, u16>,
    lists: Vec<u16>,
    at: BTreeMap<(usize, u8), u16>,
}

impl ByRule {
    /// Adds an opcode.
    pub(crate) fn add(&mut self, slot: (usize, u8), items: Vec<u16>) {
        let lists = &mut self.lists;
        if lists.is_empty() {
            lists.push(0);
        }
        let start = *self.starts.entry(items).or_insert_with_key(|items| {
            lists.extend(items);
            (lists.len() - items.len()) as u16
        });
        self.at.insert(slot, start);
    }

    /// Writes the tables: pages by space and opcode row, starts by opcode, lists of what is told.
    pub(crate) fn emit(&self, out: &mut String, told: &str) {
        let mut pages: Vec<[u16; 16]> = vec![[0; 16]];
        let mut rows = Vec::new();
        for space in 0..space::NAMES.len() {
            let numbers: [usize; 16] = std::array::from_fn(|high| {
                let start = |low: usize| self.at.get(&(space, (high * 16 + low) as u8)).copied().unwrap_or(0);
                let page = std::array::from_fn(start);
                pages.iter().position(|other| *other == page).unwrap_or_else(|| {
                    pages.push(page);
                    pages.len() - 1
                })
            });
            rows.push(numbers);
        }
        assert!(pages.len() <= 256, "more pages than a row's byte can name");
        array(out, "Page by space and opcode row.", "ROWS", "[u8; 16]", &rows, 1, |r| row(r));
        array(out, "Start of an opcode's list.", "PAGES", "[u16; 16]", &pages, 1, |r| row(r));
        array(out, told, "LISTS", "u16", &self.lists, 12, u16::to_string);
    }
}
