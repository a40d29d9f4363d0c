//! One hit, as it is written.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::output::Output;
use crate::process::{Place, source};

/// One hit; the names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    pub(super) event: &'static str,
    #[serde(serialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<Duration>,
    pub(super) pid: i32,
    pub(super) tid: i32,
    #[serde(flatten, serialize_with = "shared")]
    pub(super) place: Rc<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) args: Option<Vec<Argument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stack: Option<Vec<Frame>>,
}

/// One argument.
#[derive(Debug, Serialize)]
pub(super) struct Argument {
    #[serde(serialize_with = "hex")]
    pub(super) value: u64,
    pub(super) string: Option<String>,
}

/// One caller.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Frame(pub(super) Place);

impl Record {
    /// Writes a line, and one for each caller.
    pub(super) fn write_text(&self, out: &mut Output<'_>) -> crate::failure::Result<()> {
        out.line(fmt::from_fn(|f| self.write_hit(f)))?;
        for (number, Frame(place)) in self.stack.iter().flatten().enumerate() {
            let number = format!("#{}", number + 1);
            out.line(format_args!("{number:>24} {}{}", place.location, source(place)))?;
        }
        Ok(())
    }

    fn write_hit(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(time) = self.time {
            write!(f, "{:>5}.{:06} ", time.as_secs(), time.subsec_micros())?;
        }
        write!(f, "{:>7}  {}", self.tid, self.place.location)?;
        if let Some(args) = &self.args {
            write!(f, "(")?;
            for (number, argument) in args.iter().enumerate() {
                let comma = if number == 0 { "" } else { ", " };
                match &argument.string {
                    Some(text) => write!(f, "{comma}{text:?}")?,
                    None => write!(f, "{comma}{:#x}", argument.value)?,
                }
            }
            write!(f, ")")?;
        }
        write!(f, "{}", source(&self.place))
    }
}

/// Seconds with six digits behind the point, exact as a number of JSON.
fn seconds<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    let time = time.unwrap_or_default();
    // Microseconds below 2^53 keep all their digits in a double.
    serializer.serialize_f64(time.as_micros() as f64 / 1e6)
}

fn hex<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:#x}"))
}

fn shared<S: Serializer>(place: &Rc<Place>, serializer: S) -> Result<S::Ok, S::Error> {
    place.serialize(serializer)
}
