//! Held threads, and their events.

use std::collections::VecDeque;
use std::time::Duration;

use wire::commands::Command;

use super::site::Goal;
use super::site::Internal;
use super::{Debuggee, Held, Kernel, failed};
use crate::clock::monotonic;
use crate::{Address, Condition, Error, Event, EventKind, Hit, Pid, Registers, Report, Result, Spec, Tid};

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
        let first = site.internal.map_or(Ok(None), |internal| self.on_internal(pid, internal))?;
        if let Some(first) = first {
            let second = site.internal.map_or(Ok(None), |internal| self.on_internal(pid, internal))?;
            if let Some(held) = self.held.get_mut(&tid) {
                (held.uncounted, held.pending) = (true, second.into_iter().collect());
            }
            self.emit(pid, tid, first, time);
            return Ok(());
        }
        self.arrive(pid, tid, address, None, time)
    }

    /// Counts the arrival of a held thread for each breakpoint at a site, and reports the hit of those that report it, or `otherwise`. The
    /// thread is resumed if there is nothing to report. One-shot breakpoints remove themselves.
    pub(super) fn arrive(
        &mut self,
        pid: Pid,
        tid: Tid,
        address: u64,
        otherwise: Option<EventKind>,
        time: Duration,
    ) -> Result<()> {
        let site = self.debuggee(pid)?.sites.get(&address).cloned().unwrap_or_default();
        let (mut told, mut spent) = (Vec::new(), Vec::new());
        let (mut registers, mut recorded, mut summed) = (None, None::<Spec>, Vec::new());
        for id in site.ids.iter().copied() {
            let Some(Some(own)) = self.debuggee_mut(pid)?.breakpoints.get_mut(id.0 as usize) else { continue };
            if own.breakpoint.spec.thread.is_some_and(|thread| thread != tid) {
                continue;
            }
            own.breakpoint.arrivals += 1;
            let (condition, arrivals) = (own.breakpoint.spec.condition.clone(), own.breakpoint.arrivals);
            let condition = condition.filter(|_| !site.is_filtered());
            if condition.is_some_and(|condition| !self.holds(pid, tid, &condition, arrivals, &mut registers)) {
                continue;
            }
            let Some(Some(own)) = self.debuggee_mut(pid)?.breakpoints.get_mut(id.0 as usize) else { continue };
            own.breakpoint.hits += 1;
            let (spec, hits) = (&own.breakpoint.spec, own.breakpoint.hits);
            if spec.is_told(hits) {
                summed.extend(spec.aggregation);
                told.extend((spec.report == Report::Event).then_some((id, hits)));
                if spec.report == Report::Record {
                    recorded = Some(spec.clone());
                }
                spent.extend(spec.once.then_some(id));
            }
        }
        self.add_held(pid, tid, address, &summed, &mut registers);
        if let Some(spec) = recorded {
            self.record_held(pid, tid, &spec, time)?;
        }
        if !spent.is_empty() {
            let Kernel { channel, debuggees, .. } = self;
            debuggees.get_mut(&pid).map_or(Ok(()), |debuggee| debuggee.finish(channel, &spent))?;
        }
        let otherwise = otherwise.or_else(|| self.is_reached(tid, &site.targets).then_some(EventKind::Stepped));
        match Hit::new(address, told).map(EventKind::Hit).or(otherwise) {
            Some(kind) => {
                self.end_goal(tid)?;
                self.emit(pid, tid, kind, time);
                Ok(())
            }
            None => self.resume(tid),
        }
    }

    /// A thread is held at a site of the session itself. Returns what the loader has mapped and unmapped.
    fn on_internal(&mut self, pid: Pid, internal: Internal) -> Result<Option<EventKind>> {
        match internal {
            Internal::Entry => self.on_entry(pid).map(|()| None),
            Internal::Mapped => self.on_mapped(pid),
            Internal::Loader => self.on_loader(pid),
        }
    }

    fn holds(&self, pid: Pid, tid: Tid, condition: &Condition, arrivals: u64, known: &mut Option<Registers>) -> bool {
        let Ok(arch) = self.debuggee(pid).map(|debuggee| debuggee.process.arch) else { return false };
        condition.holds(arch, &mut |operand| self.operand(pid, tid, *operand, arrivals, known))
    }

    /// Notes a held thread that is not at a site, and reports an event.
    pub(super) fn hold(&mut self, pid: Pid, tid: Tid, kind: EventKind, time: Duration) {
        self.held.insert(tid, Held::new(pid, VecDeque::new()));
        self.emit(pid, tid, kind, time);
    }

    pub(super) fn emit(&mut self, pid: Pid, tid: Tid, kind: EventKind, time: Duration) {
        self.events.push_back(Event { pid, tid, time, kind, runs_on: false });
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
            self.emit(pid, tid, kind, monotonic());
            return Ok(());
        }
        let held = self.held.get_mut(&tid);
        let uncounted = held.and_then(|held| held.site.filter(|_| std::mem::take(&mut held.uncounted)));
        let site = self.held.get(&tid).and_then(|held| held.site.filter(|_| held.came_back));
        let is_at = |site: &u64| self.registers(tid).is_ok_and(|registers| registers.pc() == Address(*site));
        if let Some(site) = uncounted.filter(is_at) {
            return self.arrive(pid, tid, site, None, monotonic());
        }
        let steps = matches!(self.goals.get(&tid), Some(Goal::Step(_)));
        let site = site.filter(is_at);
        let signal = self.held.get(&tid).and_then(|held| held.signal.filter(|_| steps));
        self.from_signal.extend(signal.map(|(_, pc)| (tid, pc)));
        if steps || site.is_some() {
            let stepped = self.channel.ask(Command::Step { thread: tid.0 as u64 }, |told| told.map(drop))?;
            match stepped.map_err(|failure| failed(pid, "step", failure)) {
                Ok(()) => {
                    self.passing.extend(site.map(|site| (tid, (pid, site))));
                    self.held.remove(&tid);
                    return Ok(());
                }
                // The thread was killed meanwhile.
                Err(Error::NoSuchThread(_) | Error::NotHeld(_)) if steps => return Ok(()),
                Err(error) if steps => return Err(error),
                // The thread runs into the breakpoint, which does not count again.
                Err(_) => self.passing.extend(site.map(|site| (tid, (pid, site)))),
            }
        }
        self.held.remove(&tid);
        // A failure is ignored: the thread was killed meanwhile.
        self.channel.post(Command::Resume { thread: tid.0 as u64 }).map(drop)
    }

    pub(super) fn interrupt(&mut self, pid: Pid) -> Result<()> {
        self.ask_to_hold(pid, 0)
    }

    pub(super) fn interrupt_thread(&mut self, tid: Tid) -> Result<()> {
        match self.pid_of_held(tid) {
            Err(Error::NotHeld(_)) => {}
            other => return other.map(drop),
        }
        let has = |debuggee: &&Debuggee| debuggee.process.threads.contains(&tid);
        let pid = self.debuggees.values().find(has).map(|debuggee| debuggee.process.pid);
        self.ask_to_hold(pid.ok_or(Error::NoSuchThread(tid))?, tid.0 as u64)
    }

    /// Asks the kernel to hold a thread of a process, or all of them (0).
    fn ask_to_hold(&mut self, pid: Pid, thread: u64) -> Result<()> {
        let debuggee = self.debuggee(pid)?.number;
        let told = self.channel.ask(Command::Hold { debuggee, thread }, |told| told.map(drop))?;
        match told.map_err(|failure| failed(pid, "hold", failure)) {
            // The process is about to end; that event follows.
            Err(Error::NoSuchThread(_)) => Ok(()),
            other => other,
        }
    }
}
