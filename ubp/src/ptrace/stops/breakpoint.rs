//! A thread at a breakpoint.

use std::collections::VecDeque;

use super::super::Tracer;
use super::super::arch;
use super::super::breakpoints::loader::at_internal;
use super::super::space::SlotId;
use super::super::thread::{Hold, Interrupted, Stop};
use super::super::tracees::Tracees;
use super::Next;
use crate::arch::{Reg, get, set_pc, sp as sp_of};
use crate::{Condition, EventKind, Operand, Report, Result, Tid};

/// A thread ran into the breakpoint instruction at `site`.
pub(super) fn on_site(tracer: &mut Tracer, tid: Tid, slot: SlotId, site: u64) -> Result<Next> {
    let tracees = &mut tracer.tracees;
    tracees.set_stop(tid, Stop::Trap)?;
    if tracees.thread(tid)?.handlers.is_any() {
        // The thread comes here again without a return from the handler: it left the interrupted execution for good.
        let sp = sp_of(&arch::read(tid)?);
        tracees.thread_mut(tid)?.handlers.forget(Interrupted { site, sp });
    }
    let info = tracees.space_at(tid)?.info(slot).unwrap_or_default();
    if tracees.is_silent(tid) {
        return Ok(Next::Pass(slot));
    }
    let mut events = Vec::new();
    if let Some(internal) = info.internal {
        arch::set_pc(tid, site)?;
        if at_internal(tracees, &mut tracer.reports, tid, site, internal)? {
            events.push(EventKind::Loaded);
        }
    }
    count_hit(tracees, tid, info.first, &mut events)?;
    if events.is_empty() {
        // An internal breakpoint may have removed itself.
        return Ok(tracees.space_at(tid)?.sites.get(&site).map_or(Next::Run(0), |&slot| Next::Pass(slot)));
    }
    arch::set_pc(tid, site)?;
    let thread = tracees.thread_mut(tid)?;
    thread.reported_at = Some(site);
    let mut events = VecDeque::from(events);
    let first = events.pop_front();
    thread.hold = Hold::ForUser(events);
    Ok(first.map_or(Next::Stay, Next::Hold))
}

/// Counts a hit for each breakpoint of a chain, and adds the events of those that report it.
fn count_hit(
    tracees: &mut Tracees,
    tid: Tid,
    first: Option<crate::BreakpointId>,
    events: &mut Vec<EventKind>,
) -> Result<()> {
    let pid = tracees.thread(tid)?.pid;
    let mut next = first;
    while let Some(id) = next {
        let Some(breakpoint) = tracees.space_of_mut(pid)?.breakpoint_mut(id) else { break };
        breakpoint.arrivals += 1;
        next = breakpoint.next;
        let (spec, arrivals) = (breakpoint.spec, breakpoint.arrivals);
        if spec.condition.is_some_and(|condition| !is_met(tracees, tid, &condition, arrivals)) {
            continue;
        }
        if let Some(breakpoint) = tracees.space_of_mut(pid)?.breakpoint_mut(id) {
            breakpoint.hits += 1;
            if spec.report == Report::Event && breakpoint.hits > spec.ignore {
                events.push(EventKind::Hit(id));
            }
        }
    }
    Ok(())
}

fn is_met(tracees: &Tracees, tid: Tid, condition: &Condition, arrivals: u64) -> bool {
    let left = match condition.left {
        Operand::Arrivals => Some(arrivals),
        Operand::Register(reg) => register_at_site(tracees, tid, reg),
        Operand::Memory { base, offset, size } => {
            base.map_or(Some(0), |base| register_at_site(tracees, tid, base)).and_then(|base| {
                let mut raw = [0; 8];
                let part = raw.get_mut(..usize::from(size))?;
                let address = base.wrapping_add_signed(offset);
                let read = tracees.space_at(tid).ok()?.read(address, part);
                (read == usize::from(size)).then(|| u64::from_le_bytes(raw))
            })
        }
    };
    left.is_some_and(|left| condition.comparison.holds(left, condition.right))
}

fn register_at_site(tracees: &Tracees, tid: Tid, reg: Reg) -> Option<u64> {
    let mut registers = arch::read(tid).ok()?;
    let site = tracees.trap_address(tid).ok()?;
    set_pc(&mut registers, site);
    get(&registers, reg)
}
