//! System calls that the user wants to know about, thread by thread.

use crate::{Syscall, SyscallResult};

/// A system call that the user knows to be under way.
#[derive(Clone, Copy, Debug)]
struct Call {
    syscall: Syscall,
    /// Where the program makes it: the address behind the instruction, and the stack pointer.
    place: (u64, u64),
    left: Option<Left>,
}

/// Why a thread has left a call that it is about to make again.
#[derive(Clone, Copy, Debug)]
enum Left {
    /// The call ended with this result, and the kernel or the tracer makes it again.
    Ended(SyscallResult),
    /// The tracer needed the thread outside of the call, which the kernel has not made.
    Postponed,
}

/// What the tracer keeps about the system calls of one thread.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The thread stops at its system calls for the user.
    pub(super) traced: bool,
    /// The user holds the thread at the beginning of a call, which the kernel has not made.
    pub(super) held_at_entry: bool,
    call: Option<Call>,
}

/// What the user learns of the beginning of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beginning {
    /// A call that ended before, and its result.
    pub(super) late: Option<(Syscall, SyscallResult)>,
    /// The call is new.
    pub(super) is_new: bool,
}

impl Calls {
    /// The thread begins a call at a place of the program. `restarts`: the number by which the kernel continues a call.
    pub(super) fn begin(&mut self, syscall: Syscall, place: (u64, u64), restarts: u64, chosen: bool) -> Beginning {
        let before = self.call.take();
        if let Some(call) = before.filter(|call| call.left.is_some()) {
            let postponed = matches!(call.left, Some(Left::Postponed));
            let same = postponed || call.syscall == syscall || syscall.number == restarts;
            if same && call.place == place {
                self.call = Some(Call { syscall: if postponed { syscall } else { call.syscall }, left: None, ..call });
                return Beginning { late: None, is_new: false };
            }
        }
        self.call = chosen.then_some(Call { syscall, place, left: None });
        let late = before.and_then(|call| match call.left? {
            Left::Ended(result) => Some((call.syscall, result)),
            Left::Postponed => None,
        });
        Beginning { late, is_new: chosen }
    }

    /// The thread leaves its call. `goes_on`: the call is about to be made again, and the program does not notice. Returns a call
    /// that has returned.
    pub(super) fn end(&mut self, result: SyscallResult, goes_on: bool) -> Option<(Syscall, SyscallResult)> {
        let call = self.call.filter(|call| call.left.is_none())?;
        self.call = goes_on.then_some(Call { left: Some(Left::Ended(result)), ..call });
        (!goes_on).then_some((call.syscall, result))
    }

    /// The call that the user holds the thread at is not made now, but when the thread continues.
    pub(super) fn postpone(&mut self) {
        if let Some(call) = &mut self.call {
            call.left = Some(Left::Postponed);
        }
        self.held_at_entry = false;
    }

    /// The call does not return: it executed a program, or returns from a signal handler.
    pub(super) fn forget_call(&mut self) {
        self.call = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arch;

    const RESTARTS: u64 = 219;

    fn call(number: u64) -> Syscall {
        Syscall { number, arguments: [1; 6], arch: Arch::X86_64 }
    }

    #[test]
    fn a_restarted_call_is_one_call() {
        let mut calls = Calls::default();
        assert!(calls.begin(call(7), (10, 20), RESTARTS, true).is_new);
        assert_eq!(calls.end(SyscallResult::Interrupted, true), None);
        assert_eq!(calls.begin(call(7), (10, 20), RESTARTS, true), Beginning { late: None, is_new: false });
        assert_eq!(calls.end(SyscallResult::Interrupted, true), None);
        assert!(!calls.begin(call(RESTARTS), (10, 20), RESTARTS, false).is_new);
        assert_eq!(calls.end(SyscallResult::Value(1), false), Some((call(7), SyscallResult::Value(1))));
        assert_eq!(calls.end(SyscallResult::Value(1), false), None);
    }

    #[test]
    fn a_postponed_call_is_told_once() {
        let mut calls = Calls::default();
        calls.begin(call(7), (10, 20), RESTARTS, true);
        calls.postpone();
        assert_eq!(calls.end(SyscallResult::Error(38), false), None, "the kernel skipped the call");
        assert_eq!(calls.begin(call(9), (10, 20), RESTARTS, true), Beginning { late: None, is_new: false });
        assert_eq!(calls.end(SyscallResult::Value(3), false), Some((call(9), SyscallResult::Value(3))));
    }

    #[test]
    fn a_call_that_does_not_go_on_after_all_is_told_late() {
        let mut calls = Calls::default();
        calls.begin(call(7), (10, 20), RESTARTS, true);
        calls.end(SyscallResult::Error(4), true);
        let late = Some((call(7), SyscallResult::Error(4)));
        assert_eq!(calls.begin(call(8), (11, 20), RESTARTS, false), Beginning { late, is_new: false });
        assert_eq!(calls.end(SyscallResult::Value(0), false), None);
    }
}
