//! One hit in the form in which it is written.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::failure::Result;
use crate::output::{Ink, Output, duration};
use crate::process::{Description, source};
use crate::values::{Block, List, Value};

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
    pub(super) locals: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stack: Option<Vec<Frame>>,
    /// Whether the outermost callers are missing.
    #[serde(rename = "stack_cut", skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_cut: bool,
}

/// A return from a function. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Return<'a> {
    pub(super) event: &'static str,
    #[serde(serialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<Duration>,
    pub(super) pid: i32,
    pub(super) tid: i32,
    /// 1: no traced function made the call.
    pub(super) depth: usize,
    /// Nanoseconds from the entry to the return.
    pub(super) duration: u64,
    #[serde(flatten)]
    pub(super) function: &'a Description,
    /// The arguments of a call that has no line of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) args: Option<&'a [Value]>,
    /// `None`: the function returns nothing.
    #[serde(rename = "return", skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<Value>,
    /// Whether the entry has a line.
    #[serde(skip)]
    pub(super) is_known: bool,
}

impl Return<'_> {
    /// Writes the line.
    pub(super) fn write_text(&self, out: &mut Output<'_>) -> Result<()> {
        let args = self.args.map(|args| List(args).to_string()).unwrap_or_default();
        let value = self.value.as_ref().map(|value| format!(" {value}")).unwrap_or_default();
        let source = if self.is_known { String::new() } else { source(self.function) };
        out.inked(&[
            (Ink::Minor, &begin(self.time, self.tid)),
            (Ink::Location, &self.function.location),
            (Ink::Value, &args),
            (Ink::Plain, &" returned"),
            (Ink::Value, &value),
            (Ink::Plain, &format_args!(" after {}", duration(Duration::from_nanos(self.duration)))),
            (Ink::Minor, &source),
        ])
    }
}

/// One caller.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Frame(pub(super) Description);

impl Hit {
    /// Writes a line for the hit, and a line for each caller.
    pub(super) fn write_text(&self, out: &mut Output<'_>) -> Result<()> {
        let args = self.args.as_deref().map(|args| List(args).to_string()).unwrap_or_default();
        let locals = self.locals.as_deref().map(|locals| format!(" {}", Block(locals))).unwrap_or_default();
        out.inked(&[
            (Ink::Minor, &begin(self.time, self.tid)),
            (Ink::Location, &self.description.location),
            (Ink::Value, &args),
            (Ink::Value, &locals),
            (Ink::Minor, &source(&self.description)),
        ])?;
        for (number, Frame(caller)) in self.stack.iter().flatten().enumerate() {
            let number = format!("#{}", number + 1);
            out.inked(&[
                (Ink::Minor, &format_args!("{number:>24} ")),
                (Ink::Location, &caller.location),
                (Ink::Minor, &source(caller)),
            ])?;
        }
        if self.is_cut {
            out.inked(&[(Ink::Minor, &format_args!("{:>24} more callers", "…"))])?;
        }
        Ok(())
    }
}

/// The columns of the time and the thread.
fn begin(time: Option<Duration>, tid: i32) -> String {
    let mut begin = String::new();
    // A String takes all text.
    let _ = write_time(&mut begin, time);
    begin + &format!("{tid:>7}  ")
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
