//! Signals for threads that are, or may be, in a slot.

use insn::Flow;
use libc::user_regs_struct;
use stepping::x86::Progress;

use super::Tracer;
use super::space::SlotId;
use super::status::{Disposition, Status};
use super::sys::{self, SigInfo, TRAP_TRACE};
use super::thread::{Interrupted, State, Step, Stop};
use crate::{EventKind, Result, Signal, Tid};

/// Results by which a system call asks the kernel to restart it (include/linux/errno.h): ERESTARTSYS, ERESTARTNOINTR,
/// ERESTARTNOHAND, ERESTART_RESTARTBLOCK.
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];
/// `close` is done even where it says `EINTR`.
const CLOSE_64: u64 = 3;
const CLOSE_32: u64 = 6;
/// The kernel's __USER32_CS.
const USER32_CS: u64 = 0x23;
/// So many interrupted executions are remembered; more are handlers that were left for good.
const EXECUTIONS: usize = 64;

/// Whether the thread is on its way out of a system call.
fn in_call(registers: &user_regs_struct) -> bool {
    (registers.orig_rax as i64) >= 0
}

/// Results are 32-bit numbers in 32-bit programs.
fn result(registers: &user_regs_struct) -> i64 {
    if registers.cs == USER32_CS { i64::from(registers.rax as i32) } else { registers.rax as i64 }
}

fn asks_for_restart(registers: &user_regs_struct) -> bool {
    in_call(registers) && RESTARTS.contains(&result(registers))
}

/// Whether a system call ended with `EINTR` and may be made again.
pub(super) fn returned_eintr(registers: &user_regs_struct) -> bool {
    let close = if registers.cs == USER32_CS { CLOSE_32 } else { CLOSE_64 };
    in_call(registers) && result(registers) == -i64::from(libc::EINTR) && registers.orig_rax != close
}

/// Makes the system call again that the thread just made, as the kernel itself does (arch/x86/kernel/signal.c).
pub(super) fn restart(registers: &mut user_regs_struct) {
    registers.rax = registers.orig_rax;
    registers.rip = registers.rip.wrapping_sub(2);
    registers.orig_rax = u64::MAX;
}

impl Tracer {
    /// A signal about to be delivered that is none of our traps.
    pub(super) fn on_signal(&mut self, tid: Tid, info: SigInfo) -> Result<()> {
        if let Some(info) = self.sent_anew(tid, &info)? {
            sys::set_siginfo(tid, &info)?;
            self.set_stop(tid, Stop::Signal(info))?;
            return self.arrange(tid, info, false);
        }
        self.arrange(tid, info, true)
    }

    /// Brings the thread to where the signal may be seen, then reports it where `report`.
    fn arrange(&mut self, tid: Tid, info: SigInfo, report: bool) -> Result<()> {
        let pc = sys::pc(tid)?;
        let thread = self.thread(tid)?;
        let space = self.space_of(thread.pid)?;
        let place = space.place(pc);
        if info.code() == TRAP_TRACE && info.signal() == libc::SIGTRAP && space.holds_off_trap(pc) {
            self.leave_slot(tid)?;
            self.set_stop(tid, Stop::Trap)?;
            return self.passed(tid);
        }
        if place.is_some() && info.is_synchronous() {
            return self.on_fault(tid, info, report);
        }
        if let Some((slot, place)) = place {
            let may_wait = self.may_wait(tid, slot)?;
            if place.progress == Progress::Before && may_wait {
                // The signal can come after the instruction as well: nothing of it has to be undone then.
                let thread = self.thread_mut(tid)?;
                thread.deferred.push(info);
                thread.step.get_or_insert(Step { slot, probe: None });
                thread.state = State::Running;
                return sys::step(tid, 0);
            }
        }
        if report { self.report_signal(tid, info) } else { self.go_on(tid) }
    }

    /// Whether an instruction can be finished before a signal is delivered: it neither blocks nor enters the kernel, and the kernel
    /// does not take our trap flag for the program's (`iret`).
    fn may_wait(&self, tid: Tid, slot: SlotId) -> Result<bool> {
        let space = self.space_of(self.thread(tid)?.pid)?;
        let Some(entry) = space.entry(slot) else { return Ok(true) };
        let flow = insn::x86::decode(entry.bytes(), space.mode).map(|insn| insn.flow());
        Ok(!matches!(flow, Ok(Flow::Syscall | Flow::Interrupt | Flow::Far)))
    }

    /// The instruction in the slot faulted: to the program it is the original one.
    fn on_fault(&mut self, tid: Tid, mut info: SigInfo, report: bool) -> Result<()> {
        let pid = self.thread(tid)?.pid;
        if let Some((_, place)) = self.space_of(pid)?.place(info.address()) {
            info.set_address(place.pc);
            sys::set_siginfo(tid, &info)?;
            self.set_stop(tid, Stop::Signal(info))?;
        }
        self.leave_slot(tid)?;
        for waiting in std::mem::take(&mut self.thread_mut(tid)?.deferred) {
            self.send_anew(tid, waiting)?;
        }
        if report { self.report_signal(tid, info) } else { self.go_on(tid) }
    }

    /// One step of a repeated instruction is done and signals wait: they interrupt it, as they would have.
    pub(super) fn still_before(&mut self, tid: Tid) -> Result<()> {
        let thread = self.thread_mut(tid)?;
        let waiting = std::mem::take(&mut thread.deferred);
        let Some((&first, rest)) = waiting.split_first() else { return self.go_on(tid) };
        for &info in rest {
            self.send_anew(tid, info)?;
        }
        self.thread_mut(tid)?.step = None;
        self.present(tid, first)
    }

    pub(super) fn report_signal(&mut self, tid: Tid, info: SigInfo) -> Result<()> {
        if self.options.signals && !self.is_silent(tid) {
            return self.hold(tid, EventKind::Signal(Signal(info.signal())));
        }
        self.go_on(tid)
    }

    /// Delivers a signal; with `anew`, from a stop that cannot.
    pub(super) fn deliver(&mut self, tid: Tid, info: SigInfo, anew: bool) -> Result<()> {
        if anew {
            self.send_anew(tid, info)?;
            self.set_stop(tid, Stop::Event)?;
            return self.run(tid, 0);
        }
        let status = self.step_aside(tid, Signal(info.signal()))?;
        let caught = |signal| status.disposition(Signal(signal)) == Disposition::Caught;
        self.thread_mut(tid)?.entering = caught(libc::SIGTRAP) && caught(info.signal());
        self.run(tid, info.signal())
    }

    /// Puts the thread where a handler may see it, and where the kernel decides about a system call to restart.
    pub(super) fn step_aside(&mut self, tid: Tid, signal: Signal) -> Result<Status> {
        let status = Status::read(tid)?;
        let mut registers = sys::registers(tid)?;
        let thread = self.thread(tid)?;
        let pid = thread.pid;
        let at = thread.at.filter(|&at| at == registers.rip);
        let place = self.space_of(pid)?.place(registers.rip);
        if place.is_none() && at.is_none() && !returned_eintr(&registers) {
            return Ok(status);
        }
        let disposition = status.disposition(signal);
        match disposition {
            // It would not have been woken by such a signal.
            Disposition::Ignored if returned_eintr(&registers) => {
                restart(&mut registers);
                sys::set_registers(tid, &registers)?;
                return Ok(status);
            }
            Disposition::Ignored | Disposition::Stops => return Ok(status),
            Disposition::Caught | Disposition::Fatal => {}
        }
        let again = match &place {
            Some((slot, place)) => {
                let comes_back = place.progress == Progress::Before || asks_for_restart(&registers);
                let site = self.space_of(pid)?.entry(*slot).map(|entry| entry.site);
                super::slot::translate(&mut registers, place, self.thread(tid)?.scratch);
                sys::set_registers(tid, &registers)?;
                let thread = self.thread_mut(tid)?;
                thread.scratch = None;
                thread.step = None;
                site.filter(|_| comes_back)
            }
            None => at,
        };
        let thread = self.thread_mut(tid)?;
        thread.at = None;
        if let (Some(site), Disposition::Caught) = (again, disposition) {
            let sp = registers.rsp;
            thread.executions.retain(|old| (old.site, old.sp) != (site, sp));
            thread.executions.push(Interrupted { site, sp });
            if thread.executions.len() > EXECUTIONS {
                thread.executions.remove(0);
            }
        }
        Ok(status)
    }

    /// The beginning or the end of a system call, of the dynamic loader or in a signal handler.
    pub(super) fn on_syscall(&mut self, tid: Tid) -> Result<()> {
        // PTRACE_EVENTMSG_SYSCALL_ENTRY (linux/ptrace.h).
        let entry = sys::event_message(tid)? == 1;
        let registers = sys::registers(tid)?;
        let thread = self.thread_mut(tid)?;
        if entry {
            thread.state = State::Stopped(Stop::InSyscall);
            thread.returning = match registers.cs {
                // sigreturn, rt_sigreturn
                USER32_CS => matches!(registers.orig_rax, 119 | 173),
                _ => registers.orig_rax == libc::SYS_rt_sigreturn as u64,
            };
            return self.go_on(tid);
        }
        if std::mem::take(&mut thread.returning) {
            let back = Interrupted { site: registers.rip, sp: registers.rsp };
            let pid = thread.pid;
            if let Some(at) = thread.executions.iter().position(|old| *old == back) {
                thread.executions.truncate(at);
                if let Some(&slot) = self.space_of(pid)?.sites.get(&back.site) {
                    return self.pass(tid, slot);
                }
            }
            return self.go_on(tid);
        }
        if thread.loading && self.maps_code(&registers) {
            return self.on_mapped(tid);
        }
        self.go_on(tid)
    }
}
