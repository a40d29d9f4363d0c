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

impl<W: Write> Recorder<W> {
    /// Lets a thread run its next instruction.
    pub(super) fn resume(&mut self, tid: u32) -> Result<(), RecordError> {
        let registers = alive!("PTRACE_GETREGS", tid, sys::registers(tid));
        self.prepare(tid, registers)?;
        let thread = self.thread(tid)?;
        let enters = thread.before.class == Class::Syscall || thread.may_restart;
        thread.state = if enters { State::Entering } else { State::Stepping };
        if enters {
            self.restore_mask(tid)?;
        }
        self.go_on(tid)
    }

    /// Remembers a thread as it is before its next instruction, and tells of code that was not known.
    pub(super) fn prepare(&mut self, tid: u32, registers: user_regs_struct) -> Result<(), RecordError> {
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
        let now = alive!("PTRACE_GETREGS", tid, sys::registers(tid));
        match self.done(tid, signal, &now)? {
            Some(signal) => self.deliver(tid, signal, now),
            None if self.thread(tid)?.before.class == Class::PopFlags => self.forget_stepping(tid),
            None => self.resume(tid),
        }
    }

    /// Tells what a thread that is stopped by a signal has done, and returns the signal that the program is to get.
    pub(super) fn done(&mut self, tid: u32, signal: i32, now: &user_regs_struct) -> Result<Option<i32>, RecordError> {
        let code = alive!("PTRACE_GETSIGINFO", tid, sys::signal_code(tid));
        let thread = self.thread(tid)?;
        let before = thread.before;
        let is_stepping = thread.state == State::Stepping;
        let has_moved = now.rip != before.registers.rip;
        let steps_itself = before.registers.eflags & TF != 0;
        match (signal, code) {
            (libc::SIGTRAP, TRAP_TRACE) if is_stepping => {
                self.completed(tid, now)?;
                if !steps_itself {
                    return Ok(None);
                }
                self.tell(tid, EventKind::Signal { number: signal as u32, fault: true })?;
            }
            // The kernel was entered in a way that the recorder does not know.
            (libc::SIGTRAP, TRAP_BRKPT) if is_stepping && !is_int1(before.code) => {
                self.completed(tid, now)?;
                return Ok(None);
            }
            _ => {
                let fault = is_fault(signal, code);
                // `int3` and `int1` are behind themselves; a fault behind an unseen instruction is that of the next one.
                if is_stepping && fault && has_moved {
                    self.completed(tid, now)?;
                }
                if is_stepping && fault && (!has_moved || signal != libc::SIGTRAP) {
                    self.prepare(tid, *now)?;
                    self.unfinished(tid)?;
                }
                self.tell(tid, EventKind::Signal { number: signal as u32, fault })?;
                // The kernel takes the flag that it has set before `popf` for the program's.
                if !has_moved && before.class == Class::PopFlags && !steps_itself && now.eflags & TF != 0 {
                    alive!("PTRACE_POKEUSER", tid, sys::set_flags(tid, now.eflags & !TF));
                }
            }
        }
        Ok(Some(signal))
    }

    /// Gives the program a signal, and stops before it runs anything: at its handler's first instruction, if there is one.
    fn deliver(&mut self, tid: u32, signal: i32, now: user_regs_struct) -> Result<(), RecordError> {
        self.restore_mask(tid)?;
        let thread = self.thread(tid)?;
        thread.before.registers = now;
        thread.state = State::Asked;
        alive!("PTRACE_INTERRUPT", tid, sys::interrupt(tid));
        alive!("PTRACE_CONT", tid, sys::cont(tid, signal));
        Ok(())
    }

    /// Lets the kernel forget that the thread was stepped: behind `popf` it would take the trap flag that it sets for the program's
    /// own (enable_single_step in arch/x86/kernel/step.c).
    fn forget_stepping(&mut self, tid: u32) -> Result<(), RecordError> {
        self.thread(tid)?.state = State::Asked;
        alive!("PTRACE_INTERRUPT", tid, sys::interrupt(tid));
        alive!("PTRACE_CONT", tid, sys::cont(tid, 0));
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

fn is_int1(code: Code) -> bool {
    decode(code.bytes(), Mode::new(Bits::B64, Vendor::Amd)).is_ok_and(|insn| insn.opcode() == 0xf1)
}

/// Whether the instruction at hand raised the signal.
fn is_fault(signal: i32, code: i32) -> bool {
    const OF_INSTRUCTIONS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGTRAP, libc::SIGFPE];
    code > 0 && OF_INSTRUCTIONS.contains(&signal) && (signal != libc::SIGTRAP || matches!(code, SI_KERNEL | TRAP_BRKPT))
}
