//! `ntrace calls`.

mod tree;

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use ubp::{Address, BreakpointId, Call, Event, Patch, Pid, Report, Returns, Session, Tid};

use self::tree::{Stack, Tree};
use crate::args::{CallsArgs, Format};
use crate::commands::timing;
use crate::commands::values::{List, Value};
use crate::failure::Result;
use crate::follow::{self, Kind, Sink};
use crate::heritage::Heritage;
use crate::output::{Output, duration};
use crate::process::{Description, Space, source};
use crate::worker::{Control, End};

/// The number of spaces by which an inner call is indented.
const INDENT: usize = 2;

/// Writes calls as they return.
struct Calls<'a> {
    args: &'a CallsArgs,
    output: Output<'static>,
    tree: Tree,
    returns: Returns<Open>,
    /// The last call of each thread and its depth, if it has no line yet: one that makes no other call has one line.
    last: HashMap<Tid, (usize, Open)>,
    /// The number of returns that were written.
    written: u64,
}

/// A call that has not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    stack: Stack,
    args: Option<Rc<[Value]>>,
}

impl Open {
    fn args(&self) -> String {
        self.args.as_deref().map(|args| List(args).to_string()).unwrap_or_default()
    }
}

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

/// Runs the command in the worker process.
pub(crate) fn run(args: &CallsArgs, control: Control, heritage: Heritage) -> Result<End> {
    timing::check(&args.target)?;
    let output = Output::open(args.target.output.as_deref())?;
    let (tree, returns, last) = (Tree::default(), Returns::new(), HashMap::new());
    let mut calls = Calls { args, output, tree, returns, last, written: 0 };
    let mut follower =
        follow::start(&args.target, Kind { report: Report::Event, patch: Patch::Trap }, control, heritage)?;
    let end = follower.run(&mut calls);
    let end = calls.finish().and(end);
    follower.finish(end)
}

impl Calls<'_> {
    /// Whether calls of a depth have lines as text.
    fn has_lines(&self, depth: usize) -> bool {
        let is_text = self.args.target.format == Format::Text && !self.args.folded;
        is_text && self.is_wanted(depth)
    }

    fn is_wanted(&self, depth: usize) -> bool {
        self.args.depth.is_none_or(|most| depth < most as usize)
    }

    fn enter(&mut self, session: &mut Session, event: &Event, function: Rc<Description>) -> Result<()> {
        // After an error: a signal killed the thread here.
        let Ok(Some((depth, open))) = self.note_call(session, event, function) else { return Ok(()) };
        if self.has_lines(depth) {
            self.open_last(event.tid)?;
            self.last.insert(event.tid, (depth, open));
        }
        Ok(())
    }

    fn note_call(
        &mut self,
        session: &mut Session,
        event: &Event,
        function: Rc<Description>,
    ) -> ubp::Result<Option<(usize, Open)>> {
        let mut args = None;
        if self.args.args {
            let registers = session.registers(event.tid)?;
            args = Some(Value::arguments(session, event.pid, &registers).into());
        }
        let (tree, mut open) = (&mut self.tree, None);
        let entered = self.returns.enter(session, event, |caller| {
            let stack = tree.stack(caller.map(|caller| caller.stack), function);
            open.insert(Open { stack, args }).clone()
        })?;
        Ok(entered.map(|entered| entered.depth).zip(open))
    }

    /// Writes the line of the call that the thread is in, which makes another call or never returns.
    fn open_last(&mut self, tid: Tid) -> Result<()> {
        let Some((depth, open)) = self.last.remove(&tid) else { return Ok(()) };
        let Description { location, .. } = &**self.tree.function(open.stack);
        let (tid, indent, args) = (tid.0, depth * INDENT, open.args());
        self.output.line(format_args!("{:>10} {tid:>7}  {:indent$}{location}{args} {{", "", ""))
    }

    /// Writes the call that returned, with the returned value if that is wanted.
    fn returned(&mut self, event: &Event, call: &Call<Open>, value: Option<&Value>) -> Result<()> {
        let own = call.duration.saturating_sub(call.inner);
        if self.args.folded {
            self.written += 1;
            self.tree.add(call.tag.stack, own);
            return Ok(());
        }
        if !self.is_wanted(call.depth) || self.is_done() {
            return Ok(());
        }
        self.written += 1;
        let function = self.tree.function(call.tag.stack);
        if self.args.target.format == Format::Json {
            let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            return self.output.json(&Line {
                event: "call",
                pid: event.pid.0,
                tid: event.tid.0,
                depth: call.depth + 1,
                duration: nanoseconds(call.duration),
                own: nanoseconds(own),
                function,
                args: call.tag.args.as_deref(),
                returned: value,
            });
        }
        let (time, tid, indent) = (duration(call.duration), event.tid.0, call.depth * INDENT);
        let value = value.map(|value| format!(" = {value}")).unwrap_or_default();
        if self.last.get(&event.tid).is_some_and(|(depth, open)| (*depth, open) == (call.depth, &call.tag)) {
            self.last.remove(&event.tid);
            let (location, args, source) = (&function.location, call.tag.args(), source(function));
            return self
                .output
                .line(format_args!("{time:>10} {tid:>7}  {:indent$}{location}{args}{value}{source}", ""));
        }
        // A call that the thread left by a jump.
        self.open_last(event.tid)?;
        let Description { location, .. } = &**self.tree.function(call.tag.stack);
        self.output.line(format_args!("{time:>10} {tid:>7}  {:indent$}}} {location}{value}", ""))
    }

    /// Writes what is left at the end.
    fn finish(mut self) -> Result<()> {
        let mut tids: Vec<Tid> = self.last.keys().copied().collect();
        tids.sort_unstable();
        tids.into_iter().try_for_each(|tid| self.open_last(tid))?;
        for (stack, own) in self.tree.folded() {
            self.output.line(format_args!("{stack} {own}"))?;
        }
        self.output.flush()
    }
}

impl Sink for Calls<'_> {
    fn hit(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        event: &Event,
        address: u64,
        id: BreakpointId,
    ) -> Result<()> {
        if self.returns.is_return(event.pid, Address(address), id) {
            // After an error: a signal killed the thread here.
            let calls = self.returns.leave(session, event).unwrap_or_default();
            let registers = self.args.returned.then(|| session.registers(event.tid).ok()).flatten();
            let value = registers.map(|registers| Value::returned(session, event.pid, &registers));
            return calls.iter().try_for_each(|call| self.returned(event, call, value.as_ref()));
        }
        let function = timing::function(space, address)?;
        self.enter(session, event, function)
    }

    fn idle(&mut self, _: &Session, _: &HashMap<Pid, Space>) -> Result<()> {
        self.output.flush()
    }

    fn unloaded(&mut self, _: &Session, _: &Space) {}

    fn forked(&mut self, event: &Event, child: Pid) {
        self.returns.forked(event, child);
    }

    fn ended(&mut self, _: &Session, space: &mut Space) {
        self.returns.forget(space.pid);
    }

    fn resuming(&mut self, event: &Event) {
        self.returns.resuming(event);
    }

    fn tick(&self) -> Option<Duration> {
        None
    }

    fn is_done(&self) -> bool {
        self.args.limit.is_some_and(|limit| self.written >= limit)
    }
}
