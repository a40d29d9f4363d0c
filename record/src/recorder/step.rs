//! Single steps and signals.

use std::io::Write;

use libc::user_regs_struct;

use super::arch::{self, Class};
use super::error::RecordError;
use super::part::Stage;
use super::process::AHEAD;
use super::sys::{self, SI_KERNEL, TRAP_BRKPT, TRAP_TRACE};
use super::thread::{Before, State};
use super::{Recorder, alive};
use crate::item::{Code, EventKind, Next, Step};

/// The bit of SIGTRAP in a signal mask.
const TRAP_BIT: u64 = 1 << (libc::SIGTRAP - 1);

impl<W: Write> Recorder<W> {
    /// Lets a thread run its next instruction.
    pub(super) fn resume(&mut self, tid: u32) -> Result<(), RecordError> {
        let registers = alive!("PTRACE_GETREGS", tid, arch::registers(tid));
        self.resume_from(tid, registers)
    }

    /// Lets a thread whose registers are known run its next instruction.
    pub(super) fn resume_from(&mut self, tid: u32, registers: user_regs_struct) -> Result<(), RecordError> {
        self.prepare(tid, registers)?;
        let thread = self.thread(tid)?;
        let (pid, before) = (thread.pid, thread.before);
        let enters = before.class == Class::Syscall || thread.may_restart;
        thread.state = if enters { State::Entering } else { State::Stepping };
        if enters {
            self.restore_mask(tid)?;
        }
        let exits = self.processes.get(&pid).map_or_else(Vec::new, |process| arch::exits(process, &before));
        if !exits.is_empty() {
            alive!("setting the processor's breakpoints", tid, arch::stop_at(tid, &exits));
            self.thread(tid)?.state = State::Running;
        }
        self.go_on(tid)
    }

    /// Remembers a thread's state before its next instruction, and writes code that is new to the trace.
    pub(super) fn prepare(&mut self, tid: u32, registers: user_regs_struct) -> Result<(), RecordError> {
        let bits = arch::bits(&registers);
        let (pid, pc) = (self.thread(tid)?.pid, arch::pc(&registers));
        self.choose(tid, pid, pc)?;
        let thread = self.thread(tid)?;
        let recorded = thread.recorded;
        if thread.bits.replace(bits) != Some(bits) {
            self.tell(tid, EventKind::Bits(bits))?;
        }
        let code = if bits.is_some() { self.look(pid, pc, recorded)? } else { Code::default() };
        let class = arch::class(code.bytes(), bits);
        self.thread(tid)?.before = Before { registers, code, class };
        Ok(())
    }

    /// Reads an instruction's bytes. Writes them if its thread is in the trace and they are new to it.
    fn look(&mut self, pid: u32, pc: u64, recorded: bool) -> Result<Code, RecordError> {
        let Some(process) = self.processes.get_mut(&pid) else { return Ok(Code::default()) };
        let mut buffer = [0; AHEAD];
        let bytes = process.code(pc, &mut buffer);
        let code = Code::new(bytes);
        if recorded && self.writer.known(pid, pc) != code {
            let fresh = process.fresh_mappings(pc);
            for mapping in process.unwritten.drain(..).chain(fresh) {
                self.writer.mapping(&mapping).map_err(RecordError::Output)?;
            }
            self.writer.code(pid, pc, bytes).map_err(RecordError::Output)?;
        }
        Ok(code)
    }

    /// A stop by a signal: a step is done, or the program gets the signal.
    pub(super) fn signal(&mut self, tid: u32, signal: i32) -> Result<(), RecordError> {
        let now = alive!("PTRACE_GETREGS", tid, arch::registers(tid));
        match self.done(tid, signal, &now)? {
            Some(signal) => self.deliver(tid, signal, now),
            None if arch::takes_step_for_programs(self.thread(tid)?.before.class) => self.stop_again(tid),
            None => self.resume_from(tid, now),
        }
    }

    /// Writes what a thread that stopped by a signal has done, and returns the signal for the program.
    pub(super) fn done(&mut self, tid: u32, signal: i32, now: &user_regs_struct) -> Result<Option<i32>, RecordError> {
        let code = alive!("PTRACE_GETSIGINFO", tid, sys::signal_code(tid));
        let thread = self.thread(tid)?;
        let before = thread.before;
        let is_running = thread.state == State::Running;
        let is_stepping = is_running || thread.state == State::Stepping;
        let has_moved = arch::pc(now) != arch::pc(&before.registers);
        if is_running {
            alive!("taking back the processor's breakpoints", tid, arch::stop_at(tid, &[]));
        }
        if signal == libc::SIGTRAP && is_stepping && arch::ends_step(code, &before) {
            self.completed(tid, now)?;
            if code != TRAP_TRACE || !arch::steps_itself(&before.registers) {
                return Ok(None);
            }
            self.tell(tid, EventKind::Signal { number: signal as u32, fault: true })?;
            return Ok(Some(signal));
        }
        let fault = is_fault(signal, code);
        // `int3` and `int1` are behind themselves; a fault behind an unseen instruction is that of the next one.
        if is_stepping && has_moved && (fault || is_running) {
            self.completed(tid, now)?;
        }
        if is_stepping && fault && (!has_moved || is_running || signal != libc::SIGTRAP) {
            self.prepare(tid, *now)?;
            self.unfinished(tid)?;
        }
        self.tell(tid, EventKind::Signal { number: signal as u32, fault })?;
        if !has_moved {
            alive!("PTRACE_POKEUSER", tid, arch::undo_step(tid, &before, now));
        }
        Ok(Some(signal))
    }

    /// Gives the program a signal, and stops before it runs an instruction: at the handler's first one, if there is a handler.
    fn deliver(&mut self, tid: u32, signal: i32, now: user_regs_struct) -> Result<(), RecordError> {
        self.restore_mask(tid)?;
        let thread = self.thread(tid)?;
        thread.before.registers = now;
        thread.state = State::Asked;
        alive!("PTRACE_INTERRUPT", tid, sys::interrupt(tid));
        alive!("PTRACE_CONT", tid, sys::cont(tid, signal));
        Ok(())
    }

    /// Makes the thread stop once more before it runs an instruction. The kernel then has dropped its state of the step, and hides nothing.
    pub(super) fn stop_again(&mut self, tid: u32) -> Result<(), RecordError> {
        self.thread(tid)?.state = State::Asked;
        alive!("PTRACE_INTERRUPT", tid, sys::interrupt(tid));
        alive!("PTRACE_CONT", tid, sys::cont(tid, 0));
        Ok(())
    }

    /// Writes that the present instruction is done, and where the processor is now.
    pub(super) fn completed(&mut self, tid: u32, now: &user_regs_struct) -> Result<(), RecordError> {
        let thread = self.thread(tid)?;
        let (pid, before) = (thread.pid, thread.before);
        let unseen = self.processes.get(&pid).map_or_else(Vec::new, |process| arch::unseen(process, &before, now));
        for pc in unseen {
            self.step(tid, Next::Unseen(pc))?;
            self.prepare(tid, arch::moved(&before.registers, pc))?;
        }
        let last = self.thread(tid)?.before;
        if let Some(process) = self.processes.get(&pid) {
            alive!("clearing the trap flag", tid, arch::hide_step(process, &last, now));
        }
        self.step(tid, Next::At(arch::pc(now)))
    }

    /// Writes that the present instruction began.
    pub(super) fn unfinished(&mut self, tid: u32) -> Result<(), RecordError> {
        self.step(tid, Next::Unfinished)
    }

    fn step(&mut self, tid: u32, next: Next) -> Result<(), RecordError> {
        let registers = self.options.registers;
        let thread = self.thread(tid)?;
        if !thread.recorded {
            return Ok(());
        }
        let (pid, before) = (thread.pid, thread.before);
        let step = Step {
            tid,
            pid,
            pc: arch::pc(&before.registers),
            code: before.code,
            bits: arch::bits(&before.registers),
            next,
            registers: registers.then(|| arch::recorded(&before.registers)),
        };
        self.writer.step(&step).map_err(RecordError::Output)?;
        match self.options.limit {
            Some(limit) if self.writer.steps() >= limit => self.leave_out(Stage::Over),
            _ => Ok(()),
        }
    }

    /// Learns the signal mask, and unblocks SIGTRAP where the program blocks it.
    pub(super) fn look_at_mask(&mut self, tid: u32) -> Result<(), RecordError> {
        let mask = alive!("PTRACE_GETSIGMASK", tid, sys::signal_mask(tid));
        let blocks_trap = mask & TRAP_BIT != 0;
        self.thread(tid)?.blocks_trap = blocks_trap;
        if blocks_trap {
            alive!("PTRACE_SETSIGMASK", tid, sys::set_signal_mask(tid, mask & !TRAP_BIT));
        }
        Ok(())
    }

    /// Restores the program's signal mask, which the program is about to read.
    pub(super) fn restore_mask(&mut self, tid: u32) -> Result<(), RecordError> {
        if self.thread(tid)?.blocks_trap {
            let mask = alive!("PTRACE_GETSIGMASK", tid, sys::signal_mask(tid));
            alive!("PTRACE_SETSIGMASK", tid, sys::set_signal_mask(tid, mask | TRAP_BIT));
        }
        Ok(())
    }
}

/// Whether the present instruction raised the signal.
fn is_fault(signal: i32, code: i32) -> bool {
    const OF_INSTRUCTIONS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGTRAP, libc::SIGFPE];
    code > 0 && OF_INSTRUCTIONS.contains(&signal) && (signal != libc::SIGTRAP || matches!(code, SI_KERNEL | TRAP_BRKPT))
}
