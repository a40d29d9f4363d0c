//! How the times of one location are divided into rows.

use std::collections::HashSet;
use std::time::Duration;

use ubp::{Event, Session};

use crate::failure::{Failure, Result};
use crate::filter::{Arrived, Formula, pointed};
use crate::output::tell;
use crate::process::Space;

/// The largest number of values of an expression that have rows of their own.
const MOST: usize = 4096;

/// What the times of one location are divided by.
pub(super) enum By {
    Location,
    Thread,
    Process,
    /// The place from which the function is called.
    Caller,
    Value(Values),
}

/// The values of an expression when a function is entered.
pub(super) struct Values {
    text: String,
    formula: Formula,
    known: HashSet<String>,
    /// The locations at which the expression has no value, of which it was told.
    told: HashSet<u64>,
}

impl By {
    /// Reads the argument of `--by`.
    ///
    /// # Errors
    /// It is none of the words, and no expression.
    pub(super) fn parse(text: &str) -> Result<By> {
        Ok(match text {
            "location" => By::Location,
            "thread" => By::Thread,
            "process" => By::Process,
            "caller" => By::Caller,
            text => match Formula::parse(text) {
                Ok(formula) => {
                    let (text, known, told) = (text.to_string(), HashSet::new(), HashSet::new());
                    By::Value(Values { text, formula, known, told })
                }
                Err(problem) => {
                    pointed(text, &problem).iter().for_each(tell);
                    return Err(Failure::usage(format!("--by: {problem}")));
                }
            },
        })
    }

    /// What tells a row of an event from others of its location, as far as that is known at once.
    pub(super) fn of(&self, event: &Event) -> String {
        match self {
            By::Thread => format!("thread {}", event.tid),
            By::Process => format!("process {}", event.pid),
            By::Location | By::Caller | By::Value(_) => String::new(),
        }
    }
}

impl Values {
    /// The value for a thread that has entered the function at an address.
    pub(super) fn at(&mut self, session: &mut Session, space: &mut Space, event: &Event, address: u64) -> String {
        let found = self.formula.value(&mut Arrived::new(session, space, event, address, 0, Duration::ZERO));
        let value = found.unwrap_or_else(|problem| {
            if self.told.insert(address) {
                tell(format_args!("--by: {}: {problem}", space.description(address).location));
            }
            "?".into()
        });
        if self.known.len() >= MOST && !self.known.contains(&value) {
            return format!("other {}", self.text);
        }
        let row = format!("{}={value}", self.text);
        self.known.insert(value);
        row
    }
}
