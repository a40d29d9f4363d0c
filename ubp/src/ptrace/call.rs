//! Running a function of the debuggee.

use super::sys::{self, NT_X86_XSTATE, PTRACE_EVENT_STOP, Report, SI_KERNEL, SigInfo};
use super::thread::{State, Stop};
use super::{Tracer, shadow_stack};
use crate::{Address, Arch, Error, Result, Tid};

/// Bytes below the stack pointer that belong to the function that runs (System V ABI for x86-64, 3.2.2).
const RED_ZONE: u64 = 128;
/// More than any processor's extended state.
const EXTENDED: usize = 16 << 10;
/// Signals that the called function itself raises by its instructions: they are not blocked.
const FAULTS: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

impl Tracer {
    pub(super) fn call(&mut self, tid: Tid, function: Address, args: &[u64]) -> Result<u64> {
        let thread = self.thread(tid)?;
        if !thread.held || thread.vforking {
            return Err(Error::NotHeld(tid));
        }
        let pid = thread.pid;
        if self.space_of(pid)?.storages.is_empty() {
            self.map_arena(pid, function.0, function.0, 1)?;
        }
        self.leave_call(tid)?;
        let saved = sys::registers(tid)?;
        let mask = sys::signal_mask(tid)?;
        let mut extended = vec![0; EXTENDED];
        let ssp = shadow_stack::pointer(tid);
        let length = sys::register_set(tid, NT_X86_XSTATE, &mut extended)?;
        extended.truncate(length);
        let stop = self.thread(tid)?.stop();
        let mut kept = Vec::new();
        let result = self.call_by(tid, function, args, &mut kept);
        if matches!(result, Err(Error::NoSuchThread(_))) {
            return result;
        }
        // To a stop in which the kernel looks at restarts again.
        sys::interrupt(tid)?;
        self.thread_mut(tid)?.step = None;
        loop {
            sys::cont_to_syscall(tid, 0)?;
            match self.report_of(tid)? {
                Report::Stopped { event: PTRACE_EVENT_STOP, .. } => break,
                Report::Stopped { .. } => {}
                end => return self.ended(tid, end),
            }
        }
        sys::set_register_set(tid, NT_X86_XSTATE, &extended)?;
        sys::set_registers(tid, &saved)?;
        if let Some(ssp) = ssp {
            shadow_stack::set_pointer(tid, ssp)?;
        }
        sys::set_signal_mask(tid, mask)?;
        self.stop_anew(tid, stop, kept)?;
        result
    }

    fn ended<T>(&mut self, tid: Tid, end: Report) -> Result<T> {
        self.reports.push_front((tid, end));
        self.thread_mut(tid)?.state = State::Running;
        Err(Error::NoSuchThread(tid))
    }

    fn call_by(&mut self, tid: Tid, function: Address, args: &[u64], kept: &mut Vec<SigInfo>) -> Result<u64> {
        let pid = self.thread(tid)?.pid;
        let fail = Error::Call { tid, function };
        let arch = self.space_of(pid)?.arch;
        // Behind the two bytes that enter the kernel stands an int3.
        let back = self.gate_of(pid)? + 2;
        let mut registers = self.view(tid)?;
        registers.orig_rax = u64::MAX;
        registers.rip = function.0;
        registers.rax = 0;
        let word = match arch {
            Arch::X86_64 => 8,
            Arch::I386 => 4,
        };
        let on_stack = match arch {
            Arch::X86_64 => args.get(6..).unwrap_or(&[]),
            Arch::I386 => args,
        };
        let below = registers.rsp.wrapping_sub(RED_ZONE + on_stack.len() as u64 * word) / 16 * 16;
        registers.rsp = below.wrapping_sub(word);
        let mut stack = Vec::new();
        for value in std::iter::once(&back).chain(on_stack) {
            stack.extend(value.to_le_bytes().iter().take(word as usize));
        }
        if arch == Arch::X86_64 {
            let mut args = args.iter().copied();
            for place in [
                &mut registers.rdi,
                &mut registers.rsi,
                &mut registers.rdx,
                &mut registers.rcx,
                &mut registers.r8,
                &mut registers.r9,
            ] {
                *place = args.next().unwrap_or(*place);
            }
        }
        if sys::write_as_thread(tid, registers.rsp, &stack) != stack.len() {
            return Err(fail);
        }
        shadow_stack::push(tid, &self.space_of(pid)?.memory, back)?;
        let unblocked = FAULTS.iter().fold(0, |set, &signal| set | crate::Signal(signal).bit());
        sys::set_signal_mask(tid, !unblocked)?;
        sys::set_registers(tid, &registers)?;
        let stepping = self.thread_mut(tid)?.step.take();
        let scratch = self.thread_mut(tid)?.scratch.take();
        let result = self.run_function(tid, back, kept, fail);
        if let Ok(thread) = self.thread_mut(tid) {
            (thread.step, thread.scratch) = (stepping, scratch);
        }
        result
    }

    fn run_function(&mut self, tid: Tid, back: u64, kept: &mut Vec<SigInfo>, fail: Error) -> Result<u64> {
        let pid = self.thread(tid)?.pid;
        sys::cont(tid, 0)?;
        loop {
            let signal = match self.report_of(tid)? {
                Report::Stopped { signal, event: 0 } => signal,
                Report::Stopped { .. } => {
                    sys::cont(tid, 0)?;
                    continue;
                }
                end => return self.ended(tid, end),
            };
            let info = sys::siginfo(tid)?;
            self.set_stop(tid, Stop::Trap)?;
            if signal != libc::SIGTRAP {
                if info.is_synchronous() {
                    return Err(fail);
                }
                kept.push(info);
                sys::cont(tid, 0)?;
                continue;
            }
            if self.thread(tid)?.step.is_some() {
                self.on_trap(tid, info)?;
                continue;
            }
            let at = sys::pc(tid)?.wrapping_sub(1);
            if info.code() == SI_KERNEL && at == back {
                return Ok(sys::registers(tid)?.rax);
            }
            let space = self.space_of(pid)?;
            if let Some(&slot) = space.sites.get(&at) {
                self.pass(tid, slot)?;
            } else if space.place(at).is_some() {
                self.on_trap(tid, info)?;
            } else {
                return Err(fail);
            }
        }
    }
}
