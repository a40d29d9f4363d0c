//! Why a signal was sent.

use crate::{Address, Pid, Signal};

/// `si_code` values of the kernel (asm-generic/siginfo.h).
mod code {
    pub(super) const QUEUE: i32 = -1;
    pub(super) const TIMER: i32 = -2;
    pub(super) const MESGQ: i32 = -3;
    pub(super) const ASYNCIO: i32 = -4;
    pub(super) const SIGIO: i32 = -5;
    pub(super) const USER: i32 = 0;
    pub(super) const KERNEL: i32 = 0x80;
}

/// Offsets in the kernel's `siginfo_t` of a 64-bit tracer: the fields behind `si_code`, and behind the first two of them.
const FIRST: usize = 16;
const SECOND: usize = 20;
const THIRD: usize = 24;
const FOURTH: usize = 28;

/// A signal with what the kernel says about its origin (`siginfo_t`, sigaction(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignalInfo {
    /// The signal.
    pub signal: Signal,
    /// `si_code`: the exact reason, whose meaning depends on the signal (sigaction(2)).
    pub code: i32,
    /// The origin of the signal.
    pub origin: Origin,
}

/// The origin of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The kernel, without details.
    Kernel,
    /// A process, by kill(2), tgkill(2) or sigqueue(3), or a message queue or I/O that it started.
    Process {
        /// The sender; 0 if the debuggee cannot see it.
        pid: Pid,
        /// The sender's real user id.
        uid: u32,
        /// The value that came with the signal (`si_value`); `None` for kill(2) and tgkill(2).
        value: Option<u64>,
    },
    /// A timer of timer_create(2).
    Timer {
        /// The kernel's number of the timer.
        id: i32,
        /// The number of further expirations.
        overrun: i32,
        /// The value that came with the signal (`si_value`).
        value: u64,
    },
    /// An instruction of the thread.
    Fault {
        /// The address that was accessed, or the instruction for `SIGILL`, `SIGFPE` and `SIGTRAP`.
        address: Address,
    },
    /// A child that ended, stopped or continued.
    Child {
        /// The child.
        pid: Pid,
        /// The child's real user id.
        uid: u32,
        /// The exit status, or the signal that ended or stopped the child.
        status: i32,
    },
    /// A file descriptor that is ready (fcntl(2), `F_SETSIG`).
    Descriptor {
        /// The descriptor.
        descriptor: i32,
        /// Its events, as in poll(2).
        band: i64,
    },
    /// A system call that a seccomp(2) filter refused.
    Seccomp {
        /// The address behind the system call instruction.
        address: Address,
        /// The number of the system call.
        number: i32,
        /// The architecture of the system call (`AUDIT_ARCH_…`, linux/audit.h).
        arch: u32,
    },
}

impl SignalInfo {
    /// Reads the kernel's 128 bytes (`siginfo_layout` in kernel/signal.c says which fields are valid).
    pub(crate) fn parse(raw: &[u8; 128]) -> SignalInfo {
        let word = |at: usize| raw.get(at..at + 4).and_then(|raw| raw.try_into().ok()).map_or(0, i32::from_ne_bytes);
        let long = |at: usize| raw.get(at..at + 8).and_then(|raw| raw.try_into().ok()).map_or(0, u64::from_ne_bytes);
        let (signal, code) = (word(0), word(8));
        let (pid, uid) = (Pid(word(FIRST)), word(SECOND) as u32);
        let address = Address(long(FIRST));
        let descriptor = Origin::Descriptor { descriptor: word(THIRD), band: long(FIRST) as i64 };
        let origin = match (code, signal) {
            (code::KERNEL, _) => Origin::Kernel,
            (code::TIMER, _) => Origin::Timer { id: word(FIRST), overrun: word(SECOND), value: long(THIRD) },
            (code::SIGIO, _) => descriptor,
            (code::QUEUE | code::MESGQ | code::ASYNCIO, _) => Origin::Process { pid, uid, value: Some(long(THIRD)) },
            (..=code::USER, _) => Origin::Process { pid, uid, value: None },
            (_, libc::SIGCHLD) => Origin::Child { pid, uid, status: word(THIRD) },
            (_, libc::SIGSYS) => Origin::Seccomp { address, number: word(THIRD), arch: word(FOURTH) as u32 },
            (_, libc::SIGILL | libc::SIGFPE | libc::SIGSEGV | libc::SIGBUS | libc::SIGTRAP) => {
                Origin::Fault { address }
            }
            _ => descriptor,
        };
        SignalInfo { signal: Signal(signal), code, origin }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `siginfo_t` of 32-bit words at their offsets.
    fn parsed(signal: i32, code: i32, words: [i32; 4]) -> Origin {
        let mut raw = [0; 128];
        let [a, b, c, d] = words;
        for (at, word) in [(0, signal), (8, code), (16, a), (20, b), (24, c), (28, d)] {
            raw[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        let info = SignalInfo::parse(&raw);
        assert_eq!((info.signal, info.code), (Signal(signal), code));
        info.origin
    }

    #[test]
    fn the_code_decides_which_fields_are_valid() {
        let (pid, uid) = (Pid(7), 1000);
        assert_eq!(parsed(10, 0, [7, 1000, 5, 0]), Origin::Process { pid, uid, value: None });
        assert_eq!(parsed(10, -6, [7, 1000, 5, 0]), Origin::Process { pid, uid, value: None });
        assert_eq!(parsed(10, -1, [7, 1000, 5, 0]), Origin::Process { pid, uid, value: Some(5) });
        assert_eq!(parsed(14, -2, [3, 2, 5, 0]), Origin::Timer { id: 3, overrun: 2, value: 5 });
        assert_eq!(parsed(17, 1, [7, 1000, 42, 0]), Origin::Child { pid, uid, status: 42 });
        assert_eq!(parsed(11, 1, [0x1000, 0, 9, 0]), Origin::Fault { address: Address(0x1000) });
        assert_eq!(parsed(11, 0x80, [0x1000, 0, 9, 0]), Origin::Kernel);
        assert_eq!(parsed(29, 1, [65, 0, 4, 0]), Origin::Descriptor { descriptor: 4, band: 65 });
        let address = Address(0x1000);
        assert_eq!(parsed(31, 1, [0x1000, 0, 59, 62]), Origin::Seccomp { address, number: 59, arch: 62 });
    }
}
