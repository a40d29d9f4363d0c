//! The system call in which a thread blocks.
//!
//! When the kernel shows a thread that was interrupted there, x0 holds the result and the first argument is lost. So the tracer
//! looks the argument up before the interruption.

use libc::user_regs_struct;

use super::syscalls::ENTERS;
use crate::Tid;
use crate::ptrace::blocked::Blocked;

/// Numbers of system calls (asm-generic/unistd.h).
const FUTEX: u64 = 98;
const NANOSLEEP: u64 = 101;
const CLOCK_NANOSLEEP: u64 = 115;
const RESTART_SYSCALL: u64 = 128;
/// The part of futex(2)'s second argument that says what is done; 0 is to wait for a time that is relative.
const FUTEX_COMMAND: u64 = 127;

/// A system call, as the thread made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptrace) struct BlockedCall(Blocked);

impl BlockedCall {
    /// The system call in which a thread blocks now.
    pub(in crate::ptrace) fn of(tid: Tid) -> Option<BlockedCall> {
        Blocked::of(tid).map(BlockedCall)
    }

    /// The first argument, if the thread has just left this call and its result took the argument's place.
    pub(super) fn first_argument(&self, registers: &user_regs_struct) -> Option<u64> {
        let [first, ..] = self.0.arguments;
        (self.is_of(registers) && registers.pc == self.0.pc).then_some(first)
    }

    /// Whether the kernel put the thread back to make this call again.
    fn goes_back(&self, registers: &user_regs_struct) -> bool {
        let [first, ..] = self.0.arguments;
        self.is_of(registers) && registers.pc == self.0.pc.wrapping_sub(ENTERS) && registers.regs[0] == first
    }

    fn is_of(&self, registers: &user_regs_struct) -> bool {
        let number = registers.regs[8] == self.0.number;
        number && registers.sp == self.0.sp && registers.regs.get(1..6) == self.0.arguments.get(1..)
    }

    /// Whether the kernel keeps the rest of the call's time.
    fn has_rest(&self) -> bool {
        let [_, second, _, fourth, ..] = self.0.arguments;
        match self.0.number {
            NANOSLEEP => true,
            CLOCK_NANOSLEEP => second & libc::TIMER_ABSTIME as u64 == 0,
            FUTEX => second & FUTEX_COMMAND == libc::FUTEX_WAIT as u64 && fourth != 0,
            _ => false,
        }
    }

    /// Makes a thread that the kernel put back to this call wait for the rest of its time only, wherever it makes the call. For a
    /// thread that continues where it stopped the kernel does that itself (arch/arm64/kernel/signal.c, `setup_restart_syscall`).
    pub(in crate::ptrace) fn keep_rest(&self, registers: &mut user_regs_struct) -> bool {
        let keeps = self.has_rest() && self.goes_back(registers);
        if keeps {
            registers.regs[8] = RESTART_SYSCALL;
        }
        keeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// nanosleep(0x5, 1, …), made at 0x7ffc.
    const SLEEP: &str = "101 0x5 0x1 0x2 0x3 0x4 0x6 0x7ff0 0x8000\n";

    fn parse(line: &str) -> Option<BlockedCall> {
        Blocked::parse(line).map(BlockedCall)
    }

    fn registers(pc: u64, x0: u64) -> user_regs_struct {
        let mut regs = [0; 31];
        regs[..6].copy_from_slice(&[x0, 1, 2, 3, 4, 6]);
        regs[8] = NANOSLEEP;
        user_regs_struct { regs, sp: 0x7ff0, pc, pstate: 0 }
    }

    #[test]
    fn the_first_argument_is_that_of_the_call_that_just_ended_and_of_no_other() {
        let call = parse(SLEEP).unwrap();
        let ended = registers(0x8000, -4_i64 as u64);
        assert_eq!(call.first_argument(&ended), Some(5));
        assert_eq!(call.first_argument(&registers(0x8004, 0)), None);
        assert_eq!(call.first_argument(&user_regs_struct { sp: 0x7fe0, ..ended }), None);
        let mut other = ended;
        other.regs[1] = 9;
        assert_eq!(call.first_argument(&other), None);
    }

    #[test]
    fn a_sleep_to_which_the_kernel_goes_back_is_left_its_rest() {
        let call = parse(SLEEP).unwrap();
        let mut back = registers(0x7ffc, 5);
        assert!(call.keep_rest(&mut back));
        assert_eq!(back.regs[8], RESTART_SYSCALL);
        for mut other in [registers(0x8000, 5), registers(0x7ffc, 6)] {
            assert!(!call.keep_rest(&mut other));
        }
    }

    #[test]
    fn only_what_waits_for_a_time_of_its_own_has_a_rest() {
        for (line, expected) in [
            ("101 0x5 0x0 0x0 0x0 0x0 0x0 0x7ff0 0x8000", true),
            ("115 0x0 0x0 0x5 0x0 0x0 0x0 0x7ff0 0x8000", true),
            // Until a time: TIMER_ABSTIME.
            ("115 0x0 0x1 0x5 0x0 0x0 0x0 0x7ff0 0x8000", false),
            // FUTEX_WAIT | FUTEX_PRIVATE_FLAG, with and without a timeout; FUTEX_WAIT_BITSET.
            ("98 0x5 0x80 0x0 0x9 0x0 0x0 0x7ff0 0x8000", true),
            ("98 0x5 0x80 0x0 0x0 0x0 0x0 0x7ff0 0x8000", false),
            ("98 0x5 0x89 0x0 0x9 0x0 0x0 0x7ff0 0x8000", false),
            ("63 0x5 0x0 0x0 0x0 0x0 0x0 0x7ff0 0x8000", false),
        ] {
            assert_eq!(parse(line).map(|call| call.has_rest()), Some(expected), "{line}");
        }
    }
}
