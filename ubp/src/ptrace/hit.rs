//! A thread at a breakpoint, and how it passes.

use stepping::{Exit, Fault, Outcome, Progress};

use super::arch::Emulated;
use super::space::{SlotId, Space};
use super::sys::{self, SigInfo};
use super::thread::{Step, Stop};
use super::{Tracer, arch, slot};
use crate::arch::{BEHIND, Reg, get, pc as pc_of, set, set_pc, sp as sp_of};
use crate::core::{Passing, State as EntryState};
use crate::{Condition, EventKind, Operand, Report, Result, Tid};

/// So often a probing step may complete before its outcome is accepted: memory that the processor can access and the kernel
/// cannot for us (device memory).
const PROBES: u8 = 3;
/// Memory as the thread itself may access it.
struct ThreadMemory<'a> {
    tid: Tid,
    space: &'a Space,
}

impl stepping::Memory for ThreadMemory<'_> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        let count = sys::read_as_thread(self.tid, address, buffer);
        if count < buffer.len() {
            return Err(Fault::Page(address.wrapping_add(count as u64)));
        }
        self.space.clean(address, buffer);
        Ok(())
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let count = sys::write_as_thread(self.tid, address, bytes);
        if count == bytes.len() {
            return Ok(());
        }
        // The part that was written is what the program would lose in the fault as well: it lies below the stack pointer.
        Err(Fault::Page(address.wrapping_add(count as u64)))
    }
    fn write_shadow_stack(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        if self.space.memory.write(address, bytes) == bytes.len() { Ok(()) } else { Err(Fault::Page(address)) }
    }
}

impl Tracer {
    /// A `SIGTRAP` about to be delivered: ours, or the program's own.
    pub(super) fn on_trap(&mut self, tid: Tid, info: SigInfo) -> Result<()> {
        let pid = self.thread(tid)?.pid;
        let thread = self.thread(tid)?;
        if (thread.entering || thread.framing.is_some()) && info.code() == libc::SIGTRAP {
            return self.on_handler(tid);
        }
        if !arch::is_breakpoint(&info) {
            if info.is_synchronous() && self.thread(tid)?.step.is_some() {
                self.restore_mask(tid)?;
                return self.on_step(tid);
            }
            return self.on_signal(tid, info);
        }
        let before = self.trap_address(tid)?;
        let space = self.space_of(pid)?;
        if let Some((slot, entry)) = space.find(before) {
            let epoch = space.epoch;
            if entry.state == EntryState::Active {
                self.thread_mut(tid)?.seen = epoch;
                self.restore_mask(tid)?;
                return self.on_site(tid, slot, before);
            }
            if !space.is_armed(before) {
                // Removed while the thread was on its way here.
                self.thread_mut(tid)?.seen = epoch;
                self.restore_mask(tid)?;
                arch::set_pc(tid, before)?;
                self.set_stop(tid, Stop::Trap)?;
                return self.go_on(tid);
            }
        }
        if let Some((_, place)) = space.place(before) {
            let mut registers = arch::read(tid)?;
            let thread = self.thread_mut(tid)?;
            slot::translate(&mut registers, &place, thread.scratch.take());
            thread.step = None;
            arch::write(tid, &registers)?;
            self.restore_mask(tid)?;
            self.set_stop(tid, Stop::Trap)?;
            return self.passed(tid);
        }
        if let Some(info) = self.thread_mut(tid)?.stands.take() {
            arch::set_pc(tid, before.wrapping_add(BEHIND))?;
            sys::set_siginfo(tid, &info)?;
            self.set_stop(tid, Stop::Signal(info))?;
            return self.on_signal(tid, info);
        }
        self.on_signal(tid, info)
    }

    /// A thread stands at the first instruction of a signal handler. Where the program has one for `SIGTRAP`, blocked there, a
    /// breakpoint would make the kernel forget it.
    fn on_handler(&mut self, tid: Tid) -> Result<()> {
        self.set_stop(tid, Stop::Event)?;
        if let Some(sp) = self.thread_mut(tid)?.framing.take() {
            self.correct_frame(tid, sp)?;
        }
        if std::mem::take(&mut self.thread_mut(tid)?.entering) {
            let mask = sys::signal_mask(tid)?;
            sys::set_signal_mask(tid, mask & !crate::Signal(libc::SIGTRAP).bit())?;
        }
        self.go_on(tid)
    }

    /// Blocks `SIGTRAP` again where the program had: the kernel unblocks what it forces. That is so where all others are blocked;
    /// nobody blocks `SIGTRAP` alone.
    fn restore_mask(&mut self, tid: Tid) -> Result<()> {
        const NEVER: u64 = 1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1);
        const TRAP: u64 = 1 << (libc::SIGTRAP - 1);
        const STANDARD: u64 = (1 << 31) - 1;
        let mask = sys::signal_mask(tid)?;
        if mask & STANDARD | NEVER | TRAP == STANDARD && mask & TRAP == 0 {
            self.forget_answer(tid)?;
            sys::set_signal_mask(tid, mask | TRAP)?;
        }
        Ok(())
    }

    /// A thread ran into the breakpoint instruction at `site`.
    fn on_site(&mut self, tid: Tid, slot: SlotId, site: u64) -> Result<()> {
        self.set_stop(tid, Stop::Trap)?;
        let thread = self.thread_mut(tid)?;
        let pid = thread.pid;
        if !thread.executions.is_empty() {
            // Here again without a return from the handler: a new execution, the old one was left for good.
            let sp = sp_of(&arch::read(tid)?);
            self.thread_mut(tid)?.executions.retain(|old| (old.site, old.sp) != (site, sp));
        }
        let info = self.space_of(pid)?.info(slot).unwrap_or_default();
        if self.is_silent(tid) {
            return self.pass(tid, slot);
        }
        let mut reports = Vec::new();
        if let Some(internal) = info.internal {
            arch::set_pc(tid, site)?;
            if self.on_internal(tid, internal)? {
                reports.push(EventKind::Loaded);
            }
        }
        let mut next = info.first;
        while let Some(id) = next {
            let space = self.space_of_mut(pid)?;
            let Some(breakpoint) = space.breakpoint_mut(id) else { break };
            breakpoint.arrivals += 1;
            next = breakpoint.next;
            let (spec, arrivals) = (breakpoint.spec, breakpoint.arrivals);
            if spec.condition.is_some_and(|condition| !self.holds(tid, &condition, arrivals)) {
                continue;
            }
            if let Some(breakpoint) = self.space_of_mut(pid)?.breakpoint_mut(id) {
                breakpoint.hits += 1;
                if spec.report == Report::Event && breakpoint.hits > spec.ignore {
                    reports.push(EventKind::Hit(id));
                }
            }
        }
        if reports.is_empty() {
            // An internal breakpoint may have removed itself.
            return match self.space_of(pid)?.sites.get(&site) {
                Some(&slot) => self.pass(tid, slot),
                None => self.run(tid, 0),
            };
        }
        arch::set_pc(tid, site)?;
        let thread = self.thread_mut(tid)?;
        thread.at = Some(site);
        thread.pending.extend(reports);
        if let Some(first) = self.thread_mut(tid)?.pending.pop_front() {
            self.hold(tid, first)?;
        }
        Ok(())
    }

    fn holds(&self, tid: Tid, condition: &Condition, arrivals: u64) -> bool {
        let left = match condition.left {
            Operand::Arrivals => Some(arrivals),
            Operand::Register(reg) => self.register_at_site(tid, reg),
            Operand::Memory { base, offset, size } => {
                base.map_or(Some(0), |base| self.register_at_site(tid, base)).and_then(|base| {
                    let pid = self.thread(tid).ok()?.pid;
                    let mut raw = [0; 8];
                    let part = raw.get_mut(..usize::from(size))?;
                    let address = base.wrapping_add_signed(offset);
                    (self.space_of(pid).ok()?.read(address, part) == usize::from(size)).then(|| u64::from_le_bytes(raw))
                })
            }
        };
        left.is_some_and(|left| condition.comparison.holds(left, condition.right))
    }

    fn register_at_site(&self, tid: Tid, reg: Reg) -> Option<u64> {
        let mut registers = arch::read(tid).ok()?;
        let site = self.trap_address(tid).ok()?;
        set_pc(&mut registers, site);
        get(&registers, reg)
    }

    /// Sends a stopped thread over a site.
    pub(super) fn pass(&mut self, tid: Tid, slot: SlotId) -> Result<()> {
        let thread = self.thread(tid)?;
        if thread.wanted > 0 {
            // Somebody holds it up: it is to start from the site then.
            let site = self.space_of(thread.pid)?.entry(slot).map_or(0, |entry| entry.site);
            self.thread_mut(tid)?.at = Some(site);
            return arch::set_pc(tid, site);
        }
        let pid = thread.pid;
        let space = self.space_of(pid)?;
        if space.info(slot).is_some_and(|info| info.boosted) {
            arch::set_pc(tid, space.slot_address(slot))?;
            return self.run(tid, 0);
        }
        match space.passing(slot) {
            Some(Passing::Emulate(..)) => self.emulate(tid, slot, 0),
            Some(Passing::Slot(_)) => self.enter(tid, slot, None),
            None => self.run(tid, 0),
        }
    }

    fn emulate(&mut self, tid: Tid, slot: SlotId, tries: u8) -> Result<()> {
        let pid = self.thread(tid)?.pid;
        let space = self.space_of(pid)?;
        let (Some(Passing::Emulate(emulate, _)), Some(entry)) = (space.passing(slot), space.entry(slot)) else {
            return self.run(tid, 0);
        };
        let mut raw = arch::read(tid)?;
        set_pc(&mut raw, entry.site);
        let mut registers = Emulated::new(tid, raw, space.is_guarded(entry.site));
        match emulate.run(&mut registers, &mut ThreadMemory { tid, space }) {
            Ok(Outcome::Slot) => self.enter(tid, slot, None),
            Ok(outcome) => {
                registers.store(tid)?;
                match outcome {
                    Outcome::SingleStep => {
                        let info = SigInfo::single_step(pc_of(registers.raw()));
                        self.present(tid, info)
                    }
                    Outcome::Breakpoint => match self.trap_information(tid) {
                        Ok(info) => {
                            self.set_stop(tid, Stop::Signal(info))?;
                            self.report_signal(tid, info)
                        }
                        Err(error) => Err(error),
                    },
                    _ => self.run(tid, 0),
                }
            }
            Err(_) => self.enter(tid, slot, Some((raw, tries))),
        }
    }

    /// Sends a stopped thread into a slot; with `probe`, to make the processor raise a fault.
    fn enter(&mut self, tid: Tid, slot: SlotId, probe: Option<(libc::user_regs_struct, u8)>) -> Result<()> {
        let pid = self.thread(tid)?.pid;
        let space = self.space_of(pid)?;
        let Some(passing) = space.passing(slot) else { return self.run(tid, 0) };
        let (code, address) = (*passing.code(), space.slot_address(slot));
        if let Some(scratch) = code.scratch {
            let mut registers = arch::read(tid)?;
            set_pc(&mut registers, address);
            if let Some(before) = get(&registers, scratch.register) {
                set(&mut registers, scratch.register, scratch.value);
                self.thread_mut(tid)?.scratch = Some((scratch.register, before));
            }
            arch::write(tid, &registers)?;
        } else {
            arch::set_pc(tid, address)?;
        }
        if probe.is_some() || matches!(code.exit, Exit::Step | Exit::StepThenReturnAddress(_)) {
            self.thread_mut(tid)?.step = Some(Step { slot, probe });
        }
        self.run(tid, 0)
    }

    /// A single step of ours is done.
    fn on_step(&mut self, tid: Tid) -> Result<()> {
        self.set_stop(tid, Stop::Trap)?;
        let thread = self.thread_mut(tid)?;
        let pid = thread.pid;
        let Some(step) = thread.step.take() else { return self.go_on(tid) };
        let mut registers = arch::read(tid)?;
        if let Some((saved, tries)) = step.probe
            && tries < PROBES
        {
            self.thread_mut(tid)?.scratch = None;
            arch::write(tid, &saved)?;
            return self.emulate(tid, step.slot, tries + 1);
        }
        let scratch = self.thread(tid)?.scratch;
        let trapped = arch::traces(&registers) && !self.holds_off_trap(tid, pc_of(&registers))?;
        let space = self.space_of(pid)?;
        let inside = space.place(pc_of(&registers));
        if let Some((slot, place)) = inside {
            if slot == step.slot && place.progress == Progress::Before && !trapped {
                // A repeated instruction is not done by one step.
                self.thread_mut(tid)?.step = Some(step);
                return self.still_before(tid);
            }
            slot::translate(&mut registers, &place, scratch);
        } else {
            if let Some((reg, value)) = scratch {
                set(&mut registers, reg, value);
            }
            if let (Some(passing), Some(entry)) = (space.passing(step.slot), space.entry(step.slot))
                && let Exit::StepThenReturnAddress(size) = passing.code().exit
            {
                let next = entry.site.wrapping_add(entry.bytes().len() as u64);
                let slot = space.slot_address(step.slot);
                arch::correct_return_address(tid, &mut registers, &space.memory, slot, next, size);
            }
        }
        arch::write(tid, &registers)?;
        self.thread_mut(tid)?.scratch = None;
        if trapped {
            return self.passed_with_trap(tid, pc_of(&registers));
        }
        self.passed(tid)
    }

    /// The instruction is done, and the program's own trap flag was set: that trap comes before all other signals.
    fn passed_with_trap(&mut self, tid: Tid, pc: u64) -> Result<()> {
        for info in std::mem::take(&mut self.thread_mut(tid)?.deferred) {
            self.send_anew(tid, info)?;
        }
        self.present(tid, SigInfo::single_step(pc))
    }

    /// The instruction is done and the thread is where it would be; signals that waited for that come now.
    pub(super) fn passed(&mut self, tid: Tid) -> Result<()> {
        let thread = self.thread_mut(tid)?;
        if thread.deferred.is_empty() {
            return self.go_on(tid);
        }
        let waiting = std::mem::take(&mut thread.deferred);
        let (first, rest) = match waiting.split_first() {
            Some((&first, rest)) => (first, rest),
            None => return self.go_on(tid),
        };
        for &info in rest {
            self.send_anew(tid, info)?;
        }
        self.present(tid, first)
    }

    /// Puts a signal in place of the trap that the thread is stopped by.
    pub(super) fn present(&mut self, tid: Tid, info: SigInfo) -> Result<()> {
        match self.thread(tid)?.stop() {
            Some(Stop::Trap | Stop::Signal(_)) => {
                sys::set_siginfo(tid, &info)?;
                self.set_stop(tid, Stop::Signal(info))?;
            }
            _ => self.set_stop(tid, Stop::Moved(info))?,
        }
        self.report_signal(tid, info)
    }
}
