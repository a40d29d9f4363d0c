//! This project's breakpoints.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ubp::{Address, EventKind, Patch, Pid, Session, Spec};

use super::debuggee::{Debuggee, FIELD, FIELD_STEP};

/// Nanoseconds of `count` hits of a breakpoint instruction.
pub(super) fn hits(site: usize, count: u64) -> Result<u64> {
    hits_by(Patch::Trap, site, count)
}

/// Nanoseconds of `count` hits of a jump.
#[cfg(target_arch = "x86_64")]
pub(super) fn jumps(site: usize, count: u64) -> Result<u64> {
    hits_by(Patch::Jump, site, count)
}

/// Nanoseconds of as many executions without a tracer.
pub(super) fn unprobed(site: usize, count: u64) -> Result<u64> {
    let mut debuggee = Debuggee::start()?;
    debuggee.ask(site, count)?;
    debuggee.answer()
}

fn hits_by(patch: Patch, site: usize, count: u64) -> Result<u64> {
    let mut debuggee = Debuggee::start()?;
    let (mut session, pid) = attach(&debuggee)?;
    let counting = Spec::count(Address(debuggee.sites[site])).patch(patch);
    let ids = session.insert(pid, &[counting, Spec::event(Address(debuggee.done))])?;
    let ids = ids.into_iter().collect::<Result<Vec<_>, _>>()?;
    let id = *ids.first().context("an answer")?;
    debuggee.ask(site, count)?;
    // The event is that of the instruction behind the walk.
    let event = session.wait()?.context("the debuggee lives")?;
    anyhow::ensure!(matches!(event.kind, EventKind::Hit(_)), "{event:?}");
    let seen = session.breakpoint(pid, id).context("the breakpoint")?.hits();
    anyhow::ensure!(seen == count, "{seen} hits of {count}");
    session.resume(event.tid)?;
    debuggee.answer()
}

/// How long it takes to insert and to remove [`FIELD`] breakpoints.
pub(super) fn insert_and_remove() -> Result<(Duration, Duration)> {
    let debuggee = Debuggee::start()?;
    let (mut session, pid) = attach(&debuggee)?;
    let specs: Vec<Spec> =
        (0..FIELD as u64).map(|number| Spec::count(Address(debuggee.field + number * FIELD_STEP))).collect();
    let start = Instant::now();
    let ids = session.insert(pid, &specs)?.into_iter().collect::<Result<Vec<_>, _>>()?;
    let inserted = start.elapsed();
    let start = Instant::now();
    session.remove(pid, &ids)?;
    Ok((inserted, start.elapsed()))
}

fn attach(debuggee: &Debuggee) -> Result<(Session, Pid)> {
    let mut session = Session::new()?;
    let pid = session.attach(Pid(debuggee.pid()))?;
    Ok((session, pid))
}
