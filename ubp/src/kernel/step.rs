//! The user lets threads run for one instruction, or to an address. The kernel single-steps; a site of the thread's own ends a run.

use std::time::Duration;

use super::site::{Goal, Target};
use super::{Held, Kernel, cannot, hidden};
use crate::{Address, Error, EventKind, InsertError, InsertReason, Pid, Result, Tid};

/// The most bytes of arguments that a return frees (SDM vol. 2B, RET).
const FREED: u64 = 0xffff;

impl Kernel {
    pub(super) fn step(&mut self, tid: Tid) -> Result<()> {
        let pid = self.require_stopped(tid)?;
        self.end_goal(tid)?;
        self.goals.insert(tid, Goal::Step(pid));
        let resumed = self.resume(tid);
        if resumed.is_err() {
            self.goals.remove(&tid);
        }
        resumed
    }

    pub(super) fn run_to(&mut self, tid: Tid, address: Address, frame: Option<u64>) -> Result<()> {
        let pid = self.require_stopped(tid)?;
        self.end_goal(tid)?;
        let Kernel { channel, debuggees, .. } = self;
        let debuggee = debuggees.get_mut(&pid).ok_or(Error::NoSuchProcess(pid))?;
        debuggee.sites.entry(address.0).or_default().targets.push(Target { tid, frame });
        self.goals.insert(tid, Goal::Site(pid, address.0));
        let refused = debuggee.bring_up(channel, &[address.0]).and_then(|refused| {
            debuggee.process.hidden = hidden::storage(channel, debuggee.number, pid)?;
            let reason = refused.first().map(|(_, reason)| *reason);
            let lacking = (!debuggee.sites.contains_key(&address.0)).then_some(InsertReason::NotMapped);
            match reason.or(lacking) {
                Some(reason) => Err(Error::Insert(InsertError { address, reason })),
                None => Ok(()),
            }
        });
        let resumed = refused.and_then(|()| self.resume(tid));
        if resumed.is_err() {
            self.end_goal(tid)?;
        }
        resumed
    }

    /// The process of a held thread. A thread that made a process is reported as held, but runs.
    pub(super) fn require_stopped(&self, tid: Tid) -> Result<Pid> {
        match self.free.contains_key(&tid) {
            true => Err(cannot("step a thread that just made a process, which the kernel does not hold")),
            false => self.pid_of_held(tid),
        }
    }

    /// A thread runs nowhere any more.
    pub(super) fn end_goal(&mut self, tid: Tid) -> Result<()> {
        self.from_signal.remove(&tid);
        let Some(Goal::Site(pid, address)) = self.goals.remove(&tid) else { return Ok(()) };
        let Kernel { channel, debuggees, .. } = self;
        let Some(debuggee) = debuggees.get_mut(&pid) else { return Ok(()) };
        if let Some(site) = debuggee.sites.get_mut(&address) {
            site.targets.retain(|target| target.tid != tid);
        }
        debuggee.bring_up(channel, &[address]).map(drop)
    }

    /// Whether a thread at a site is where it was to run.
    pub(super) fn is_reached(&self, tid: Tid, targets: &[Target]) -> bool {
        targets.iter().filter(|target| target.tid == tid).any(|target| {
            let sp = || self.registers(tid).map_or(0, |registers| registers.sp().0);
            target.frame.is_none_or(|frame| sp().wrapping_sub(frame) <= FREED)
        })
    }

    /// A thread has executed the instruction of a step. At a site it arrives there now, of which the kernel does not know.
    pub(super) fn on_stepped(&mut self, pid: Pid, tid: Tid, address: u64, time: Duration) -> Result<()> {
        if self.from_signal.remove(&tid) == Some(address) {
            // No handler ran, and no instruction either.
            self.hold_silently(pid, tid);
            return self.resume(tid);
        }
        self.end_goal(tid)?;
        let site = self.debuggee_mut(pid)?.sites.get_mut(&address);
        match site.filter(|site| site.internal.is_none() && !site.ids.is_empty()) {
            Some(site) => {
                site.before = site.before.wrapping_add(1);
                self.held
                    .insert(tid, Held { site: Some(address), came_back: true, ..Held::new(pid, Default::default()) });
                self.arrive(pid, tid, address, Some(EventKind::Stepped), time)
            }
            None => {
                self.hold(pid, tid, EventKind::Stepped, time);
                Ok(())
            }
        }
    }
}
