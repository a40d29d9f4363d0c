//! Why a set of rules is refused.

use std::fmt;

use super::value::Value;
use super::vocabulary::Kind;

/// The most rules, groups and aggregates of a set.
pub(super) const MOST: usize = 256;
/// The most parts of a filter, and the most actions of a rule.
pub(super) const PARTS: usize = 64;
/// The most rows of an aggregate.
pub(super) const ROWS: usize = 1 << 16;
/// The most bytes of memory or of the stack that an occurrence has.
pub(super) const BYTES: usize = 4096;

/// Why a set of rules was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleError {
    /// The name of the rule, group or aggregate.
    pub name: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a rule, group or aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// There is another one of the same name.
    NameTaken,
    /// The set has more than 256 rules, groups or aggregates.
    TooMany,
    /// No mechanism reports such events, for this reason.
    NotReported(Kind, &'static str),
    /// It names a group that does not exist.
    NoSuchGroup(String),
    /// It names a rule that does not exist or has no breakpoint.
    NoSuchRule(String),
    /// It names an aggregate that does not exist.
    NoSuchAggregate(String),
    /// The filter has more than 64 parts, or is nested deeper than 16 times.
    FilterTooLarge,
    /// The rule has more than 64 actions.
    TooManyActions,
    /// It uses a value that events of the kind do not have.
    NoSuchValue(Value, Kind),
    /// Memory or stack of more than 4096 bytes, or memory in parts other than 1, 2, 4 or 8 bytes for a value.
    Size,
    /// The number of rows is not from 1 to 65,536, or there are no such buckets.
    Aggregate,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        match &self.problem {
            Problem::NameTaken => f.write_str("another one has this name"),
            Problem::TooMany => write!(f, "there are more than {MOST}"),
            Problem::NotReported(kind, reason) => write!(f, "no rule can be about '{}': {reason}", kind.name()),
            Problem::NoSuchGroup(name) => write!(f, "there is no group '{name}'"),
            Problem::NoSuchRule(name) => write!(f, "there is no rule '{name}' with a breakpoint"),
            Problem::NoSuchAggregate(name) => write!(f, "there is no aggregate '{name}'"),
            Problem::FilterTooLarge => write!(f, "the filter has more than {PARTS} parts, or is nested too deep"),
            Problem::TooManyActions => write!(f, "there are more than {PARTS} actions"),
            Problem::NoSuchValue(Value::Field(field), kind) => {
                write!(f, "the event '{}' has no number '{}'", kind.name(), field.name())
            }
            Problem::NoSuchValue(value, kind) => write!(f, "the event '{}' has no {value:?}", kind.name()),
            Problem::Size => write!(f, "memory has 1, 2, 4 or 8 bytes in a value, and at most {BYTES} in a record"),
            Problem::Aggregate => write!(f, "an aggregate has 1 to {ROWS} rows, and buckets of at least 1"),
        }
    }
}

impl std::error::Error for RuleError {}
