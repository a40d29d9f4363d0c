//! How a thread passes a site: by its slot, or by an emulation of the instruction.

use libc::user_regs_struct;
use stepping::{Exit, Fault, Outcome};

use super::super::arch::{self, Emulated};
use super::super::plain_hit::can_pass_by;
use super::super::rewind::original_siginfo;
use super::super::space::{SlotId, Space};
use super::super::sys::{self, SigInfo};
use super::super::thread::{Run, Step, Stop};
use super::super::tracees::Tracees;
use super::Next;
use super::deferred::present;
use super::tell::tell_touched;
use crate::arch::{get, pc as pc_of, set, set_pc};
use crate::core::Passing;
use crate::watch::Hit;
use crate::{Result, Tid};

/// Memory as the thread itself may access it.
struct ThreadMemory<'a> {
    tid: Tid,
    space: &'a Space,
    /// Whether a watchpoint may observe an access.
    observed: bool,
    /// The watchpoints that the accesses touch.
    touched: Vec<Hit>,
}

impl ThreadMemory<'_> {
    /// Notes an access that watchpoints observe, as the processor would have.
    fn observe(&mut self, address: u64, length: usize, is_write: bool) {
        if self.observed {
            self.touched.extend(self.space.watches.touched(address, length, is_write));
        }
    }
}

impl stepping::Memory for ThreadMemory<'_> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        let count = sys::read_as_thread(self.tid, address, buffer);
        if count < buffer.len() {
            return Err(Fault::Page(address.wrapping_add(count as u64)));
        }
        self.space.clean(address, buffer);
        self.observe(address, buffer.len(), false);
        Ok(())
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let count = sys::write_as_thread(self.tid, address, bytes);
        if count == bytes.len() {
            self.observe(address, bytes.len(), true);
            return Ok(());
        }
        // What was written lies below the stack pointer, where the program would lose it in the fault as well.
        Err(Fault::Page(address.wrapping_add(count as u64)))
    }
    fn write_shadow_stack(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        if self.space.memory.write(address, bytes) != bytes.len() {
            return Err(Fault::Page(address));
        }
        self.observe(address, bytes.len(), true);
        Ok(())
    }
}

/// Sends a stopped thread past a site.
pub(in crate::ptrace) fn pass(tracees: &mut Tracees, tid: Tid, slot: SlotId) -> Result<Next> {
    let thread = tracees.thread(tid)?;
    let (pid, is_pinned) = (thread.pid, thread.pins > 0);
    let space = tracees.space_of(pid)?;
    if is_pinned {
        // An operation needs the thread stopped: the thread passes the site when it continues.
        let site = space.entry(slot).map_or(0, |entry| entry.site);
        tracees.thread_mut(tid)?.reported_at = Some(site);
        arch::set_pc(tid, site)?;
        return Ok(Next::Stay);
    }
    let steps = tracees.thread(tid)?.goal.is_step();
    if let Some(by_slot) = space.by_slot(slot).filter(|_| !steps) {
        if can_pass_by(tid, by_slot)? {
            arch::set_pc(tid, by_slot.address)?;
            let site = space.entry(slot).map(|entry| entry.site);
            let passed = site.and_then(|site| space.jumps.of_member(site)).map(|jump| jump.site);
            tracees.thread_mut(tid)?.passed = passed;
            return Ok(Next::Run(0));
        }
    }
    match space.passing(slot) {
        Some(Passing::Emulate(..)) => emulate(tracees, tid, slot, 0),
        Some(Passing::Slot(_)) => enter_slot(tracees, tid, slot, None),
        None => Ok(Next::Run(0)),
    }
}

/// Emulates the instruction; `tries` counts the probing steps that completed before.
pub(super) fn emulate(tracees: &mut Tracees, tid: Tid, slot: SlotId, tries: u8) -> Result<Next> {
    let space = tracees.space_at(tid)?;
    let (Some(Passing::Emulate(emulate, _)), Some(entry)) = (space.passing(slot), space.entry(slot)) else {
        return Ok(Next::Run(0));
    };
    let mut raw = arch::read(tid)?;
    set_pc(&mut raw, entry.site);
    let mut registers = Emulated::new(tid, raw, space.is_guarded(entry.site));
    let observed = space.watches.observe_memory() && tracees.thread(tid)?.armed.is_observed();
    let mut memory = ThreadMemory { tid, space, observed, touched: Vec::new() };
    let outcome = emulate.run(&mut registers, &mut memory);
    let touched = memory.touched;
    match outcome {
        Ok(Outcome::Slot) => enter_slot(tracees, tid, slot, None),
        Ok(outcome) => {
            registers.store(tid)?;
            let next = match outcome {
                Outcome::SingleStep => present(tracees, tid, SigInfo::single_step(pc_of(registers.raw()))),
                Outcome::Breakpoint => {
                    let info = original_siginfo(tracees, tid)?;
                    tracees.set_stop(tid, Stop::Signal(info))?;
                    Ok(Next::Signal(info.signal()))
                }
                _ if tracees.thread(tid)?.goal.is_step() => Ok(Next::Stepped),
                _ if !touched.is_empty() => Ok(Next::Run(0)),
                _ => {
                    let (from, to) = (entry.site, pc_of(registers.raw()));
                    Ok(arrival(tracees, tid, from, to)?.unwrap_or(Next::Run(0)))
                }
            }?;
            tell_touched(tracees, tid, touched, next)
        }
        Err(_) => enter_slot(tracees, tid, slot, Some((raw, tries))),
    }
}

/// The number of sites that a thread may come to without running: signals and interruptions wait meanwhile.
const MOST_ARRIVALS: u32 = 64;
/// The smallest page of all architectures.
const PAGE: u64 = 4096;

/// An emulation at `from` brought a thread to `to`. If a breakpoint instruction of ours is next, the thread need not run into it.
fn arrival(tracees: &mut Tracees, tid: Tid, from: u64, to: u64) -> Result<Option<Next>> {
    let thread = tracees.thread(tid)?;
    let is_asked = thread.interruption.for_user || thread.due.is_some();
    let is_free = matches!(thread.run, Run::Free) && thread.slot.deferred.is_empty();
    let is_due = matches!(thread.stop(), Some(Stop::Trap)) && thread.arrivals < MOST_ARRIVALS;
    // The processor looks for watched instructions where the thread runs into them.
    if is_asked || !is_free || !is_due || thread.armed.is_any() {
        return Ok(None);
    }
    let space = tracees.space_at(tid)?;
    let Some(&slot) = space.sites.get(&to) else { return Ok(None) };
    let is_programs = matches!(space.passing(slot), Some(Passing::Emulate(emulate, _)) if emulate.is_breakpoint());
    let is_internal = space.info(slot).is_some_and(|info| info.internal.is_some());
    // Another page may have become inaccessible.
    if is_programs || is_internal || from / PAGE != to / PAGE || !space.is_armed(to) {
        return Ok(None);
    }
    let (epoch, entry) = (space.epoch, space.jumps.entry(to));
    let thread = tracees.thread_mut(tid)?;
    thread.arrivals += 1;
    thread.seen = epoch;
    match entry {
        // The trampoline acts.
        Some(entry) if !arch::traces(&arch::read(tid)?) => {
            arch::set_pc(tid, entry)?;
            Ok(Some(Next::Run(0)))
        }
        Some(_) => Ok(None),
        None => Ok(Some(Next::Arrive(slot, to))),
    }
}

/// Sends a stopped thread into a slot; with `probe`, to make the processor raise the fault that the emulation met.
fn enter_slot(tracees: &mut Tracees, tid: Tid, slot: SlotId, probe: Option<(user_regs_struct, u8)>) -> Result<Next> {
    let space = tracees.space_at(tid)?;
    let Some(passing) = space.passing(slot) else { return Ok(Next::Run(0)) };
    let (code, address) = (*passing.code(), space.slot_address(slot));
    if let Some(scratch) = code.scratch {
        let mut registers = arch::read(tid)?;
        set_pc(&mut registers, address);
        if let Some(before) = get(&registers, scratch.register) {
            set(&mut registers, scratch.register, scratch.value);
            tracees.thread_mut(tid)?.slot.scratch = Some((scratch.register, before));
        }
        arch::write(tid, &registers)?;
    } else {
        arch::set_pc(tid, address)?;
    }
    let thread = tracees.thread_mut(tid)?;
    let steps = thread.goal.is_step() || matches!(code.exit, Exit::Step | Exit::StepThenReturnAddress(_));
    if probe.is_some() || steps {
        thread.run = Run::Step(Step { slot, probe });
    }
    Ok(Next::Run(0))
}
