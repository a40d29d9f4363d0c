//! Calls as JSON, one object a line.

use std::time::Duration;

use serde::Serialize;

use super::call::Returned;
use super::tree::Tree;
use crate::failure::Result;
use crate::output::Output;
use crate::process::Description;
use crate::values::Value;

/// One call that returned. The field names are the keys of the JSON form; times are nanoseconds.
#[derive(Debug, Serialize)]
struct Line<'a> {
    event: &'static str,
    pid: i32,
    tid: i32,
    /// 1: no traced function made the call.
    depth: usize,
    duration: u64,
    /// `duration` without the time in other traced functions.
    own: u64,
    #[serde(flatten)]
    function: &'a Description,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a [Value]>,
    #[serde(rename = "return", skip_serializing_if = "Option::is_none")]
    returned: Option<&'a Value>,
}

/// Writes a call.
pub(super) fn write(returned: &Returned<'_>, tree: &Tree, out: &mut Output<'_>) -> Result<()> {
    let Returned { event, call, value } = *returned;
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    out.json(&Line {
        event: "call",
        pid: event.pid.0,
        tid: event.tid.0,
        depth: call.depth + 1,
        duration: nanoseconds(call.duration),
        own: nanoseconds(returned.own()),
        function: tree.function(call.tag.stack),
        args: call.tag.args.as_deref(),
        returned: value,
    })
}
