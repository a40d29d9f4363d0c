//! System calls, signals and accesses: what the kernel is asked to tell of, and the events made of what it tells.

use std::collections::VecDeque;
use std::time::Duration;

use wire::commands::{Command, reported};
use wire::{Failure, Status};

use super::said::{Call, Said, begin};
use super::{Held, Kernel, cannot, failed};
use crate::{
    Arch, Error, Event, EventKind, Options, Pid, Result, Signal, SignalInfo, Syscall, SyscallResult, SyscallReturn,
    Syscalls, Tid,
};

/// The calls from which new threads and processes return too: clone, fork, vfork, clone3 (asm/unistd.h).
const CLONES: [(Arch, u64); 10] = [
    (Arch::X86_64, 56),
    (Arch::X86_64, 57),
    (Arch::X86_64, 58),
    (Arch::X86_64, 435),
    (Arch::I386, 120),
    (Arch::I386, 2),
    (Arch::I386, 190),
    (Arch::I386, 435),
    (Arch::Arm64, 220),
    (Arch::Arm64, 435),
];
/// The number of signals.
const SIGNALS: i32 = 64;

/// The error of a command about system calls and signals.
fn refused(pid: Pid, failure: Failure) -> Error {
    match failure.status {
        Status::Unknown => cannot("report signals and system calls: its version is older than that of this program"),
        Status::Unsupported => cannot("report system calls on this kernel"),
        _ => failed(pid, "report", failure),
    }
}

/// What a session asks the kernel to tell of.
fn asked(options: &Options, syscalls: &Syscalls) -> u64 {
    let signals = if options.signals { reported::SIGNALS } else { 0 };
    signals | if syscalls.is_empty() { 0 } else { reported::SYSCALLS }
}

impl Kernel {
    /// Whether the kernel can tell of what the options ask for.
    pub(super) fn can_report(&self) -> Result<()> {
        /// No process has this number.
        const NONE: u64 = 0;
        let what = asked(&self.options, &self.options.syscalls);
        if what == 0 {
            return Ok(());
        }
        let told = self.channel.ask(Command::Report { debuggee: NONE, what, calls: &[] }, |told| told.map(drop))?;
        match told {
            Err(failure) if failure.status != Status::NoProcess => Err(refused(Pid(0), failure)),
            _ => Ok(()),
        }
    }

    /// Asks the kernel to tell of the signals that the session reports, and of these system calls.
    pub(super) fn choose(&mut self, pid: Pid, syscalls: Syscalls) -> Result<()> {
        let mut what = asked(&self.options, &syscalls);
        if what == 0 && self.debuggee(pid)?.syscalls.is_empty() {
            return Ok(());
        }
        if self.options.told_only {
            // Without the command the module has other defaults, with which events may be lost.
            self.records_by_module(pid)?;
        } else {
            what |= reported::HOLD;
        }
        let debuggee = self.debuggee_mut(pid)?;
        debuggee.syscalls = syscalls;
        let (debuggee, threads) = (debuggee.number, debuggee.process.threads.clone());
        let is_outside = |tid: &&Tid| self.held.contains_key(tid) || self.calls.contains_key(tid);
        self.inside.extend(threads.iter().filter(|tid| !is_outside(tid)));
        let calls = syscalls.words().map(|words| words.map(u64::to_ne_bytes).concat()).unwrap_or_default();
        let told = self.channel.ask(Command::Report { debuggee, what, calls: &calls }, |told| told.map(drop))?;
        told.map_err(|failure| refused(pid, failure))
    }

    pub(super) fn trace_syscalls(&mut self, pid: Pid, syscalls: Syscalls) -> Result<()> {
        self.choose(pid, syscalls)?;
        self.calls.retain(|_, call| call.pid != pid || syscalls.contains(call.syscall.number));
        Ok(())
    }

    /// A thread is held at the system call, signal or access of which the kernel has told before.
    pub(super) fn on_said(&mut self, pid: Pid, tid: Tid, address: u64, time: Duration) -> Result<()> {
        let mut kinds = self.said.remove(&tid).map(|said| self.meaning(pid, tid, said)).unwrap_or_default();
        // A call whose end is known too was refused.
        let is_about_to_call = matches!(kinds.back(), Some(EventKind::SyscallEntered(_)));
        let Some(first) = kinds.pop_front() else { return self.pass_by(pid, tid) };
        let mut held = Held { is_about_to_call, ..Held::new(pid, kinds) };
        if let EventKind::Signal(info) = first {
            held.signal = Some((info, address));
        }
        self.held.insert(tid, held);
        self.emit(pid, tid, first, time);
        Ok(())
    }

    /// The kernel tells of a thread that it is about to hold, or that runs on.
    pub(super) fn on_told_said(&mut self, debuggee: u64, tid: Tid, said: Said, time: Duration) {
        if !self.options.told_only || matches!(said, Said::Watched(_)) {
            self.said.insert(tid, said);
            return;
        }
        let Some(pid) = self.named(debuggee) else { return };
        for kind in self.meaning(pid, tid, said) {
            self.events.push_back(Event { pid, tid, time, kind, runs_on: true });
        }
        self.channel.set_awake(true);
    }

    /// The events that a session's user gets for what the kernel tells of.
    fn meaning(&mut self, pid: Pid, tid: Tid, said: Said) -> VecDeque<EventKind> {
        match said {
            Said::Entered(syscall) => {
                self.inside.remove(&tid);
                let (call, events) = begin(pid, syscall, self.calls.remove(&tid));
                self.calls.insert(tid, call);
                events
            }
            Said::Returned { syscall, result, is_handled } => {
                let outcome = SyscallResult::new(result, (-4095..0).contains(&result));
                let is_interrupted = outcome == SyscallResult::Interrupted && !is_handled;
                let entered = self.calls.remove(&tid).map(|call| call.syscall);
                let was_inside = self.inside.remove(&tid) || CLONES.contains(&(syscall.arch, syscall.number));
                let Syscall { number, arch, .. } = entered.unwrap_or(syscall);
                let returned = EventKind::SyscallReturned(SyscallReturn { number, arch, result: outcome });
                match entered {
                    Some(syscall) if is_interrupted => {
                        self.calls.insert(tid, Call { pid, syscall, is_interrupted });
                        VecDeque::new()
                    }
                    Some(_) => [returned].into(),
                    // The thread was in the call when the session began to ask for it, or is new.
                    None if was_inside => VecDeque::new(),
                    // A filter has refused the call, of whose beginning the kernel did not tell.
                    None => [EventKind::SyscallEntered(syscall), returned].into(),
                }
            }
            // The user has given it to the thread.
            Said::Signal(info) if self.given.get(&tid) == Some(&info.signal) => {
                self.given.remove(&tid);
                VecDeque::new()
            }
            Said::Signal(info) => [EventKind::Signal(info)].into(),
            Said::Watched(watch) => {
                let debuggee = self.debuggees.get(&pid);
                debuggee.map(|debuggee| debuggee.watching.events(watch).collect()).unwrap_or_default()
            }
        }
    }

    /// Lets a thread go on that is held where the session has nothing to report. A step goes on with it.
    fn pass_by(&mut self, pid: Pid, tid: Tid) -> Result<()> {
        self.hold_silently(pid, tid);
        self.resume(tid)
    }

    pub(super) fn signal_info(&self, tid: Tid) -> Result<Option<SignalInfo>> {
        self.pid_of_held(tid)?;
        Ok(self.held.get(&tid).and_then(|held| Some(held.signal?.0)))
    }

    pub(super) fn resume_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        self.give(tid, signal)?;
        self.resume(tid)
    }

    pub(super) fn step_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        self.give(tid, signal)?;
        self.step(tid)
    }

    /// Sets the signal that a held thread gets when it is resumed.
    fn give(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        if let Some(signal) = signal.filter(|signal| !(1..=SIGNALS).contains(&signal.0)) {
            return Err(Error::NoSuchSignal(signal));
        }
        let pid = self.require_stopped(tid)?;
        let reported = self.signal_info(tid)?.map(|info| info.signal);
        if signal == reported {
            return Ok(());
        }
        let command = Command::SetSignal { thread: tid.0 as u64, signal: signal.map_or(0, |signal| signal.0 as u64) };
        let told = self.channel.ask(command, |told| told.map(drop))?;
        told.map_err(|failure| failed(pid, "set_signal", failure))?;
        if let (Some(signal), None, true) = (signal, reported, self.options.signals) {
            // The kernel tells of it, as of every signal.
            self.given.insert(tid, signal);
        }
        Ok(())
    }
}
