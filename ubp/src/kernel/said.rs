//! What the kernel tells of a thread beside hits: system calls, signals and accesses.

use std::collections::VecDeque;

use crate::{Arch, EventKind, Pid, SignalInfo, Syscall, SyscallResult, SyscallReturn};

/// ELF's e_machine of the architectures whose system calls a debuggee can make.
const MACHINES: [(u64, Arch); 3] = [(62, Arch::X86_64), (3, Arch::I386), (183, Arch::Arm64)];
/// The numbers of `restart_syscall`, by which the kernel continues some interrupted calls (asm/unistd.h).
const RESTARTS: [(Arch, u64); 3] = [(Arch::X86_64, 219), (Arch::I386, 0), (Arch::Arm64, 128)];

/// What the kernel has told of a thread that it is about to hold.
#[derive(Clone, Copy, Debug)]
pub(super) enum Said {
    Entered(Syscall),
    Returned {
        syscall: Syscall,
        result: i64,
        /// Whether a handler of a signal runs before the call is made once more.
        is_handled: bool,
    },
    Signal(SignalInfo),
    /// The watchpoint's number in the channel.
    Watched(u64),
}

/// A system call that a thread is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) pid: Pid,
    pub(super) syscall: Syscall,
    /// The kernel makes it once more, without another event.
    pub(super) is_interrupted: bool,
}

/// The system call that the kernel tells of, if it is of a known architecture.
pub(super) fn syscall(number: u64, machine: u64, arguments: &[u8]) -> Option<Syscall> {
    let arch = MACHINES.iter().find(|(known, _)| *known == machine)?.1;
    let mut words = wire::blob::words(arguments).ok()?;
    Some(Syscall { number, arch, arguments: std::array::from_fn(|_| words.next().unwrap_or(0)) })
}

/// The signal that the kernel tells of.
pub(super) fn signal_info(info: &[u8]) -> SignalInfo {
    let mut raw = [0; 128];
    raw.iter_mut().zip(info).for_each(|(to, from)| *to = *from);
    SignalInfo::parse(&raw)
}

/// The call that a thread begins, and its events. `before` is the call in which the thread was.
///
/// The kernel tells at the end of an interrupted call whether the handler of a signal is due. A signal that comes after that has its handler run,
/// too. If so, another call than the interrupted one begins, and the end of the interrupted one is told first.
pub(super) fn begin(pid: Pid, syscall: Syscall, before: Option<Call>) -> (Call, VecDeque<EventKind>) {
    let call = Call { pid, syscall, is_interrupted: false };
    let entered = EventKind::SyscallEntered(syscall);
    match before.filter(|before| before.is_interrupted) {
        Some(before) if continues(&syscall, &before.syscall) => {
            (Call { is_interrupted: false, ..before }, VecDeque::new())
        }
        Some(Call { syscall: Syscall { number, arch, .. }, .. }) => {
            let returned = SyscallReturn { number, arch, result: SyscallResult::Interrupted };
            (call, [EventKind::SyscallReturned(returned), entered].into())
        }
        None => (call, [entered].into()),
    }
}

/// Whether a call continues an interrupted one.
fn continues(syscall: &Syscall, interrupted: &Syscall) -> bool {
    syscall == interrupted || RESTARTS.contains(&(syscall.arch, syscall.number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_continues_an_interrupted_one_if_it_is_the_same_or_asks_for_that() {
        let read = syscall(0, 62, &[7u64; 6].map(u64::to_ne_bytes).concat()).unwrap();
        assert_eq!((read.arch, read.arguments), (Arch::X86_64, [7; 6]));
        assert!(continues(&read, &read) && continues(&Syscall { number: 219, ..read }, &read));
        assert!(!continues(&Syscall { number: 1, ..read }, &read));
        assert_eq!(syscall(0, 1, &[]), None, "no architecture has number 1");
    }

    #[test]
    fn a_call_before_that_a_late_handler_interrupted_has_ended_when_another_begins() {
        let call = |number| syscall(number, 62, &[0; 48]).unwrap();
        let (futex, sigreturn) = (call(202), call(15));
        let begin = |syscall, is_interrupted| {
            let (call, events) = begin(Pid(1), syscall, Some(Call { pid: Pid(1), syscall: futex, is_interrupted }));
            assert!(!call.is_interrupted);
            (call.syscall, events)
        };
        let result = SyscallResult::Interrupted;
        let ended = EventKind::SyscallReturned(SyscallReturn { number: 202, arch: Arch::X86_64, result });
        assert_eq!(begin(sigreturn, true), (sigreturn, [ended, EventKind::SyscallEntered(sigreturn)].into()));
        assert_eq!(begin(futex, true), (futex, VecDeque::new()));
        assert_eq!(begin(sigreturn, false), (sigreturn, [EventKind::SyscallEntered(sigreturn)].into()));
    }
}
