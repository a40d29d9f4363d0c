//! System calls that a debuggee's thread makes for the tracer.

mod counters;
pub(super) mod gate;
mod mapping;
pub(in crate::ptrace) mod numbers;
mod way_back;

use libc::user_regs_struct;

pub(super) use self::counters::map_counters_at;
use self::gate::find_gate;
pub(super) use self::mapping::{map_storage_at, unmap, unmap_by_any};
use self::way_back::WayBack;
use super::arch;
use super::reports::Reports;
use super::resend::resend;
use super::status::Status;
use super::sys::{self, PTRACE_EVENT_STOP, SYSCALL_STOP, SigInfo, insist, is_gone};
use super::thread::Stop;
use super::tracees::Tracees;
use crate::{Address, Arch, Error, Pid, Result, Tid};

/// A stopped thread that makes system calls for the tracer, whatever seccomp(2) thinks of them.
///
/// Its end, by [`Remote::finish`] or by a drop, puts back the registers, the signal mask, the memory of the way back and the
/// options of ptrace(2). The thread is in a stop like the one before then, and signals that arrived meanwhile are pending.
pub(super) struct Remote<'a> {
    tracees: &'a mut Tracees,
    reports: &'a mut Reports,
    tid: Tid,
    pid: Pid,
    arch: Arch,
    before: Option<Stop>,
    saved: user_regs_struct,
    mask: u64,
    /// The registers for a call: `saved`, with the stack pointer at the frame of the way back.
    entering: user_regs_struct,
    gate: u64,
    way_back: Option<WayBack>,
    /// seccomp(2) is suspended.
    suspended: bool,
    /// A call was made.
    used: bool,
    /// The thread has ended, or its program has.
    gone: bool,
    /// Signals that arrived meanwhile.
    kept: Vec<SigInfo>,
}

impl<'a> Remote<'a> {
    /// Borrows a thread that is stopped outside of system calls.
    pub(super) fn borrow_thread(tracees: &'a mut Tracees, reports: &'a mut Reports, tid: Tid) -> Result<Remote<'a>> {
        let thread = tracees.thread(tid)?;
        let (pid, before) = (thread.pid, thread.stop());
        if before.is_none() || thread.is_in_call() {
            return Err(Error::Uninterruptible(tid));
        }
        let (saved, mask) = (arch::read(tid)?, sys::signal_mask(tid)?);
        let arch = tracees.space_of(pid)?.arch;
        let suspended = Status::read(tid)?.confined;
        if suspended {
            let options = tracees.ptrace_options(pid) | libc::PTRACE_O_SUSPEND_SECCOMP;
            sys::set_options(tid, options).map_err(|error| match error {
                Error::NoSuchThread(_) => error,
                _ => Error::Confined(pid),
            })?;
        }
        // A failure from here on drops the guard, which resets the options.
        let mut remote = Remote {
            tracees,
            reports,
            tid,
            pid,
            arch,
            before,
            saved,
            mask,
            entering: saved,
            gate: 0,
            way_back: None,
            suspended,
            used: false,
            gone: false,
            kept: Vec::new(),
        };
        remote.prepare_gate()?;
        Ok(remote)
    }

    fn prepare_gate(&mut self) -> Result<()> {
        let space = self.tracees.space_of(self.pid)?;
        self.way_back = WayBack::prepare_way(space, self.pid, self.tid, &mut self.entering, self.mask)?;
        self.gate = match &self.way_back {
            Some(way_back) => way_back.gate,
            None => find_gate(space, self.pid)?,
        };
        Ok(())
    }

    /// Makes a system call. The result is the kernel's: errors are negative.
    pub(super) fn make_syscall(&mut self, number: u64, arguments: [u64; 6]) -> Result<i64> {
        let result = self.run_syscall(number, arguments);
        self.gone |= result.as_ref().is_err_and(is_gone);
        result
    }

    fn run_syscall(&mut self, number: u64, arguments: [u64; 6]) -> Result<i64> {
        let mut registers = self.entering;
        arch::to_call(&mut registers, self.arch, self.gate, number, arguments);
        // The way back needs the stack pointer of these registers, and restores the signal mask: the registers come first.
        arch::write(self.tid, &registers)?;
        if !std::mem::replace(&mut self.used, true) {
            sys::set_signal_mask(self.tid, u64::MAX)?;
        }
        self.run_to((SYSCALL_STOP, 0))?;
        self.run_to((SYSCALL_STOP, 0))?;
        let result = arch::result(&arch::read(self.tid)?);
        // On the way to this stop the kernel looks at signals and at restarts.
        sys::interrupt(self.tid)?;
        self.run_to((libc::SIGTRAP, PTRACE_EVENT_STOP))?;
        Ok(result)
    }

    /// Runs the thread to the wanted stop, and keeps the signals that arrive on the way.
    fn run_to(&mut self, wanted: (i32, i32)) -> Result<()> {
        loop {
            sys::cont_to_syscall(self.tid, 0)?;
            match self.reports.next_stop(self.tracees, self.tid)? {
                stop if stop == wanted || wanted.1 != 0 && stop.1 == wanted.1 => return Ok(()),
                // SIGSTOP, which nobody can block.
                (signal, 0) if signal != SYSCALL_STOP => {
                    let info = sys::siginfo(self.tid)?;
                    if info.is_synchronous() {
                        return Err(Error::Call { tid: self.tid, function: Address(arch::pc(self.tid)?) });
                    }
                    self.kept.push(info);
                }
                _ => {}
            }
        }
    }

    /// Ends the use of the thread, and tells what goes wrong.
    pub(super) fn finish(mut self) -> Result<()> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        let to_restore = std::mem::take(&mut self.used) && !self.gone;
        if to_restore {
            // The way back restores the signal mask first as well.
            outcome = insist(|| sys::set_signal_mask(self.tid, self.mask))
                .and_then(|()| insist(|| arch::write(self.tid, &self.saved)));
        }
        if let (Some(way_back), Ok(space)) = (self.way_back.take(), self.tracees.space_of(self.pid)) {
            way_back.remove(space);
        }
        if to_restore {
            outcome =
                outcome.and(stop_like_before(self.tracees, self.tid, self.before, std::mem::take(&mut self.kept)));
        }
        if std::mem::take(&mut self.suspended) {
            match insist(|| sys::set_options(self.tid, self.tracees.ptrace_options(self.pid))) {
                Err(error) if !is_gone(&error) => outcome = outcome.and(Err(error)),
                _ => {}
            }
        }
        outcome
    }
}

impl Drop for Remote<'_> {
    fn drop(&mut self) {
        // A thread for which this fails has ended.
        let _ = self.put_back();
    }
}

/// Makes one system call in a thread that is stopped outside of system calls.
pub(super) fn syscall_by(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    number: u64,
    arguments: [u64; 6],
) -> Result<i64> {
    let mut remote = Remote::borrow_thread(tracees, reports, tid)?;
    let result = remote.make_syscall(number, arguments)?;
    remote.finish()?;
    Ok(result)
}

/// Notes that a thread that ran for the tracer is in a stop like the one before, and sends the signals that arrived meanwhile.
pub(super) fn stop_like_before(
    tracees: &mut Tracees,
    tid: Tid,
    before: Option<Stop>,
    signals: Vec<SigInfo>,
) -> Result<()> {
    for info in signals {
        resend(tracees, tid, info)?;
    }
    let stop = match before {
        Some(Stop::Signal(info) | Stop::Moved(info)) => Stop::Moved(info),
        Some(Stop::Group) => Stop::Group,
        _ => Stop::Event,
    };
    tracees.set_stop(tid, stop)
}

/// The address of an instruction that enters the kernel, and that a breakpoint instruction follows where there is an arena.
pub(super) fn gate_of(tracees: &Tracees, pid: Pid) -> Result<u64> {
    find_gate(tracees.space_of(pid)?, pid)
}
