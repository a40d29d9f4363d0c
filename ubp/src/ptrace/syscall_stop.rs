//! What the kernel says about a syscall-stop (`PTRACE_GET_SYSCALL_INFO`, ptrace(2)).

use libc::c_uint;

use super::sys::ptrace;
use crate::{Arch, Result, Syscall, SyscallResult, Tid};

const PTRACE_GET_SYSCALL_INFO: c_uint = 0x420e;
/// The size of `struct ptrace_syscall_info` (linux/ptrace.h) as far as it is read.
const SIZE: usize = 80;
/// `PTRACE_SYSCALL_INFO_ENTRY` and `PTRACE_SYSCALL_INFO_EXIT`.
const ENTRY: u8 = 1;
const EXIT: u8 = 2;

/// `AUDIT_ARCH_…` (linux/audit.h) of the architectures whose system calls a debuggee can make.
const ARCHITECTURES: [(u32, Arch); 3] =
    [(0xc000_003e, Arch::X86_64), (0x4000_0003, Arch::I386), (0xc000_00b7, Arch::Arm64)];

/// The beginning or the end of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyscallStop {
    Entry(Syscall),
    Exit(SyscallResult),
}

/// Asks the kernel about a thread in a syscall-stop; `None`: it is in another stop, or the call is of an unknown architecture.
pub(super) fn syscall_stop(tid: Tid) -> Result<Option<SyscallStop>> {
    let mut raw = [0; SIZE];
    ptrace(PTRACE_GET_SYSCALL_INFO, "PTRACE_GET_SYSCALL_INFO", tid, SIZE, raw.as_mut_ptr() as usize)?;
    Ok(parse(&raw))
}

fn parse(raw: &[u8; SIZE]) -> Option<SyscallStop> {
    let words = |at: usize| raw.get(at..at + 8).and_then(|raw| raw.try_into().ok()).map_or(0, u64::from_ne_bytes);
    match raw.first() {
        Some(&ENTRY) => {
            let kind = u32::from_ne_bytes([raw[4], raw[5], raw[6], raw[7]]);
            let arch = ARCHITECTURES.iter().find(|known| known.0 == kind)?.1;
            let arguments = std::array::from_fn(|argument| words(32 + 8 * argument));
            Some(SyscallStop::Entry(Syscall { number: words(24), arguments, arch }))
        }
        Some(&EXIT) => Some(SyscallStop::Exit(SyscallResult::new(words(24) as i64, raw[32] != 0))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_exits_are_told_apart() {
        let mut raw = [0; SIZE];
        assert_eq!(parse(&raw), None);
        raw[0] = EXIT;
        raw[24..32].copy_from_slice(&(-2_i64).to_ne_bytes());
        raw[32] = 1;
        assert_eq!(parse(&raw), Some(SyscallStop::Exit(SyscallResult::Error(2))));
        raw[0] = ENTRY;
        assert_eq!(parse(&raw), None, "no architecture has number 0");
        raw[4..8].copy_from_slice(&0x4000_0003_u32.to_ne_bytes());
        raw[24..32].copy_from_slice(&5_u64.to_ne_bytes());
        raw[32..40].copy_from_slice(&7_u64.to_ne_bytes());
        let arguments = [7, 0, 0, 0, 0, 0];
        assert_eq!(parse(&raw), Some(SyscallStop::Entry(Syscall { number: 5, arguments, arch: Arch::I386 })));
    }
}
