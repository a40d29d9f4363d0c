//! Conditions as a trampoline tests them.

use std::sync::Arc;

use trampoline::x86::{Clause, Relation, Subject};

use crate::ptrace::arch::test_subject;
use crate::{Comparison, Condition, NoJump};

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
        let clause = |left, comparison, value| {
            Some(Clause { subject: test_subject(left, window)?, relation: relation(comparison), value })
        };
        for condition in conditions {
            lists.extend(condition.alternatives(MOST, &clause).ok_or(NoJump::Condition)?);
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
