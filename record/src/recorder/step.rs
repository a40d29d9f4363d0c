//! Single steps and signals.

use std::io::Write;

use insn::x86::{Bits, Mode, Vendor, decode};
use libc::user_regs_struct;

use super::class::{Class, class};
use super::error::RecordError;
use super::process::{self, AHEAD};
use super::sys::{self, SI_KERNEL, TRAP_BRKPT, TRAP_TRACE};
use super::thread::{self, Before, State, TF};
use super::{Recorder, alive};
use crate::item::{Code, EventKind, Next, Step};

/// The bit of SIGTRAP in a signal mask.
const TRAP_BIT: u64 = 1 << (libc::SIGTRAP - 1);
/// `si_code` of the stop before the first instruction of a signal handler (ptrace_notify in kernel/signal.c).
const HANDLER: i32 = libc::SIGTRAP;
/// A system call's number of bytes, whichever it is.
const CALL_LENGTH: u64 = 2;

impl<W: Write> Recorder<W> {
    /// Lets a thread run its next instruction.
    pub(super) fn resume(&mut self, tid: u32) -> Result<(), RecordError> {
        let registers = alive!("PTRACE_GETREGS", tid, sys::registers(tid));
        self.prepare(tid, registers)?;
        let thread = self.thread(tid)?;
        if thread.before.class == Class::Syscall && !thread.may_restart {
            thread.state = State::Entering;
            self.restore_mask(tid)?;
            alive!("PTRACE_SYSCALL", tid, sys::go_to_syscall(tid));
            return Ok(());
        }
        thread.state = State::Stepping;
        alive!("PTRACE_SINGLESTEP", tid, sys::step(tid, 0));
        Ok(())
    }

    /// Remembers a thread as it is before its next instruction, and tells of code that was not known.
    fn prepare(&mut self, tid: u32, registers: user_regs_struct) -> Result<(), RecordError> {
        let bits = thread::bits(&registers);
        let thread = self.thread(tid)?;
        let pid = thread.pid;
        if thread.bits.replace(bits) != Some(bits) {
            self.tell(tid, EventKind::Bits(bits))?;
        }
        let code = if bits.is_some() { self.look(pid, registers.rip)? } else { Code::default() };
        let class = class(code.bytes(), bits == Some(Bits::B64));
        self.thread(tid)?.before = Before { registers, code, class };
        Ok(())
    }

    /// Reads an instruction's bytes, and tells of them where they are new.
    fn look(&mut self, pid: u32, pc: u64) -> Result<Code, RecordError> {
        let Some(process) = self.processes.get_mut(&pid) else { return Ok(Code::default()) };
        let mut buffer = [0; AHEAD];
        let bytes = process.code(pc, &mut buffer);
        let code = Code::new(bytes);
        if self.writer.known(pid, pc) != code {
            for mapping in process.fresh_mappings(pc) {
                self.writer.mapping(&mapping).map_err(RecordError::Output)?;
            }
            self.writer.code(pid, pc, bytes).map_err(RecordError::Output)?;
        }
        Ok(code)
    }

    /// A stop by a signal: a step is done, or the program gets one.
    pub(super) fn signal(&mut self, tid: u32, signal: i32) -> Result<(), RecordError> {
        let code = alive!("PTRACE_GETSIGINFO", tid, sys::signal_code(tid));
        let now = alive!("PTRACE_GETREGS", tid, sys::registers(tid));
        let thread = self.thread(tid)?;
        let is_stepping = thread.state == State::Stepping;
        let has_moved = now.rip != thread.before.registers.rip;
        match (signal, code) {
            (libc::SIGTRAP, HANDLER) if is_stepping => {
                thread.may_restart = false;
                self.look_at_mask(tid)?;
                self.resume(tid)
            }
            (libc::SIGTRAP, TRAP_TRACE) if is_stepping => {
                let steps_itself = self.steps_itself(tid);
                self.completed(tid, &now)?;
                self.thread(tid)?.may_restart = false;
                if steps_itself { self.deliver(tid, signal, true, now) } else { self.resume(tid) }
            }
            (libc::SIGTRAP, TRAP_BRKPT) if is_stepping && !self.is_int1(tid) => {
                self.stepped_syscall(tid, now)?;
                self.resume(tid)
            }
            _ => {
                let is_fault = is_fault(signal, code);
                // `int3` and `int1` are behind themselves; a fault behind an unseen instruction is that of the next one.
                if is_stepping && is_fault && has_moved {
                    self.completed(tid, &now)?;
                }
                if is_stepping && is_fault && (!has_moved || signal != libc::SIGTRAP) {
                    self.prepare(tid, now)?;
                    self.unfinished(tid)?;
                }
                self.deliver(tid, signal, is_fault, now)
            }
        }
    }

    /// Gives the program a signal, and stops at its handler's first instruction, if there is one.
    fn deliver(&mut self, tid: u32, signal: i32, fault: bool, now: user_regs_struct) -> Result<(), RecordError> {
        self.tell(tid, EventKind::Signal { number: signal as u32, fault })?;
        self.prepare(tid, now)?;
        self.restore_mask(tid)?;
        self.thread(tid)?.state = State::Stepping;
        alive!("PTRACE_SINGLESTEP", tid, sys::step(tid, signal));
        Ok(())
    }

    pub(super) fn is_int1(&self, tid: u32) -> bool {
        let code = self.threads.get(&tid).map(|thread| thread.before.code).unwrap_or_default();
        decode(code.bytes(), Mode::new(Bits::B64, Vendor::Amd)).is_ok_and(|insn| insn.opcode() == 0xf1)
    }

    /// The thread has left a system call that it entered by a single step: one that was restarted, or that began just as a signal
    /// without a handler was given.
    pub(super) fn stepped_syscall(&mut self, tid: u32, now: user_regs_struct) -> Result<(), RecordError> {
        let thread = self.thread(tid)?;
        let (pc, class, may_restart) = (thread.before.registers.rip, thread.before.class, thread.may_restart);
        if class != Class::Syscall && may_restart && now.rip == pc {
            self.tell(tid, EventKind::Moved)?;
            let mut before = self.thread(tid)?.before.registers;
            before.rip = pc.wrapping_sub(CALL_LENGTH);
            self.prepare(tid, before)?;
        } else if class != Class::Syscall && now.rip == pc {
            // The report of a call that was left before.
            return Ok(());
        }
        self.tell(tid, EventKind::Syscall(now.orig_rax))?;
        self.completed(tid, &now)?;
        self.hide_flag(tid, &now)?;
        self.left_syscall(tid, &now)
    }

    /// `syscall` leaves the flags in r11, with the trap flag that stepping sets.
    fn hide_flag(&mut self, tid: u32, now: &user_regs_struct) -> Result<(), RecordError> {
        let is_64_bit = thread::bits(now) == Some(Bits::B64);
        if is_64_bit && now.r11 & TF != 0 && now.r11 & !TF == now.eflags & !TF && !self.steps_itself(tid) {
            alive!("PTRACE_POKEUSER", tid, sys::set_r11(tid, now.r11 & !TF));
        }
        Ok(())
    }

    /// Tells that the present instruction is done, and where the processor is now.
    pub(super) fn completed(&mut self, tid: u32, now: &user_regs_struct) -> Result<(), RecordError> {
        let thread = self.thread(tid)?;
        let (pid, before) = (thread.pid, thread.before);
        let pc = before.registers.rip;
        let middle = match before.class {
            Class::WithNext => {
                let is_64_bit = thread::bits(&before.registers) == Some(Bits::B64);
                let mode = Mode::new(if is_64_bit { Bits::B64 } else { Bits::B32 }, Vendor::Amd).lenient();
                decode(before.code.bytes(), mode).ok().map(|insn| pc.wrapping_add(insn.len() as u64))
            }
            // The kernel emulates the whole call, as a return.
            _ if process::is_vsyscall(pc) => {
                let process = self.processes.get(&pid);
                process.and_then(|process| process.word(now.rsp.wrapping_sub(8)))
            }
            _ => None,
        };
        let Some(middle) = middle.filter(|&middle| middle != now.rip) else {
            self.show_flags(tid, before, now)?;
            return self.step(tid, Next::At(now.rip));
        };
        self.step(tid, Next::Unseen(middle))?;
        let mut between = before.registers;
        between.rip = middle;
        self.prepare(tid, between)?;
        let second = self.thread(tid)?.before;
        self.show_flags(tid, second, now)?;
        self.step(tid, Next::At(now.rip))
    }

    /// Tells that the present instruction was begun.
    pub(super) fn unfinished(&mut self, tid: u32) -> Result<(), RecordError> {
        self.step(tid, Next::Unfinished)
    }

    fn step(&mut self, tid: u32, next: Next) -> Result<(), RecordError> {
        let registers = self.options.registers;
        let thread = self.thread(tid)?;
        let (pid, before) = (thread.pid, thread.before);
        let step = Step {
            tid,
            pid,
            pc: before.registers.rip,
            code: before.code,
            bits: thread::bits(&before.registers),
            next,
            registers: registers.then(|| thread::recorded(&before.registers)),
        };
        self.writer.step(&step).map_err(RecordError::Output)
    }

    /// Takes the trap flag that stepping sets out of what `pushf` has pushed.
    fn show_flags(&mut self, tid: u32, before: Before, now: &user_regs_struct) -> Result<(), RecordError> {
        if before.class != Class::PushFlags || before.registers.eflags & TF != 0 {
            return Ok(());
        }
        let is_64_bit = thread::bits(now) == Some(Bits::B64);
        let top = if is_64_bit { now.rsp } else { now.rsp & 0xffff_ffff };
        let pid = self.thread(tid)?.pid;
        let Some(process) = self.processes.get(&pid) else { return Ok(()) };
        let done = process.clear(top.wrapping_add(1), (TF >> 8) as u8);
        alive!("clearing the trap flag", tid, done);
        Ok(())
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

    /// Gives the program its own signal mask: it is about to see it.
    pub(super) fn restore_mask(&mut self, tid: u32) -> Result<(), RecordError> {
        if self.thread(tid)?.blocks_trap {
            let mask = alive!("PTRACE_GETSIGMASK", tid, sys::signal_mask(tid));
            alive!("PTRACE_SETSIGMASK", tid, sys::set_signal_mask(tid, mask | TRAP_BIT));
        }
        Ok(())
    }
}

/// Whether the instruction at hand raised the signal.
fn is_fault(signal: i32, code: i32) -> bool {
    const OF_INSTRUCTIONS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGTRAP, libc::SIGFPE];
    code > 0 && OF_INSTRUCTIONS.contains(&signal) && (signal != libc::SIGTRAP || matches!(code, SI_KERNEL | TRAP_BRKPT))
}
