//! One hit in the form in which it is written.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::process::{Description, source};
use crate::values::{List, Value};

/// One hit. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Hit {
    pub(super) event: &'static str,
    #[serde(serialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<Duration>,
    pub(super) pid: i32,
    pub(super) tid: i32,
    #[serde(flatten, serialize_with = "shared")]
    pub(super) description: Rc<Description>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) args: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stack: Option<Vec<Frame>>,
}

/// One caller.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Frame(pub(super) Description);

impl Hit {
    /// Writes a line for the hit, and a line for each caller.
    pub(super) fn write_text(&self, out: &mut Output<'_>) -> Result<()> {
        let mut line = String::new();
        self.write_hit(&mut line).map_err(|_| Failure::own("a hit cannot be formatted"))?;
        out.line(line)?;
        for (number, Frame(caller)) in self.stack.iter().flatten().enumerate() {
            let number = format!("#{}", number + 1);
            out.line(format_args!("{number:>24} {}{}", caller.location, source(caller)))?;
        }
        Ok(())
    }

    fn write_hit(&self, f: &mut impl fmt::Write) -> fmt::Result {
        write_time(f, self.time)?;
        write!(f, "{:>7}  {}", self.tid, self.description.location)?;
        if let Some(args) = &self.args {
            write!(f, "{}", List(args))?;
        }
        write!(f, "{}", source(&self.description))
    }
}

/// Writes the column of the time, if there is one.
pub(super) fn write_time(f: &mut impl fmt::Write, time: Option<Duration>) -> fmt::Result {
    match time {
        Some(time) => write!(f, "{:>5}.{:06} ", time.as_secs(), time.subsec_micros()),
        None => Ok(()),
    }
}

/// Serializes a time as seconds with six decimal places.
pub(super) fn seconds<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    let time = time.unwrap_or_default();
    // A double holds every number of microseconds below 2^53 exactly.
    serializer.serialize_f64(time.as_micros() as f64 / 1e6)
}

fn shared<S: Serializer>(description: &Rc<Description>, serializer: S) -> Result<S::Ok, S::Error> {
    description.serialize(serializer)
}
