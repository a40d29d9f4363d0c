//! The stacks in the form in which they are written.

use std::cmp::Reverse;
use std::rc::Rc;

use serde::{Serialize, Serializer};

use crate::commands::flame;
use crate::failure::Result;
use crate::output::{Ink, Output, record};
use crate::process::{Description, source};

/// The results. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    /// All hits, those of `other` too.
    total: u64,
    stacks: Vec<Row>,
    /// The hits that have no row of their own.
    other: u64,
}

/// The hits with one stack.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) hits: u64,
    #[serde(flatten, serialize_with = "shared")]
    at: Rc<Description>,
    /// The callers, the innermost first.
    #[serde(serialize_with = "all_shared")]
    stack: Vec<Rc<Description>>,
    /// Whether the outermost callers of some hits are missing.
    #[serde(rename = "stack_cut", skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_cut: bool,
}

impl Row {
    /// A location and its callers, the innermost first, without hits.
    pub(super) fn new(at: Rc<Description>, stack: Vec<Rc<Description>>) -> Row {
        Row { hits: 0, at, stack, is_cut: false }
    }

    /// The functions with a semicolon between, the outermost first.
    fn folded(&self) -> String {
        let callers = self.stack.iter().rev().map(|caller| flame::function(caller));
        let missing = self.is_cut.then(|| "…".to_string());
        missing.into_iter().chain(callers).chain([flame::name(&self.at.location)]).collect::<Vec<_>>().join(";")
    }
}

impl Results {
    /// The `shown` rows with most hits, those first, and the sum of the others.
    pub(super) fn new(mut rows: Vec<Row>, other: u64, shown: usize) -> Results {
        rows.sort_by_cached_key(|row| (Reverse(row.hits), row.folded()));
        let total = rows.iter().map(|row| row.hits).sum::<u64>() + other;
        rows.truncate(shown);
        let other = total - rows.iter().map(|row| row.hits).sum::<u64>();
        Results { total, stacks: rows, other }
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Each stack of functions with its hits. Calls of one function from several lines of another are one stack here.
    pub(super) fn folded(&self) -> Vec<(String, u64)> {
        let mut stacks: Vec<(String, u64)> = self.stacks.iter().map(|row| (row.folded(), row.hits)).collect();
        stacks.sort_unstable();
        stacks.dedup_by(|next, stack| {
            let is_same = next.0 == stack.0;
            stack.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        stacks
    }

    pub(super) fn write_text(&self, out: &mut Output<'_>) -> Result<()> {
        out.inked(&[(Ink::Head, &format_args!("{:>12}  location", "hits"))])?;
        for Row { hits, at, stack, is_cut } in &self.stacks {
            out.inked(&[
                (Ink::Plain, &format_args!("{hits:>12}  ")),
                (Ink::Location, &at.location),
                (Ink::Minor, &source(at)),
            ])?;
            for (number, caller) in stack.iter().enumerate() {
                let number = format!("#{}", number + 1);
                out.inked(&[
                    (Ink::Minor, &format_args!("{number:>16} ")),
                    (Ink::Location, &caller.location),
                    (Ink::Minor, &source(caller)),
                ])?;
            }
            if *is_cut {
                out.inked(&[(Ink::Minor, &format_args!("{:>16} more callers", "…"))])?;
            }
        }
        if self.other > 0 {
            out.line(format_args!("{:>12}  in other rows", self.other))?;
        }
        out.line(format_args!("{:>12}  in all", self.total))
    }

    /// Writes a line for each row, behind a line with the names of the columns.
    pub(super) fn write_csv(&self, out: &mut Output<'_>) -> Result<()> {
        out.line(record(&["hits", "location", "stack"].map(String::from)))?;
        self.stacks.iter().try_for_each(|row| {
            let callers: Vec<String> = row.stack.iter().map(|caller| flame::name(&caller.location)).collect();
            out.line(record(&[row.hits.to_string(), row.at.location.clone(), callers.join(";")]))
        })
    }
}

fn shared<S: Serializer>(description: &Rc<Description>, serializer: S) -> Result<S::Ok, S::Error> {
    description.serialize(serializer)
}

fn all_shared<S: Serializer>(descriptions: &[Rc<Description>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(descriptions.iter().map(|description| &**description))
}
