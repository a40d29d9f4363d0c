//! `ntrace calls`.

mod call;
mod json;
mod perfetto;
mod rates;
mod text;
mod tree;

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use ubp::{Address, Event, Patch, Pid, Report, Returns, Session};

use self::call::{Open, Returned};
use self::perfetto::Perfetto;
use self::text::Text;
use self::tree::Tree;
use crate::args::{CallsArgs, CallsFormat};
use crate::commands::flame::{self, Picture};
use crate::commands::timing;
use crate::failure::Result;
use crate::follow::{self, Arrival, Kind, Sink};
use crate::heritage::Heritage;
use crate::output::{Output, Summary};
use crate::process::{Description, Space};
use crate::values::{Callee, Value};
use crate::worker::{Control, End};

const TIMES: Picture =
    Picture { title: "Time in functions", unit: "ns", empty: "no call returned, so that there is nothing to draw" };

/// Writes calls as they return.
struct Calls<'a> {
    args: &'a CallsArgs,
    output: Output<'static>,
    tree: Tree,
    returns: Returns<Open>,
    form: Form,
    /// The number of returns that were written.
    written: u64,
}

/// How calls are written, with what that has to remember.
enum Form {
    Text(Text),
    Json,
    Perfetto(Perfetto),
    /// The tree has the times, which are written at the end.
    Tree,
}

/// Runs the command in the worker process.
pub(crate) fn run(args: &CallsArgs, control: Control, heritage: Heritage) -> Result<End> {
    timing::check(&args.target)?;
    let summary = Summary::new("calls");
    let output = Output::open(args.target.output.as_deref())?;
    let form = match args.format {
        CallsFormat::Text => Form::Text(Text::default()),
        CallsFormat::Json => Form::Json,
        CallsFormat::Perfetto => Form::Perfetto(Perfetto::default()),
        CallsFormat::Folded | CallsFormat::Flamegraph => Form::Tree,
    };
    let mut calls = Calls { args, output, tree: Tree::default(), returns: Returns::new(), form, written: 0 };
    let mut follower = follow::start(
        &args.target,
        Kind { results: true, ..Kind::new(Report::Event, Patch::Auto) },
        control,
        heritage,
    )?;
    let end = follower.run(&mut calls);
    let written = calls.written;
    let end = calls.finish().and(end);
    summary.tell(written, 0, follower.cost());
    follower.finish(end)
}

impl Calls<'_> {
    fn is_wanted(&self, depth: usize) -> bool {
        self.args.depth.is_none_or(|most| depth < most as usize)
    }

    fn enter(
        &mut self,
        session: &mut Session,
        space: &Space,
        arrival: &Arrival<'_>,
        function: Rc<Description>,
    ) -> Result<()> {
        // After an error: a signal killed the thread here.
        let event = arrival.event;
        let Ok(Some((depth, open))) = self.note_call(session, space, arrival, function) else { return Ok(()) };
        let is_wanted = self.is_wanted(depth);
        match &mut self.form {
            // A call of which it is not known yet whether it is wanted has one line, when it returns.
            Form::Text(text) if is_wanted && open.rest.is_none() => {
                text.entered(event.tid, depth, open, &self.tree, &mut self.output)
            }
            _ => Ok(()),
        }
    }

    fn note_call(
        &mut self,
        session: &mut Session,
        space: &Space,
        arrival: &Arrival<'_>,
        function: Rc<Description>,
    ) -> ubp::Result<Option<(usize, Open)>> {
        let event = arrival.event;
        let (mut args, mut callee) = (None, Callee::new(arrival.address));
        let thread = (event.pid, event.tid);
        if self.args.args {
            let registers = session.registers(event.tid)?;
            args = Some(Value::arguments(session, space, thread, arrival.address, &registers).into());
        }
        if self.args.returned || arrival.rest.is_some() {
            callee = Callee::entered(session, space, thread, arrival.address);
        }
        // Other forms need the function alone.
        let is_tree = matches!(self.form, Form::Tree);
        let rest = arrival.rest.clone();
        let (tree, mut open) = (&mut self.tree, None);
        let entered = self.returns.enter(session, event, |caller| {
            let stack = tree.stack(caller.filter(|_| is_tree).map(|caller| caller.stack), function);
            open.insert(Open { stack, args, callee, rest }).clone()
        })?;
        Ok(entered.map(|entered| entered.depth).zip(open))
    }

    fn returned(&mut self, returned: &Returned<'_>) -> Result<()> {
        if !self.is_wanted(returned.call.depth) || self.is_done() {
            return Ok(());
        }
        self.written += 1;
        match &mut self.form {
            Form::Text(text) => text.returned(returned, &self.tree, &mut self.output),
            Form::Json => json::write(returned, &self.tree, &mut self.output),
            Form::Perfetto(perfetto) => perfetto.returned(returned, &self.tree, &mut self.output),
            Form::Tree => {
                // Calls beyond the depth have no place of their own in the picture.
                let is_last = !self.is_wanted(returned.call.depth + 1);
                let time = if is_last { returned.call.duration } else { returned.own() };
                self.tree.add(returned.call.tag.stack, time);
                Ok(())
            }
        }
    }

    /// Writes the calls that are still open, and the forms that are written as a whole.
    fn finish(self) -> Result<()> {
        let Calls { args, tree, mut output, form, .. } = self;
        match (form, args.format) {
            (Form::Text(mut text), _) => text.finish(&tree, &mut output)?,
            (Form::Json, _) => {}
            (Form::Perfetto(mut perfetto), _) => perfetto.finish(&mut output)?,
            (Form::Tree, CallsFormat::Flamegraph) => flame::draw(&TIMES, &tree.folded(), &mut output)?,
            (Form::Tree, _) => flame::write_folded(&tree.folded(), &mut output)?,
        }
        output.flush()
    }
}

impl Sink for Calls<'_> {
    fn hit(&mut self, session: &mut Session, space: &mut Space, arrival: &Arrival<'_>) -> Result<()> {
        let Arrival { event, address, id, .. } = *arrival;
        if self.returns.is_return(event.pid, Address(address), id) {
            // After an error: a signal killed the thread here.
            let calls = self.returns.leave(session, event).unwrap_or_default();
            let registers = self.args.returned.then(|| session.registers(event.tid).ok()).flatten();
            return calls.iter().try_for_each(|call| {
                if !timing::is_wanted(call.tag.rest.as_ref(), session, space, event, call.tag.callee) {
                    return Ok(());
                }
                let of =
                    |registers| Value::returned(session, space, (event.pid, event.tid), call.tag.callee, registers);
                let value = registers.as_ref().and_then(of);
                self.returned(&Returned { event, call, value: value.as_ref() })
            });
        }
        let function = timing::function(space, address, &mut self.returns)?;
        self.enter(session, space, arrival, function)
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
