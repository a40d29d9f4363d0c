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
    returns: Returns<Stack>,
    /// The last call of each thread, if it has no line yet: one that makes no other call has one line.
    last: HashMap<Tid, (usize, Stack)>,
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
}

/// Runs the command in the worker process.
pub(crate) fn run(args: &CallsArgs, control: Control, heritage: Heritage) -> Result<End> {
    timing::check(&args.target)?;
    let output = Output::open(args.target.output.as_deref())?;
    let (tree, returns, last) = (Tree::default(), Returns::new(), HashMap::new());
    let mut calls = Calls { args, output, tree, returns, last };
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
        let mut stack = None;
        let tree = &mut self.tree;
        let entered = self.returns.enter(session, event, |caller| {
            let new = tree.stack(caller.copied(), function);
            stack = Some(new);
            new
        });
        // A signal may have killed the thread here.
        let (Ok(Some(entered)), Some(stack)) = (entered, stack) else { return Ok(()) };
        if self.has_lines(entered.depth) {
            self.open_last(event.tid)?;
            self.last.insert(event.tid, (entered.depth, stack));
        }
        Ok(())
    }

    /// Writes the line of the call that the thread is in, which makes another call or never returns.
    fn open_last(&mut self, tid: Tid) -> Result<()> {
        let Some((depth, stack)) = self.last.remove(&tid) else { return Ok(()) };
        let function = self.tree.function(stack);
        let (tid, indent) = (tid.0, depth * INDENT);
        self.output.line(format_args!("{:>10} {tid:>7}  {:indent$}{} {{", "", "", function.location))
    }

    fn returned(&mut self, event: &Event, call: &Call<Stack>) -> Result<()> {
        let own = call.duration.saturating_sub(call.inner);
        if self.args.folded {
            self.tree.add(call.tag, own);
            return Ok(());
        }
        if !self.is_wanted(call.depth) {
            return Ok(());
        }
        let function = self.tree.function(call.tag);
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
            });
        }
        let (time, tid, indent) = (duration(call.duration), event.tid.0, call.depth * INDENT);
        if self.last.get(&event.tid) == Some(&(call.depth, call.tag)) {
            self.last.remove(&event.tid);
            let source = source(function);
            return self.output.line(format_args!("{time:>10} {tid:>7}  {:indent$}{}{source}", "", function.location));
        }
        // A call that the thread left by a jump.
        self.open_last(event.tid)?;
        let Description { location, .. } = &**self.tree.function(call.tag);
        self.output.line(format_args!("{time:>10} {tid:>7}  {:indent$}}} {location}", ""))
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
            // A signal may have killed the thread here.
            let calls = self.returns.leave(session, event).unwrap_or_default();
            return calls.iter().try_for_each(|call| self.returned(event, call));
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
}
