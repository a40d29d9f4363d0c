//! Calls as a trace of the JSON format that Perfetto and Chrome's `about:tracing` read ("Trace Event Format").
//!
//! Beside a slice for each call there are counters: for each location the calls that returned in a second, and for arguments and results that are
//! numbers their values.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde::Serialize;
use ubp::{Event, Pid, Tid};

use super::call::Returned;
use super::rates::{Rate, Rates};
use super::tree::Tree;
use crate::failure::Result;
use crate::output::{Output, utf8};
use crate::values::Value;

/// Writes an array of events. A trace that was cut off at any line can be read as well.
#[derive(Default)]
pub(super) struct Perfetto {
    /// The processes and threads whose names were written.
    named: HashSet<(Pid, Tid)>,
    /// Whether an event was written.
    begun: bool,
    rates: Rates,
}

/// One event. The field names are those of the format; times are microseconds.
#[derive(Serialize)]
struct Entry<'a, T: Serialize> {
    name: &'a str,
    /// `X` is a slice with a duration, `C` is a counter, `M` is a name.
    ph: &'static str,
    pid: i32,
    tid: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    args: T,
}

/// What the viewer shows of a slice.
#[derive(Serialize)]
struct Details<'a> {
    location: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// The time of the call in nanoseconds, without the time for which ntrace held the thread. The slice has both.
    nanoseconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a [Value]>,
    #[serde(rename = "return", skip_serializing_if = "Option::is_none")]
    returned: Option<&'a Value>,
}

#[derive(Serialize)]
struct Name {
    name: String,
}

impl Perfetto {
    /// Writes a call.
    pub(super) fn returned(&mut self, returned: &Returned<'_>, tree: &Tree, out: &mut Output<'_>) -> Result<()> {
        let Returned { event, call, value } = *returned;
        self.write_names(event, out)?;
        let function = tree.function(call.tag.stack);
        let details = Details {
            location: &function.location,
            file: function.file.as_deref(),
            line: function.line,
            nanoseconds: u64::try_from(call.duration.as_nanos()).unwrap_or(u64::MAX),
            args: call.tag.args.as_deref(),
            returned: value,
        };
        let slice = Entry {
            name: function.symbol.as_deref().unwrap_or(&function.location),
            ph: "X",
            pid: event.pid.0,
            tid: event.tid.0,
            ts: Some(microseconds(call.entered)),
            dur: Some(microseconds(event.time.saturating_sub(call.entered))),
            args: details,
        };
        self.write(&slice, out)?;
        let of_args = call.tag.args.iter().flat_map(|args| args.iter()).filter_map(Value::number);
        self.write_counters(event, &function.location, call.entered, of_args.collect(), out)?;
        let of_result = value.and_then(Value::number).map(|(_, number)| ("return", number));
        self.write_counters(event, &function.location, event.time, of_result.into_iter().collect(), out)?;
        let over = self.rates.add(event.pid, event.time, &function.location);
        over.iter().try_for_each(|rate| self.write_rate(rate, out))
    }

    /// Writes the values that counters of an event's process have from a time on. The viewer shows a counter for each of them.
    fn write_counters(
        &mut self,
        event: &Event,
        name: &str,
        time: Duration,
        args: BTreeMap<&str, f64>,
        out: &mut Output<'_>,
    ) -> Result<()> {
        if args.is_empty() {
            return Ok(());
        }
        let (pid, tid, ts) = (event.pid.0, event.tid.0, Some(microseconds(time)));
        self.write(&Entry { name, ph: "C", pid, tid, ts, dur: None, args }, out)
    }

    fn write_rate(&mut self, rate: &Rate, out: &mut Output<'_>) -> Result<()> {
        let Rate { pid, from, calls } = rate;
        let (tid, ts) = (pid.leader().0, Some(microseconds(*from)));
        self.write(&Entry { name: "calls a second", ph: "C", pid: pid.0, tid, ts, dur: None, args: calls }, out)
    }

    /// Writes the names of the event's process and thread, before their first slice.
    fn write_names(&mut self, event: &Event, out: &mut Output<'_>) -> Result<()> {
        let Event { pid, tid, .. } = *event;
        for (what, named) in [("process_name", pid.leader()), ("thread_name", tid)] {
            if (what == "process_name" || tid != pid.leader()) && self.named.insert((pid, named)) {
                // A thread that is gone has no name.
                let name = std::fs::read(format!("/proc/{pid}/task/{named}/comm")).unwrap_or_default();
                let args = Name { name: utf8(name.trim_ascii_end()).into_owned() };
                let (pid, tid, ts, dur) = (pid.0, named.0, None, None);
                self.write(&Entry { name: what, ph: "M", pid, tid, ts, dur, args }, out)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, entry: &impl Serialize, out: &mut Output<'_>) -> Result<()> {
        out.trusted(if std::mem::replace(&mut self.begun, true) { b"," } else { b"[" })?;
        out.json(entry)
    }

    /// Ends the array.
    pub(super) fn finish(&mut self, out: &mut Output<'_>) -> Result<()> {
        let last = self.rates.finish();
        last.iter().try_for_each(|rate| self.write_rate(rate, out))?;
        out.trusted(if self.begun { b"]\n" } else { b"[]\n" })
    }
}

fn microseconds(time: Duration) -> f64 {
    // A double holds the nanoseconds of a hundred days exactly.
    time.as_nanos() as f64 / 1e3
}
