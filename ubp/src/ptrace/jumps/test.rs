//! Conditions as a trampoline tests them.

use std::sync::Arc;

use trampoline::x86::{Clause, Relation, Subject};

use crate::ptrace::arch::test_subject;
use crate::{Comparison, Condition, NoJump, Operand};

/// The most comparisons of a test.
const MOST: usize = 24;

/// What decides whether a trampoline stops a thread: all clauses of one of the lists hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ptrace) struct Test(Arc<[Vec<Clause>]>);

impl Test {
    /// The test for whether one of `conditions` may hold, or `None` if there is none. Memory has to lie in the window that the two words at
    /// `window` tell.
    pub(in crate::ptrace) fn new<'a>(
        conditions: impl Iterator<Item = &'a Condition>,
        window: u64,
    ) -> Result<Option<Test>, NoJump> {
        let mut lists = Vec::new();
        for condition in conditions {
            lists.extend(alternatives(condition, window).ok_or(NoJump::Condition)?);
        }
        if lists.iter().map(Vec::len).sum::<usize>() > MOST {
            return Err(NoJump::Condition);
        }
        Ok((!lists.is_empty()).then(|| Test(lists.into())))
    }

    /// The lists.
    pub(in crate::ptrace) fn lists(&self) -> impl Iterator<Item = &[Clause]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// The number of comparisons with memory.
    pub(in crate::ptrace) fn reads(&self) -> usize {
        self.0.iter().flatten().filter(|clause| matches!(clause.subject, Subject::Memory(_))).count()
    }

    /// Number of comparisons.
    pub(in crate::ptrace) fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

/// The lists of clauses for a condition; `None` if they are too many.
fn alternatives(condition: &Condition, window: u64) -> Option<Vec<Vec<Clause>>> {
    let lists = match condition {
        Condition::Compare { left, comparison, right } => vec![vec![clause(*left, *comparison, *right, window)?]],
        Condition::Any(parts) => {
            let mut lists = Vec::new();
            for part in parts.iter() {
                lists.extend(alternatives(part, window)?);
            }
            lists
        }
        Condition::All(parts) => {
            let mut lists = vec![Vec::new()];
            for part in parts.iter() {
                let more = alternatives(part, window)?;
                let joined = |list: &Vec<Clause>| {
                    let list = list.clone();
                    more.iter().map(move |other| list.iter().chain(other).copied().collect()).collect::<Vec<_>>()
                };
                lists = lists.iter().flat_map(joined).collect();
                if lists.len() > MOST {
                    return None;
                }
            }
            lists
        }
    };
    (lists.iter().map(Vec::len).sum::<usize>() <= MOST).then_some(lists)
}

fn clause(left: Operand, comparison: Comparison, right: u64, window: u64) -> Option<Clause> {
    Some(Clause { subject: test_subject(left, window)?, relation: relation(comparison), value: right })
}

fn relation(comparison: Comparison) -> Relation {
    match comparison {
        Comparison::Equal => Relation::Equal,
        Comparison::NotEqual => Relation::NotEqual,
        Comparison::Below => Relation::Below,
        Comparison::BelowOrEqual => Relation::BelowOrEqual,
        Comparison::Above => Relation::Above,
        Comparison::AboveOrEqual => Relation::AboveOrEqual,
        Comparison::Less => Relation::Less,
        Comparison::LessOrEqual => Relation::LessOrEqual,
        Comparison::Greater => Relation::Greater,
        Comparison::GreaterOrEqual => Relation::GreaterOrEqual,
        Comparison::HasBits => Relation::AllOf,
    }
}
