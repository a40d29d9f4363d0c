//! Requests about signals and exceptions.

use serde::Deserialize;
use serde_json::{Value, json};

use super::adapter::Adapter;
use super::exceptions::{FILTERS, THROWERS, Thrower};
use super::refusal::{Answered, Refusal};

/// What `setExceptionBreakpoints` has.
#[derive(Debug, Deserialize)]
pub(super) struct ExceptionFields {
    filters: Vec<String>,
}

/// What `exceptionInfo` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InfoFields {
    thread_id: i64,
}

impl Adapter {
    pub(super) fn set_exception_breakpoints(&mut self, fields: ExceptionFields) -> Answered {
        let known = FILTERS.map(|(name, ..)| name);
        if let Some(unknown) = fields.filters.iter().find(|name| !known.contains(&&***name)) {
            return Err(Refusal::new(format!("there is no filter '{unknown}'; there are {}", known.join(", "))));
        }
        self.exceptions.chosen = fields.filters.into_iter().collect();
        let chosen = &self.exceptions.chosen;
        let throwers: Vec<Thrower> = THROWERS.into_iter().filter(|thrower| chosen.contains(thrower.filter)).collect();
        self.set_throwers(&throwers);
        Ok(Value::Null)
    }

    pub(super) fn exception_info(&mut self, fields: &InfoFields) -> Answered {
        match &self.exceptions.last {
            Some((tid, text)) if i64::from(tid.0) == fields.thread_id => {
                Ok(json!({ "exceptionId": text, "description": text, "breakMode": "always" }))
            }
            _ => Err(Refusal::new(format!("no exception stopped thread {}", fields.thread_id))),
        }
    }
}
