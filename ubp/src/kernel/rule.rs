//! The rules of a channel: conditions and aggregations of breakpoints.

use std::sync::Arc;

use wire::Status;
use wire::blob::from_words;
use wire::commands::{Command, Reply};
use wire::rule::Clause;

use super::channel::Channel;
use super::filter;
use super::ruled::RuleNumber;
use crate::{AggregationId, Condition, Result};

impl Channel {
    /// The rule that takes the hits for which a condition holds, if there is one, and adds them to an aggregation. `None`: the kernel has no
    /// such rule, or no room for it.
    pub(super) fn rule(
        &self,
        condition: Option<&Condition>,
        aggregation: Option<AggregationId>,
    ) -> Result<Option<RuleNumber>> {
        let declared = (condition.cloned(), aggregation);
        if let Some(known) = self.ruled().borrow().0.get(&declared) {
            return Ok(known.clone());
        }
        let Some(clauses) = condition.map_or(Some(Vec::new()), filter::clauses) else {
            self.ruled().borrow_mut().0.insert(declared, None);
            return Ok(None);
        };
        let mut told = self.make_rule(&clauses, aggregation)?;
        if told == Err(Status::Limit) {
            self.forget_unused()?;
            told = self.make_rule(&clauses, aggregation)?;
        }
        let known = match told {
            Ok(number) => Some(Arc::new(number)),
            // Later there may be room.
            Err(Status::Limit | Status::NoMemory) => return Ok(None),
            Err(_) => None,
        };
        self.ruled().borrow_mut().0.insert(declared, known.clone());
        Ok(known)
    }

    fn make_rule(
        &self,
        clauses: &[Clause],
        aggregation: Option<AggregationId>,
    ) -> Result<std::result::Result<u64, Status>> {
        let words: Vec<u64> = clauses.iter().flat_map(Clause::words).collect();
        let clauses = &from_words(&words);
        let aggregate = aggregation.map_or(0, |id| id.0);
        self.ask(Command::Rule { thread: 0, clauses, limits: &[], aggregate }, |told| match told {
            Ok(Reply::Rule { rule }) => Ok(rule),
            Ok(_) => Err(Status::Unknown),
            Err(failure) => Err(failure.status),
        })
    }

    /// Ends the rules that no site names.
    fn forget_unused(&self) -> Result<()> {
        let unused = |known: &Option<RuleNumber>| known.as_ref().is_none_or(|number| Arc::strong_count(number) == 1);
        let mut ended = Vec::new();
        self.ruled().borrow_mut().0.retain(|_, known| {
            let is_used = !unused(known);
            ended.extend(known.as_deref().copied().filter(|_| !is_used));
            is_used
        });
        for rule in ended {
            // A rule that is gone takes no room either.
            let _ = self.ask(Command::Unrule { rule }, |told| told.map(drop))?;
        }
        Ok(())
    }
}
