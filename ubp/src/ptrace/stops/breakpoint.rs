//! A thread at a breakpoint.

use libc::user_regs_struct;

use super::super::Tracer;
use super::super::arch;
use super::super::breakpoints::loader::at_internal;
use super::super::jumps::Member;
use super::super::space::SlotId;
use super::super::thread::{Goal, Interrupted, Stop};
use super::super::tracees::Tracees;
use super::Next;
use super::record::record_hit;
use crate::arch::{get, set_pc, sp as sp_of};
use crate::{AggregationId, Condition, EventKind, Hit, Operand, Report, Result, Tid};

/// A thread ran into the breakpoint instruction at `site`, or would with its next instruction.
pub(in crate::ptrace) fn on_site(tracer: &mut Tracer, tid: Tid, slot: SlotId, site: u64) -> Result<Next> {
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
    if let Some(internal) = info.internal {
        arch::set_pc(tid, site)?;
        if let Some(change) = at_internal(tracees, &mut tracer.reports, tid, site, internal)? {
            // The thread executes the breakpoint instruction again when the user has seen this.
            return Ok(Next::Hold(change));
        }
    }
    let goal = tracees.thread(tid)?.goal;
    let is_reached = matches!(goal, Goal::Site { .. }) && goal.is_reached(site, sp_of(&arch::read(tid)?));
    let hit = count_arrival(tracees, tid, site)?.map(EventKind::Hit);
    tell_or_pass(tracees, tid, site, hit.or(is_reached.then_some(EventKind::Stepped)))
}

/// A trampoline stopped a thread whose arrival it has counted, because a condition may hold. The thread is at the site.
fn on_counted(tracees: &mut Tracees, tid: Tid, site: u64) -> Result<Next> {
    let sp = sp_of(&arch::read(tid)?);
    tracees.thread_mut(tid)?.handlers.forget(Interrupted { site, sp });
    let hit = if tracees.is_silent(tid) { None } else { note_arrival(tracees, tid, site, 0)? };
    tell_or_pass(tracees, tid, site, hit.map(EventKind::Hit))
}

/// A thread arrives at a site, at which it is, and no trampoline has counted that.
pub(super) fn on_uncounted(tracees: &mut Tracees, tid: Tid, site: u64) -> Result<Next> {
    let hit = count_arrival(tracees, tid, site)?;
    tell_or_pass(tracees, tid, site, hit.map(EventKind::Hit))
}

/// Does for a thread at a site what the trampoline has not done.
pub(super) fn on_unfinished(tracees: &mut Tracees, tid: Tid, site: u64) -> Result<Next> {
    let member = tracees.space_at(tid)?.jumps.of_member(site).and_then(|jump| jump.member(site));
    if member.is_some_and(Member::acts) {
        return on_uncounted(tracees, tid, site);
    }
    on_counted(tracees, tid, site)
}

/// How a thread at a site goes on, if the user is to see `hit`.
fn tell_or_pass(tracees: &mut Tracees, tid: Tid, site: u64, hit: Option<EventKind>) -> Result<Next> {
    let slot = tracees.space_at(tid)?.sites.get(&site).copied();
    match (hit, slot) {
        (None, Some(slot)) => Ok(Next::Pass(slot)),
        // The breakpoint removed itself.
        (None, None) => {
            arch::set_pc(tid, site)?;
            Ok(Next::Run(0))
        }
        (Some(hit), _) => {
            arch::set_pc(tid, site)?;
            tracees.thread_mut(tid)?.reported_at = Some(site);
            Ok(Next::Hold(hit))
        }
    }
}

/// Counts an arrival for each breakpoint at a site. Returns the hit of those that report it. The thread's pc is at the site, or behind the
/// breakpoint instruction there. One-shot breakpoints remove themselves.
pub(super) fn count_arrival(tracees: &mut Tracees, tid: Tid, site: u64) -> Result<Option<Hit>> {
    note_arrival(tracees, tid, site, 1)
}

/// [`count_arrival`]; an arrival of 0 is one that a trampoline has counted.
fn note_arrival(tracees: &mut Tracees, tid: Tid, site: u64, arrival: u64) -> Result<Option<Hit>> {
    let pid = tracees.thread(tid)?.pid;
    let space = tracees.space_of(pid)?;
    let mut next = space.sites.get(&site).and_then(|&slot| space.info(slot)).and_then(|info| info.first);
    let (mut told, mut spent, mut summed) = (Vec::new(), Vec::new(), Vec::new());
    // Whether the hit is recorded, and whether with text.
    let (mut records, mut text, mut stack) = (false, 0, false);
    while let Some(id) = next {
        let Some(breakpoint) = tracees.space_of_mut(pid)?.breakpoint_mut(id) else { break };
        next = breakpoint.next;
        if breakpoint.spec.thread.is_some_and(|thread| thread != tid) {
            continue;
        }
        if arrival == 0 && breakpoint.spec.condition.is_none() {
            continue;
        }
        breakpoint.arrivals = breakpoint.arrivals.wrapping_add(arrival);
        let (condition, arrivals) = (breakpoint.spec.condition.clone(), breakpoint.arrivals);
        if condition.is_some_and(|condition| !is_met(tracees, tid, site, &condition, arrivals)) {
            continue;
        }
        let Some(breakpoint) = tracees.space_of_mut(pid)?.breakpoint_mut(id) else { break };
        breakpoint.hits = breakpoint.hits.wrapping_add(1);
        let (spec, hits) = (&breakpoint.spec, breakpoint.hits);
        if spec.is_told(hits) {
            told.extend((spec.report == Report::Event).then_some((id, hits)));
            records |= spec.report == Report::Record;
            text |= spec.text;
            stack |= spec.stack;
            spent.extend(spec.once.then_some(id));
            summed.extend(spec.aggregation);
        }
    }
    for id in summed {
        add_to_sum(tracees, tid, site, id)?;
    }
    if records {
        record_hit(tracees, tid, site, (text, stack))?;
    }
    if !spent.is_empty() {
        let space = tracees.space_of_mut(pid)?;
        space.finish_breakpoints(&spent).into_iter().for_each(|site| space.disarm_one(site));
        if let Some(head) = space.jumps.of_member(site).map(|jump| jump.site) {
            let id = tracees.debuggee(pid)?.space;
            tracees.unwanted_jumps.push((id, head));
        }
    }
    // A chain begins with the newest breakpoint.
    Ok(Hit::new(site, told.into_iter().rev()))
}

/// How a thread executes one instruction that is about to: by the slot of its site, where a jump stands there.
pub(in crate::ptrace) fn step_past_jump(tracees: &mut Tracees, tid: Tid) -> Result<Next> {
    let space = tracees.space_at(tid)?;
    if space.jumps.is_empty() {
        return Ok(Next::Run(0));
    }
    let at = arch::pc(tid)?;
    if space.jumps.get(at).is_none() {
        return Ok(Next::Run(0));
    }
    on_uncounted(tracees, tid, at)
}

/// Adds a hit to an aggregation. A hit whose value cannot be read is left out.
fn add_to_sum(tracees: &mut Tracees, tid: Tid, site: u64, id: AggregationId) -> Result<()> {
    let value = tracees.sums.value(id).and_then(|value| operand_at(tracees, tid, site, value, 0, &mut None));
    let owner = tracees.space_at(tid)?.owner;
    if let Some(value) = value {
        tracees.sums.add(id, owner, site, value);
    }
    Ok(())
}

fn is_met(tracees: &Tracees, tid: Tid, site: u64, condition: &Condition, arrivals: u64) -> bool {
    let Ok(space) = tracees.space_at(tid) else { return false };
    let mut known = None;
    condition.holds(space.arch, &mut |operand| operand_at(tracees, tid, site, *operand, arrivals, &mut known))
}

/// A value of a thread at a site. `known` are its registers, once they are read.
fn operand_at(
    tracees: &Tracees,
    tid: Tid,
    site: u64,
    operand: Operand,
    arrivals: u64,
    known: &mut Option<user_regs_struct>,
) -> Option<u64> {
    let space = tracees.space_at(tid).ok()?;
    let mut register = |reg| {
        if known.is_none() {
            let mut registers = arch::read(tid).ok()?;
            set_pc(&mut registers, site);
            *known = Some(registers);
        }
        known.as_ref().and_then(|registers| get(registers, reg))
    };
    match operand {
        Operand::Arrivals => Some(arrivals),
        Operand::Register(reg) | Operand::Part { register: reg, .. } => register(reg),
        Operand::Memory { base, offset, size } => {
            let address = base.map_or(Some(0), &mut register)?.wrapping_add_signed(offset);
            let mut raw = [0; 8];
            let part = raw.get_mut(..usize::from(size))?;
            (space.read(address, part) == usize::from(size)).then(|| u64::from_le_bytes(raw))
        }
    }
}
