//! What the kernel tells of a thread beside hits: system calls, signals and accesses.

use crate::{Arch, Pid, SignalInfo, Syscall};

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

/// Whether a call continues an interrupted one.
pub(super) fn continues(syscall: &Syscall, interrupted: &Syscall) -> bool {
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
}
