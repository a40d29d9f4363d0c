//! Checks of rule sets: names and bounds.

use std::collections::HashSet;

use super::action::{Action, Payload};
use super::filter::Filter;
use super::problem::{BYTES, MOST, PARTS, Problem, ROWS, RuleError};
use super::rule::{Key, On, Rule, RuleSet, Summary};
use super::value::{ARGUMENTS, Value};
use super::vocabulary::Kind;
use crate::Mechanism;

impl RuleSet {
    /// Refuses a set that means nothing or exceeds a bound.
    ///
    /// # Errors
    /// The error names the rule, group or aggregate, and says what is wrong with it.
    pub fn check(&self) -> Result<(), RuleError> {
        names(self.groups.iter().map(|group| group.name.as_str()))?;
        names(self.rules.iter().map(|rule| rule.name.as_str()))?;
        names(self.aggregates.iter().map(|aggregate| aggregate.name.as_str()))?;
        for aggregate in &self.aggregates {
            summary(aggregate).map_err(|problem| RuleError { name: aggregate.name.clone(), problem })?;
        }
        for one in &self.rules {
            rule(self, one).map_err(|problem| RuleError { name: one.name.clone(), problem })?;
        }
        Ok(())
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), RuleError> {
    let mut known = HashSet::new();
    for name in names {
        let refused = |problem| Err(RuleError { name: name.into(), problem });
        if !known.insert(name) {
            return refused(Problem::NameTaken);
        }
        if known.len() > MOST {
            return refused(Problem::TooMany);
        }
    }
    Ok(())
}

fn summary(aggregate: &Summary) -> Result<(), Problem> {
    let is_good = (1..=ROWS).contains(&aggregate.most) && aggregate.buckets.is_none_or(|buckets| buckets.is_valid());
    if is_good { Ok(()) } else { Err(Problem::Aggregate) }
}

fn rule(set: &RuleSet, rule: &Rule) -> Result<(), Problem> {
    let kind = rule.on.kind();
    if let (Some(reason), Some(_)) = (kind.lacking(Mechanism::Ptrace), kind.lacking(Mechanism::Kernel)) {
        return Err(Problem::NotReported(kind, reason));
    }
    group(set, &rule.group)?;
    let Rule { filter, actions, .. } = rule;
    if filter.parts() > PARTS || filter.is_too_deep() {
        return Err(Problem::FilterTooLarge);
    }
    if actions.len() > PARTS {
        return Err(Problem::TooManyActions);
    }
    let mut values = Vec::new();
    Filter::values(filter, &mut values);
    for action in actions {
        match action {
            Action::Aggregate(name) => {
                let known = set.aggregates.iter().find(|aggregate| aggregate.name == *name);
                let known = known.ok_or_else(|| Problem::NoSuchAggregate(name.clone()))?;
                values.extend(known.value);
                values.extend(match known.key {
                    Key::Value(value) => Some(value),
                    _ => None,
                });
            }
            Action::Resume(name) | Action::Move(name) => group(set, name)?,
            Action::Insert(name) | Action::Remove(name) => {
                let is_it = |rule: &&Rule| rule.name == *name && matches!(rule.on, On::Breakpoint(_));
                set.rules.iter().find(is_it).ok_or_else(|| Problem::NoSuchRule(name.clone()))?;
            }
            Action::Watch { address, .. } => values.push(*address),
            Action::Record(Payload { stack, memory, .. }) => {
                let sizes = memory.iter().map(|(_, length)| usize::from(*length));
                if sizes.chain([usize::from(*stack)]).any(|size| size > BYTES) {
                    return Err(Problem::Size);
                }
                values.extend(memory.iter().map(|(value, _)| *value));
            }
            Action::Hold | Action::Signal(_) | Action::Detach | Action::Wake => {}
        }
    }
    values.into_iter().try_for_each(|value| usable(value, kind))
}

fn group(set: &RuleSet, name: &str) -> Result<(), Problem> {
    let is_there = set.groups.iter().any(|group| group.name == name);
    if is_there { Ok(()) } else { Err(Problem::NoSuchGroup(name.into())) }
}

/// Whether events of a kind have a value.
fn usable(value: Value, kind: Kind) -> Result<(), Problem> {
    let has = match value {
        Value::Memory { size, .. } if !matches!(size, 1 | 2 | 4 | 8) => return Err(Problem::Size),
        Value::Argument(number) => kind.has_arguments() && number < ARGUMENTS,
        Value::Field(field) => kind.fields().contains(&field),
        // The thread is gone.
        Value::Register(_) | Value::Memory { .. } => {
            !matches!(kind, Kind::ThreadExited | Kind::Exited | Kind::Killed | Kind::Lost | Kind::SessionEnded)
        }
    };
    if has { Ok(()) } else { Err(Problem::NoSuchValue(value, kind)) }
}
