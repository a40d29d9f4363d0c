//! This project's breakpoints.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ubp::{Address, Patch, Pid, Session, Spec};

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
    let mut ids = session.insert(pid, &[Spec::count(Address(debuggee.sites[site])).patch(patch)])?;
    let id = ids.pop().context("an answer")??;
    debuggee.ask(site, count)?;
    loop {
        while let Some(event) = session.poll()? {
            if event.is_held() {
                session.resume(event.tid)?;
            }
        }
        let mut waiting = [
            PollFd::new(session.as_fd(), PollFlags::POLLIN),
            PollFd::new(debuggee.answers().as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut waiting, PollTimeout::NONE) {
            // A debuggee's stop comes as a signal.
            Err(Errno::EINTR) => continue,
            ready => ready?,
        };
        if waiting[1].any().unwrap_or(false) {
            break;
        }
    }
    let seen = session.breakpoint(pid, id).context("the breakpoint")?.hits();
    anyhow::ensure!(seen == count, "{seen} hits of {count}");
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
