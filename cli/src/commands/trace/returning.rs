//! `ntrace trace --return`: calls, until they return.

use std::rc::Rc;
use std::time::Duration;

use ubp::{Address, Call, Event, Pid, Returns, Session};

use super::hit::Return;
use crate::commands::timing;
use crate::failure::Result;
use crate::filter::Rest;
use crate::follow::Arrival;
use crate::process::{Description, Space};
use crate::values::{Callee, Value};

/// A call that has not returned.
#[derive(Clone)]
pub(super) struct Open {
    function: Rc<Description>,
    /// What the result has to satisfy, if that decides whether the call is wanted.
    rest: Option<Rest>,
    callee: Callee,
    /// The arguments of a call that has no line yet.
    args: Option<Rc<[Value]>>,
}

/// The calls that have not returned.
pub(super) struct Returning(Returns<Open>);

impl Default for Returning {
    fn default() -> Returning {
        Returning(Returns::new())
    }
}

impl Returning {
    /// Whether a thread is at the return of a call.
    pub(super) fn is_return(&self, arrival: &Arrival<'_>) -> bool {
        self.0.is_return(arrival.event.pid, Address(arrival.address), arrival.id)
    }

    /// The function whose first instruction is at an address.
    ///
    /// # Errors
    /// There is no such function.
    pub(super) fn function(&mut self, space: &mut Space, address: u64) -> Result<Rc<Description>> {
        timing::function(space, address, &mut self.0)
    }

    /// Notes a call.
    pub(super) fn enter(
        &mut self,
        session: &mut Session,
        space: &Space,
        arrival: &Arrival<'_>,
        function: Rc<Description>,
        args: Option<Vec<Value>>,
    ) {
        let thread = (arrival.event.pid, arrival.event.tid);
        let callee = Callee::entered(session, space, thread, arrival.address);
        let rest = arrival.rest.clone();
        let args = args.filter(|_| rest.is_some()).map(Rc::from);
        // After an error: a signal killed the thread here.
        let _ = self.0.enter(session, arrival.event, |_| Open { function, rest, callee, args });
    }

    /// The wanted calls that have just returned, each with its value. `None`: the function returns nothing.
    pub(super) fn leave(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        event: &Event,
    ) -> Vec<(Call<Open>, Option<Value>)> {
        // After an error: a signal killed the thread here.
        let mut calls = self.0.leave(session, event).unwrap_or_default();
        let registers = session.registers(event.tid).ok();
        calls.retain(|call| timing::is_wanted(call.tag.rest.as_ref(), session, space, event, call.tag.callee));
        let of = |call: Call<Open>| {
            let value = registers.as_ref().and_then(|registers| {
                Value::returned(session, space, (event.pid, event.tid), call.tag.callee, registers)
            });
            (call, value)
        };
        calls.into_iter().map(of).collect()
    }

    pub(super) fn forked(&mut self, event: &Event, child: Pid) {
        self.0.forked(event, child);
    }

    pub(super) fn ended(&mut self, pid: Pid) {
        self.0.forget(pid);
    }

    pub(super) fn resuming(&mut self, event: &Event) {
        self.0.resuming(event);
    }
}

/// The line of a call that returned.
pub(super) fn line<'a>(
    event: &Event,
    time: Option<Duration>,
    call: &'a Call<Open>,
    value: Option<Value>,
) -> Return<'a> {
    Return {
        event: "return",
        time,
        pid: event.pid.0,
        tid: event.tid.0,
        depth: call.depth + 1,
        duration: u64::try_from(call.duration.as_nanos()).unwrap_or(u64::MAX),
        function: &call.tag.function,
        args: call.tag.args.as_deref(),
        value,
        is_known: call.tag.rest.is_none(),
    }
}
