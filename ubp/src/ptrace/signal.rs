//! Signals for threads that are, or may be, in a slot.

use insn::Flow;
use stepping::{Exit, Progress};

use super::space::SlotId;
use super::status::{Disposition, Status};
use super::sys::{self, SigInfo, TRAP_TRACE};
use super::thread::{Interrupted, State, Step, Stop};
use super::{Tracer, TrapAction, arch};
use crate::arch::{decode, pc as pc_of, sp as sp_of};
use crate::{EventKind, Result, Signal, Tid};

impl Tracer {
    /// A signal about to be delivered that is none of our traps.
    pub(super) fn on_signal(&mut self, tid: Tid, info: SigInfo) -> Result<()> {
        self.thread_mut(tid)?.framing = None;
        if let Some(info) = self.sent_anew(tid, &info)? {
            sys::set_siginfo(tid, &info)?;
            self.set_stop(tid, Stop::Signal(info))?;
            return self.arrange(tid, info, false);
        }
        self.arrange(tid, info, true)
    }

    /// Brings the thread to where the signal may be seen, then reports it where `report`.
    fn arrange(&mut self, tid: Tid, info: SigInfo, report: bool) -> Result<()> {
        let pc = arch::pc(tid)?;
        let thread = self.thread(tid)?;
        let space = self.space_of(thread.pid)?;
        let place = space.place(pc);
        if info.code() == TRAP_TRACE && info.signal() == libc::SIGTRAP && self.holds_off_trap(tid, pc)? {
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

    /// Whether a single-step trap at `pc`, in a slot, is none of the program's.
    pub(super) fn holds_off_trap(&mut self, tid: Tid, pc: u64) -> Result<bool> {
        let thread = self.thread_mut(tid)?;
        let (pid, before) = (thread.pid, thread.shadow.take());
        let Some((slot, offset)) = self.space_of(pid)?.slot_at(pc) else { return Ok(false) };
        let space = self.space_of(pid)?;
        let (Some(passing), Some(entry)) = (space.passing(slot), space.entry(slot)) else { return Ok(false) };
        let code = passing.code();
        if !code.holds_off_trap(offset) || code.holds_off_once() && before == Some(entry.site) {
            return Ok(false);
        }
        let shadow = code.holds_off_once().then(|| code.original(offset)).flatten().map(|place| place.pc);
        self.thread_mut(tid)?.shadow = shadow;
        Ok(true)
    }

    /// Whether an instruction can be finished before a signal is delivered: it neither blocks nor enters the kernel, and the kernel
    /// does not take our trap flag for the program's (`iret`).
    fn may_wait(&self, tid: Tid, slot: SlotId) -> Result<bool> {
        let space = self.space_of(self.thread(tid)?.pid)?;
        let Some(entry) = space.entry(slot) else { return Ok(true) };
        let flow = decode(entry.bytes(), space.mode).map(|insn| insn.flow());
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
        self.correct_faulted_call(tid)?;
        self.leave_slot(tid)?;
        for waiting in std::mem::take(&mut self.thread_mut(tid)?.deferred) {
            self.send_anew(tid, waiting)?;
        }
        if report { self.report_signal(tid, info) } else { self.go_on(tid) }
    }

    /// A call that faulted may have written its return address, a slot's, below the stack.
    fn correct_faulted_call(&self, tid: Tid) -> Result<()> {
        let registers = arch::read(tid)?;
        let space = self.space_of(self.thread(tid)?.pid)?;
        let Some((slot, _)) = space.slot_at(pc_of(&registers)) else { return Ok(()) };
        if let (Some(passing), Some(entry)) = (space.passing(slot), space.entry(slot))
            && let Exit::StepThenReturnAddress(size) = passing.code().exit
        {
            let next = entry.site.wrapping_add(entry.bytes().len() as u64);
            arch::correct_faulted_call(tid, &registers, space.slot_address(slot), next, size);
        }
        Ok(())
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
        let pid = self.thread(tid)?.pid;
        if info.signal() == libc::SIGTRAP && self.debuggee(pid)?.trap == TrapAction::Ours {
            // It is the program's: without our handler, what it does by itself.
            self.withdraw_answer(tid, pid)?;
            let anew = matches!(self.thread(tid)?.stop(), Some(Stop::Moved(_)));
            return self.deliver(tid, info, anew);
        }
        let status = self.step_aside(tid, Signal(info.signal()))?;
        let ours = self.debuggee(pid)?.trap == TrapAction::Ours;
        let caught = |signal| status.disposition(Signal(signal)) == Disposition::Caught;
        self.thread_mut(tid)?.entering = !ours && caught(libc::SIGTRAP) && caught(info.signal());
        self.run(tid, info.signal())
    }

    /// Puts the thread where a handler may see it, and where the kernel decides about a system call to restart.
    pub(super) fn step_aside(&mut self, tid: Tid, signal: Signal) -> Result<Status> {
        let status = Status::read(tid)?;
        let mut registers = arch::read(tid)?;
        let thread = self.thread(tid)?;
        let pid = thread.pid;
        let at = thread.at.filter(|&at| at == pc_of(&registers));
        let place = self.space_of(pid)?.place(pc_of(&registers));
        let interrupted = arch::returned_eintr(&registers, &self.space_of(pid)?.memory);
        if place.is_none() && at.is_none() && !interrupted {
            return Ok(status);
        }
        let disposition = status.disposition(signal);
        match disposition {
            // It would not have been woken by such a signal.
            Disposition::Ignored if interrupted => {
                arch::restart(tid, &mut registers, self.thread(tid)?.call)?;
                arch::write(tid, &registers)?;
                return Ok(status);
            }
            Disposition::Ignored | Disposition::Stops => return Ok(status),
            Disposition::Caught | Disposition::Fatal => {}
        }
        if let Some((slot, place)) = &place
            && (arch::DECIDED_IN_PLACE && place.progress == Progress::Before && disposition == Disposition::Caught)
            && !self.may_wait(tid, *slot)?
        {
            self.thread_mut(tid)?.framing = Some(sp_of(&registers));
            return Ok(status);
        }
        let again = match &place {
            Some((slot, place)) => {
                let comes_back = place.progress == Progress::Before || arch::asks_for_restart(&registers);
                let site = self.space_of(pid)?.entry(*slot).map(|entry| entry.site);
                super::slot::translate(&mut registers, place, self.thread(tid)?.scratch);
                arch::write(tid, &registers)?;
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
            thread.interrupt_execution(Interrupted { site, sp: sp_of(&registers) });
        }
        Ok(status)
    }

    /// A thread entered a signal handler from a system call in a slot, and the kernel has decided how the call goes on: puts the
    /// original address in the handler's frame. `sp` is where the stack was.
    pub(super) fn correct_frame(&mut self, tid: Tid, sp: u64) -> Result<()> {
        let Some(at) = arch::frame_pc(&arch::read(tid)?) else { return Ok(()) };
        let pid = self.thread(tid)?.pid;
        let space = self.space_of(pid)?;
        let place = space.memory.read_word(at, 8).and_then(|pc| space.place(pc));
        let Some((slot, place)) = place else { return Ok(()) };
        space.memory.write(at, &place.pc.to_le_bytes());
        let site = space.entry(slot).map(|entry| entry.site);
        if let Some(site) = site.filter(|_| place.progress == Progress::Before) {
            self.thread_mut(tid)?.interrupt_execution(Interrupted { site, sp });
        }
        Ok(())
    }

    /// The beginning or the end of a system call, of the dynamic loader or in a signal handler.
    pub(super) fn on_syscall(&mut self, tid: Tid) -> Result<()> {
        // PTRACE_EVENTMSG_SYSCALL_ENTRY (linux/ptrace.h).
        let entry = sys::event_message(tid)? == 1;
        let registers = arch::read(tid)?;
        let thread = self.thread_mut(tid)?;
        if entry {
            thread.state = State::Stopped(Stop::InSyscall);
            thread.returning = arch::is_return(&registers);
            return self.go_on(tid);
        }
        if std::mem::take(&mut thread.returning) {
            let back = Interrupted { site: pc_of(&registers), sp: sp_of(&registers) };
            let pid = thread.pid;
            if let Some(at) = thread.executions.iter().position(|old| *old == back) {
                thread.executions.truncate(at);
                self.leave_call(tid)?;
                if self.thread(tid)?.held {
                    self.thread_mut(tid)?.at = Some(back.site);
                    return Ok(());
                }
                if let Some(&slot) = self.space_of(pid)?.sites.get(&back.site) {
                    return self.pass(tid, slot);
                }
            }
            return self.go_on(tid);
        }
        if thread.loading && arch::maps_code(&registers) {
            self.leave_call(tid)?;
            return self.on_mapped(tid);
        }
        self.go_on(tid)
    }
}
