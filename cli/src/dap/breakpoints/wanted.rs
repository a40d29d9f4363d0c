//! The breakpoints that the client wants, whatever programs there are.

use std::collections::BTreeMap;

use super::hit_count::HitCount;
use crate::dap::exceptions::Thrower;
use crate::dap::template::{self, Part};
use crate::filter::{Filter, Formula, pointed};

/// What a breakpoint is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Site {
    Line {
        path: String,
        line: u64,
    },
    Function(String),
    /// An instruction.
    Address(u64),
    Thrower(Thrower),
}

/// When a breakpoint stops the program, and what it says instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) condition: Option<String>,
    pub(super) hits: Option<String>,
    pub(super) log: Option<String>,
}

/// A part of what a log point says.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Text(String),
    /// The value of an expression, and its text.
    Value(Formula, String),
}

/// A breakpoint.
#[derive(Clone, Debug)]
pub(super) struct One {
    pub(super) site: Site,
    terms: Terms,
    pub(super) condition: Option<Filter>,
    pub(super) hits: Option<HitCount>,
    pub(super) log: Option<Vec<Said>>,
    /// Why the terms make no sense. Such a breakpoint is set nowhere.
    pub(super) wrong: Option<String>,
    /// Why an address of the site has no breakpoint.
    pub(super) refused: Option<String>,
    /// The number of arrivals for which the condition held.
    pub(super) count: u64,
}

/// All breakpoints, by their numbers.
#[derive(Debug, Default)]
pub(in crate::dap) struct Wanted {
    pub(super) all: BTreeMap<u64, One>,
    last: u64,
}

impl One {
    fn new(site: Site, terms: Terms) -> One {
        let mut one = One { site, terms, condition: None, hits: None, log: None, wrong: None, refused: None, count: 0 };
        one.wrong = one.read_terms().err();
        one
    }

    fn read_terms(&mut self) -> Result<(), String> {
        if let Some(text) = given(self.terms.condition.as_ref()) {
            self.condition = Some(Filter::parse(text).map_err(|problem| told(text, &problem))?);
        }
        if let Some(text) = given(self.terms.hits.as_ref()) {
            self.hits = Some(HitCount::parse(text)?);
        }
        if let Some(text) = given(self.terms.log.as_ref()) {
            let said = |part| match part {
                Part::Text(text) => Ok(Said::Text(text)),
                Part::Expression(text) => {
                    let formula = Formula::parse(&text).map_err(|problem| told(&text, &problem))?;
                    Ok(Said::Value(formula, text))
                }
            };
            self.log = Some(template::parse(text)?.into_iter().map(said).collect::<Result<_, String>>()?);
        }
        Ok(())
    }

    /// Whether the code of a jump can do all that an arrival is for: a log point that says the same at each.
    pub(super) fn is_plain_log(&self) -> bool {
        let plain = |said: &[Said]| said.iter().all(|part| matches!(part, Said::Text(_)));
        self.hits.is_none() && self.log.as_deref().is_some_and(plain)
    }
}

/// A text that is there and has more than spaces.
fn given(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.trim().is_empty())
}

/// A problem in one line.
fn told(text: &str, problem: &crate::filter::Problem) -> String {
    let [_, caret] = pointed(text, problem);
    // The number of spaces before the caret is two more than the place.
    let place = caret.chars().count().saturating_sub(2);
    format!("{problem} (at character {place} of: {text})")
}

impl Wanted {
    /// Adds a breakpoint, or finds one of `old` that is the same, and returns its number.
    pub(super) fn add(&mut self, old: &[u64], site: Site, terms: Terms) -> u64 {
        let same = |number: &&u64| self.all.get(number).is_some_and(|one| one.site == site && one.terms == terms);
        if let Some(number) = old.iter().find(same) {
            return *number;
        }
        self.last += 1;
        self.all.insert(self.last, One::new(site, terms));
        self.last
    }

    /// The breakpoints at sites that satisfy a predicate.
    pub(super) fn at(&self, is_meant: impl Fn(&Site) -> bool) -> Vec<u64> {
        self.all.iter().filter(|(_, one)| is_meant(&one.site)).map(|(number, _)| *number).collect()
    }

    /// Whether a breakpoint's hits may be recorded.
    pub(in crate::dap) fn has_plain_logs(&self) -> bool {
        self.all.values().any(One::is_plain_log)
    }

    pub(in crate::dap) fn contains(&self, number: u64) -> bool {
        self.all.contains_key(&number)
    }

    /// The protocol's word for the kind of a breakpoint.
    pub(in crate::dap) fn word(&self, number: u64) -> &'static str {
        match self.all.get(&number).map(|one| &one.site) {
            Some(Site::Function(_)) => "function breakpoint",
            Some(Site::Address(_)) => "instruction breakpoint",
            _ => "breakpoint",
        }
    }

    /// The exception at whose throwing a breakpoint stops, in the user's words.
    pub(in crate::dap) fn thrown(&self, number: u64) -> Option<&'static str> {
        match self.all.get(&number).map(|one| &one.site) {
            Some(Site::Thrower(thrower)) => Some(thrower.words),
            _ => None,
        }
    }
}
