//! A thread that the kernel module holds. ptrace traces it while a function runs in it.

use std::os::fd::BorrowedFd;

use libc::user_regs_struct;

use super::arch;
use super::arch::{ENTERS, Function, Unseen};
use super::notify::Notify;
use super::status::Status;
use super::sys::{self, PTRACE_EVENT_STOP, Report, insist, is_gone};
use super::wait::wait_for;
use crate::memory::ProcessMemory;
use crate::process::{Mapping, read_maps};
use crate::{Address, Error, Pid, Result, Tid};

/// The return address of a function, unless something is mapped there; also the offset of the address in another page.
const NOWHERE: u64 = 0x20;

/// The traced thread. It stops before its next instruction when the module lets it continue.
pub(crate) struct Borrowed {
    pid: Pid,
    tid: Tid,
    notify: Notify,
    /// SIGSTOP arrived meanwhile.
    is_to_stop: bool,
}

/// Waits until the descriptor is readable, or for a moment, and handles whatever else may happen.
type Wait<'a> = &'a mut dyn FnMut(BorrowedFd<'_>) -> Result<()>;

impl Borrowed {
    /// Begins to trace a thread.
    pub(crate) fn seize(pid: Pid, tid: Tid) -> Result<Borrowed> {
        let notify = Notify::new(false)?;
        sys::seize(tid, 0).map_err(|error| match Status::read(tid) {
            _ if is_gone(&error) => error,
            Ok(status) if status.tracer != 0 => Error::AlreadyTraced { pid, tracer: Pid(status.tracer) },
            _ => Error::Permission(pid),
        })?;
        sys::interrupt(tid)?;
        Ok(Borrowed { pid, tid, notify, is_to_stop: false })
    }

    /// Runs a function in the thread, which the module is about to let continue, and puts everything back. The thread continues at
    /// `pc` then.
    pub(crate) fn call(&mut self, pc: u64, function: Address, args: &[u64], wait: Wait<'_>) -> Result<u64> {
        self.come_to_stop(wait)?;
        let mut saved = arch::read(self.tid)?;
        crate::arch::set_pc(&mut saved, pc);
        let mask = sys::signal_mask(self.tid)?;
        let unseen = Unseen::read(self.tid)?;
        let result = self.run(&saved, function, args, wait);
        if matches!(result, Err(Error::NoSuchThread(_))) {
            return result;
        }
        // On the way to this stop the kernel looks at signals and at restarts.
        sys::interrupt(self.tid)?;
        sys::cont(self.tid, 0)?;
        self.come_to_stop(wait)?;
        insist(|| unseen.restore(self.tid, &saved))?;
        insist(|| sys::set_signal_mask(self.tid, mask))?;
        result
    }

    /// Detaches the thread.
    pub(crate) fn release(&self) -> Result<()> {
        sys::detach(self.tid, 0)
    }

    /// Sends the SIGSTOP once more that arrived meanwhile.
    pub(crate) fn stop_the_job(&self) -> Result<()> {
        if self.is_to_stop { sys::send(self.pid.0, self.tid, libc::SIGSTOP) } else { Ok(()) }
    }

    fn run(&mut self, saved: &user_regs_struct, function: Address, args: &[u64], wait: Wait<'_>) -> Result<u64> {
        let tid = self.tid;
        let fail = || Error::Call { tid, function };
        let back = nowhere(&read_maps(self.pid)?);
        let gate = back.wrapping_sub(ENTERS);
        let called = Function::new(*saved, crate::arch::arch(saved), function, args, gate);
        if sys::write_as_thread(tid, crate::arch::sp(&called.registers), &called.stack) != called.stack.len() {
            return Err(fail());
        }
        called.prepare(tid, &ProcessMemory::open(self.pid)?)?;
        let mut mask = !sys::SYNCHRONOUS_SIGNALS;
        sys::set_signal_mask(tid, mask)?;
        arch::write(tid, &called.registers)?;
        sys::cont(tid, 0)?;
        loop {
            let signal = match self.stop(wait)? {
                (signal, 0) => signal,
                _ => {
                    sys::cont(tid, 0)?;
                    continue;
                }
            };
            if sys::siginfo(tid)?.is_synchronous() {
                let is_back = signal != libc::SIGTRAP && arch::pc(tid)? == back;
                return if is_back { Ok(Function::answer(&arch::read(tid)?)) } else { Err(fail()) };
            }
            if signal == libc::SIGSTOP {
                self.is_to_stop = true;
                sys::cont(tid, 0)?;
            } else {
                // The signal is blocked now, so the kernel queues it again (kernel/signal.c, ptrace_signal).
                mask |= crate::Signal(signal).bit();
                sys::set_signal_mask(tid, mask)?;
                sys::cont(tid, signal)?;
            }
        }
    }

    /// Lets the thread run to the stop of `PTRACE_INTERRUPT`.
    fn come_to_stop(&mut self, wait: Wait<'_>) -> Result<()> {
        while self.stop(wait)?.1 != PTRACE_EVENT_STOP {
            sys::cont(self.tid, 0)?;
        }
        Ok(())
    }

    /// The next stop of the thread: the signal and the event.
    fn stop(&self, wait: Wait<'_>) -> Result<(i32, i32)> {
        loop {
            let told = self.notify.as_fd();
            self.notify.clear();
            match wait_for(self.tid, false)? {
                Some(Report::Stopped { signal, event }) => return Ok((signal, event)),
                Some(_) => return Err(Error::NoSuchThread(self.tid)),
                None => {
                    self.notify.arm(std::iter::once(self.tid));
                    wait(told)?;
                }
            }
        }
    }
}

/// An address at which nothing is mapped.
fn nowhere(maps: &[Mapping]) -> u64 {
    let behind = |at, map: &Mapping| if (map.start.0..map.end.0).contains(&at) { map.end.0 + NOWHERE } else { at };
    maps.iter().fold(NOWHERE, behind)
}
