//! Calls as lines of text, indented below the call that made them.

use std::collections::HashMap;

use ubp::Tid;

use super::call::{Open, Returned};
use super::tree::Tree;
use crate::failure::Result;
use crate::output::{Ink, Output, duration};
use crate::process::{Description, source};

/// The number of spaces by which an inner call is indented.
const INDENT: usize = 2;

/// Writes calls as they are entered and return.
#[derive(Default)]
pub(super) struct Text {
    /// The last call of each thread and its depth, if it has no line yet: one that makes no other call has one line.
    last: HashMap<Tid, (usize, Open)>,
}

impl Text {
    /// Notes a call, and writes the line of the one that made it.
    pub(super) fn entered(
        &mut self,
        tid: Tid,
        depth: usize,
        open: Open,
        tree: &Tree,
        out: &mut Output<'_>,
    ) -> Result<()> {
        self.write_last(tid, tree, out)?;
        self.last.insert(tid, (depth, open));
        Ok(())
    }

    /// Writes the line of the call that the thread is in, which makes another call or never returns.
    fn write_last(&mut self, tid: Tid, tree: &Tree, out: &mut Output<'_>) -> Result<()> {
        let Some((depth, open)) = self.last.remove(&tid) else { return Ok(()) };
        let Description { location, .. } = &**tree.function(open.stack);
        let (tid, indent, args) = (tid.0, depth * INDENT, open.args());
        out.inked(&[
            (Ink::Minor, &format_args!("{:>10} {tid:>7}  {:indent$}", "", "")),
            (Ink::Location, location),
            (Ink::Value, &args),
            (Ink::Plain, &" {"),
        ])
    }

    /// Writes the line of a call that returned.
    pub(super) fn returned(&mut self, returned: &Returned<'_>, tree: &Tree, out: &mut Output<'_>) -> Result<()> {
        let Returned { event, call, value } = *returned;
        let function = tree.function(call.tag.stack);
        let indent = call.depth * INDENT;
        let begin = format!("{:>10} {:>7}  {:indent$}", duration(call.duration), event.tid.0, "");
        let value = value.map(|value| format!(" = {value}")).unwrap_or_default();
        if self.last.get(&event.tid).is_some_and(|(depth, open)| (*depth, open) == (call.depth, &call.tag)) {
            self.last.remove(&event.tid);
            return write_whole(&begin, function, &call.tag.args(), &value, out);
        }
        // A call that the thread left by a jump, or one that is still open.
        self.write_last(event.tid, tree, out)?;
        if call.tag.rest.is_some() {
            return write_whole(&begin, function, &call.tag.args(), &value, out);
        }
        out.inked(&[
            (Ink::Minor, &begin),
            (Ink::Plain, &"} "),
            (Ink::Location, &function.location),
            (Ink::Value, &value),
        ])
    }

    /// Writes the calls that have no line yet.
    pub(super) fn finish(&mut self, tree: &Tree, out: &mut Output<'_>) -> Result<()> {
        let mut tids: Vec<Tid> = self.last.keys().copied().collect();
        tids.sort_unstable();
        tids.into_iter().try_for_each(|tid| self.write_last(tid, tree, out))
    }
}

/// Writes the line of a call that has only one.
fn write_whole(begin: &str, function: &Description, args: &str, value: &str, out: &mut Output<'_>) -> Result<()> {
    out.inked(&[
        (Ink::Minor, &begin),
        (Ink::Location, &function.location),
        (Ink::Value, &args),
        (Ink::Value, &value),
        (Ink::Minor, &source(function)),
    ])
}
