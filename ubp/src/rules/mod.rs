//! Rules: what a session does with its events, as data.
//!
//! - [`Kind`] is the vocabulary: the events, the numbers that they have ([`Field`]), and why a mechanism does not report some.
//! - A [`Group`] is a set of threads, a [`Rule`] says what happens on events of its threads, and a [`RuleSet`] has all of them. It says which rule
//!   acts where several take an event.
//! - [`Filter`] and [`Limits`] choose occurrences, [`Action`]s act on them, and an [`Occurrence`] is what a rule recorded.
//! - [`Aggregate`] and [`Top`] sum values up by key, in bounded memory. [`Summary`] declares one for rules.
//! - [`Rules`] carries a set out for a [`Session`](crate::Session).
//!
//! A rule contains no code: its evaluation is bounded, and what carries it out may be the tracer, the code of a jump (the part of a filter that
//! is a breakpoint's condition), or the kernel.

mod action;
mod check;
mod engine;
mod filter;
mod glob;
mod group;

mod occurrence;
mod problem;
mod reader;
mod rule;
mod top;
mod value;
mod vocabulary;

pub use self::action::{ACTIONS, Action, FILTERS, Payload};
pub use self::engine::{Reaction, Reading, Refused, Rules};
pub use self::filter::Filter;
pub use self::glob::Glob;
pub use self::group::{Group, Members};
pub use self::occurrence::{Captured, Occurrence, ThreadId};
pub use self::problem::{Problem, RuleError};
pub use self::rule::{Key, On, Place, Rule, RuleSet, Summary};
pub use self::top::{Ranked, Top};
pub use self::value::Value;
pub use self::vocabulary::{Field, Kind};
pub use crate::aggregate::{Aggregate, Bucket, Table, Values};
pub use crate::core::{Buckets, Limits};
