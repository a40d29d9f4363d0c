//! Held threads, and their events.

use std::collections::VecDeque;
use std::time::Duration;

use wire::commands::Command;

use super::site::Internal;
use super::{Held, Kernel};
use crate::{Address, Condition, Error, Event, EventKind, Operand, Pid, Registers, Report, Result, Tid};

impl Kernel {
    /// A thread is held at a site.
    pub(super) fn on_site(&mut self, pid: Pid, tid: Tid, address: u64, time: Duration) -> Result<()> {
        let passed = self.passing.remove(&tid) == Some((pid, address));
        self.held.insert(tid, Held { site: Some(address), ..Held::new(pid, VecDeque::new()) });
        if passed {
            self.uncount(pid, address);
            return self.resume(tid);
        }
        let Some(site) = self.debuggee(pid)?.sites.get(&address).cloned() else {
            // The breakpoint was removed meanwhile.
            return self.resume(tid);
        };
        let mut reports = VecDeque::new();
        if site.internal.map_or(Ok(false), |internal| self.on_internal(pid, internal))? {
            reports.push_back(EventKind::Loaded);
        }
        let mut registers = None;
        for id in site.ids.iter().rev() {
            let Some(Some(own)) = self.debuggee_mut(pid)?.breakpoints.get_mut(id.0 as usize) else { continue };
            own.breakpoint.arrivals += 1;
            let (spec, arrivals) = (own.breakpoint.spec, own.breakpoint.arrivals);
            let condition = spec.condition.filter(|_| !site.is_filtered());
            if condition.is_some_and(|condition| !self.holds(pid, tid, &condition, arrivals, &mut registers)) {
                continue;
            }
            if let Some(Some(own)) = self.debuggee_mut(pid)?.breakpoints.get_mut(id.0 as usize) {
                own.breakpoint.hits += 1;
                if spec.report == Report::Event && own.breakpoint.hits > spec.ignore {
                    reports.push_back(EventKind::Hit(*id));
                }
            }
        }
        self.report(pid, tid, reports, time)
    }

    /// Reports the events of a held thread, or resumes it if there are none.
    fn report(&mut self, pid: Pid, tid: Tid, mut reports: VecDeque<EventKind>, time: Duration) -> Result<()> {
        let Some(first) = reports.pop_front() else { return self.resume(tid) };
        if let Some(held) = self.held.get_mut(&tid) {
            held.pending = reports;
        }
        self.emit(pid, tid, first, time);
        Ok(())
    }

    /// A thread is held at a site of the session itself. Returns whether code was mapped or unmapped.
    fn on_internal(&mut self, pid: Pid, internal: Internal) -> Result<bool> {
        match internal {
            Internal::Entry => self.on_entry(pid).map(|()| false),
            Internal::Mapped => self.on_mapped(pid),
            Internal::Loader => self.on_loader(pid),
        }
    }

    fn holds(
        &mut self,
        pid: Pid,
        tid: Tid,
        condition: &Condition,
        arrivals: u64,
        known: &mut Option<Registers>,
    ) -> bool {
        let mut register = |reg| {
            if known.is_none() {
                *known = self.registers(tid).ok();
            }
            known.as_ref().and_then(|registers| registers.get(reg))
        };
        let left = match condition.left {
            Operand::Arrivals => Some(arrivals),
            Operand::Register(reg) => register(reg),
            Operand::Memory { base, offset, size } => {
                let base = base.map_or(Some(0), &mut register);
                base.and_then(|base| self.read_word(pid, base.wrapping_add_signed(offset), usize::from(size)))
            }
        };
        left.is_some_and(|left| condition.comparison.holds(left, condition.right))
    }

    /// Notes a held thread that is not at a site, and reports an event.
    pub(super) fn hold(&mut self, pid: Pid, tid: Tid, kind: EventKind, time: Duration) {
        self.held.insert(tid, Held::new(pid, VecDeque::new()));
        self.emit(pid, tid, kind, time);
    }

    pub(super) fn emit(&mut self, pid: Pid, tid: Tid, kind: EventKind, time: Duration) {
        self.events.push_back(Event { pid, tid, time, kind });
        self.channel.set_awake(true);
    }

    pub(super) fn resume(&mut self, tid: Tid) -> Result<()> {
        if let Some(times) = self.free.get_mut(&tid) {
            *times -= 1;
            if *times == 0 {
                self.free.remove(&tid);
            }
            return Ok(());
        }
        let pid = self.pid_of_held(tid)?;
        let next = self.held.get_mut(&tid).and_then(|held| held.pending.pop_front());
        if let Some(kind) = next {
            self.emit(pid, tid, kind, now());
            return Ok(());
        }
        let site = self.held.get(&tid).and_then(|held| held.site.filter(|_| held.came_back));
        let is_at = |site: &u64| self.registers(tid).is_ok_and(|registers| registers.pc() == Address(*site));
        if let Some(site) = site.filter(is_at) {
            self.passing.insert(tid, (pid, site));
            self.held.remove(&tid);
            let stepped = self.channel.ask(Command::Step { thread: tid.0 as u64 }, |told| told.map(drop))?;
            if stepped.is_ok() {
                return Ok(());
            }
        }
        self.held.remove(&tid);
        // A failure is ignored: the thread was killed meanwhile.
        self.channel.post(Command::Resume { thread: tid.0 as u64 }).map(drop)
    }

    pub(super) fn interrupt(&mut self, pid: Pid) -> Result<()> {
        let debuggee = self.debuggee(pid)?.number;
        let told = self.channel.ask(Command::Hold { debuggee, thread: 0 }, |told| told.map(drop))?;
        match told.map_err(|failure| super::failed(pid, "hold", failure)) {
            // The process is about to end; that event follows.
            Err(Error::NoSuchThread(_)) => Ok(()),
            other => other,
        }
    }
}

/// The present time of `CLOCK_MONOTONIC`.
fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is live.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
