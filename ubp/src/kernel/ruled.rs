//! The rules of a channel that are conditions of breakpoints.

use std::collections::HashMap;
use std::sync::Arc;

use wire::Status;
use wire::blob::from_words;
use wire::commands::{Command, Reply};
use wire::rule::Clause;

use super::channel::Channel;
use super::filter;
use crate::{Condition, Result};

/// The number of a rule in the channel. Sites keep it while they name the rule.
pub(super) type RuleNumber = Arc<u64>;

/// The rules of a channel by condition; `None` for a condition that is no rule.
#[derive(Debug, Default)]
pub(super) struct Ruled(HashMap<Condition, Option<RuleNumber>>);

impl Channel {
    /// The rule that takes the hits for which a condition holds. `None`: the kernel has no such rule, or no room for it.
    pub(super) fn rule(&self, condition: &Condition) -> Result<Option<RuleNumber>> {
        if let Some(known) = self.ruled().borrow().0.get(condition) {
            return Ok(known.clone());
        }
        let Some(clauses) = filter::clauses(condition) else {
            self.ruled().borrow_mut().0.insert(condition.clone(), None);
            return Ok(None);
        };
        let mut told = self.make_rule(&clauses)?;
        if told == Err(Status::Limit) {
            self.forget_unused()?;
            told = self.make_rule(&clauses)?;
        }
        let known = match told {
            Ok(number) => Some(Arc::new(number)),
            // Later there may be room.
            Err(Status::Limit | Status::NoMemory) => return Ok(None),
            Err(_) => None,
        };
        self.ruled().borrow_mut().0.insert(condition.clone(), known.clone());
        Ok(known)
    }

    fn make_rule(&self, clauses: &[Clause]) -> Result<std::result::Result<u64, Status>> {
        let words: Vec<u64> = clauses.iter().flat_map(Clause::words).collect();
        let clauses = &from_words(&words);
        let (thread, skip, every, most, rate, period, aggregate) = Default::default();
        self.ask(Command::Rule { thread, clauses, skip, every, most, rate, period, aggregate }, |told| match told {
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
