//! The system call in which a thread blocks (proc_pid_syscall(5)).

use crate::Tid;
use crate::descriptors::open_by_reserve;

/// A system call, as the thread made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocked {
    pub(super) number: u64,
    pub(super) arguments: [u64; 6],
    pub(super) sp: u64,
    /// The address behind the instruction.
    pub(super) pc: u64,
}

impl Blocked {
    /// The system call in which a thread blocks now.
    pub(super) fn of(tid: Tid) -> Option<Blocked> {
        Blocked::parse(&open_by_reserve(|| std::fs::read_to_string(format!("/proc/{tid}/syscall"))).ok()?)
    }

    pub(super) fn parse(line: &str) -> Option<Blocked> {
        let mut fields = line.split_ascii_whitespace();
        let number = fields.next()?.parse().ok()?;
        let mut next = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = next()?;
        }
        Some(Blocked { number, arguments, sp: next()?, pc: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_runs_or_waits_for_memory_is_in_no_call() {
        let call = Blocked::parse("101 0x5 0x1 0x2 0x3 0x4 0x6 0x7ff0 0x8000\n").unwrap();
        assert_eq!((call.number, call.arguments, call.sp, call.pc), (101, [5, 1, 2, 3, 4, 6], 0x7ff0, 0x8000));
        for none in ["running\n", "-1 0x7ff0 0x8000\n", "", "101 0x5\n"] {
            assert_eq!(Blocked::parse(none), None, "{none}");
        }
    }
}
