//! What `ntrace latency` and `ntrace calls` share.

use std::rc::Rc;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use ubp::{Event, Returns, Session};

use crate::args::Target;
use crate::failure::{Failure, Result};
use crate::filter::{Arrived, Rest};
use crate::process::{Description, Space};
use crate::values::Callee;

/// Refuses arguments that make no sense for calls.
pub(super) fn check(target: &Target) -> Result<()> {
    match target.every_instruction {
        true => Err(Failure::usage("--every-instruction: only functions are called; use -b LOCATION")),
        false => Ok(()),
    }
}

/// The function whose first instruction is at an address. Tells `returns` of goroutines.
pub(super) fn function<T>(space: &mut Space, address: u64, returns: &mut Returns<T>) -> Result<Rc<Description>> {
    if space.module(address).is_some_and(|module| module.image.is_go()) {
        returns.set_goroutines(space.pid);
    }
    let description = space.description(address);
    if description.symbol.is_some() && description.offset != 0 {
        return Err(Failure::own(format!(
            "{} is not the first instruction of a function, so that nothing returns from it; give the function's name",
            description.location
        )));
    }
    Ok(description)
}

/// Whether a call is wanted, for a thread to which its function has just returned.
pub(super) fn is_wanted(
    rest: Option<&Rest>,
    session: &mut Session,
    space: &mut Space,
    event: &Event,
    callee: Callee,
) -> bool {
    rest.is_none_or(|rest| rest.holds(&mut Arrived::returned(session, space, event, callee)))
}

/// The present time of the clock of events.
pub(super) fn now() -> Result<Duration> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
    now.map_err(|error| Failure::own(format!("clock_gettime: {error}")))
}
