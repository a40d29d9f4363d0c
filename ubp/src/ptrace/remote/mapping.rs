//! Mappings of the tracer's in a debuggee.

use super::super::arch;
use super::super::reports::Reports;
use super::super::sys::is_gone;
use super::super::tracees::Tracees;
use super::Remote;
use crate::{Arch, Error, Result, Tid};

/// `MAP_FIXED_NOREPLACE` (asm-generic/mman-common.h); kernels before 4.17 take the address as a hint.
pub(super) const NO_REPLACE: u64 = 0x10_0000;

/// Maps memory for storage at `start` by a stopped thread; `guarded` asks for guarded pages. Returns whether that was possible.
pub(in crate::ptrace) fn map_storage_at(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    (start, size): (u64, u64),
    guarded: bool,
) -> Result<bool> {
    let kind = tracees.space_at(tid)?.arch;
    let calls = arch::calls(kind);
    let guard = if guarded { arch::GUARDED } else { 0 };
    let protection = (libc::PROT_READ | libc::PROT_EXEC | guard) as u64;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64 | NO_REPLACE;
    let mut remote = Remote::borrow_thread(tracees, reports, tid)?;
    let result = remote.make_syscall(calls.mmap, [start, size, protection, flags, u64::MAX, 0])?;
    let result = if kind == Arch::I386 { i64::from(result as u32) } else { result };
    let is_mapped = result as u64 == start;
    if !is_mapped && result > 0 && (result as u64) < u64::MAX - 4095 && result % 4096 == 0 {
        remote.make_syscall(calls.munmap, [result as u64, size, 0, 0, 0, 0])?;
    }
    remote.finish()?;
    Ok(is_mapped)
}

/// Unmaps memory by one of these stopped threads. Where each has ended, or seccomp(2) forbids it, the memory stays mapped, and nothing leads there.
pub(in crate::ptrace) fn unmap_by_any(
    tracees: &mut Tracees,
    reports: &mut Reports,
    threads: &[Tid],
    range: (u64, u64),
) -> Result<()> {
    for &tid in threads {
        match unmap(tracees, reports, tid, range) {
            Err(error) if is_gone(&error) => continue,
            Err(Error::Confined(_)) => continue,
            other => return other,
        }
    }
    Ok(())
}

/// Unmaps memory by a stopped thread.
pub(in crate::ptrace) fn unmap(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    (start, size): (u64, u64),
) -> Result<()> {
    let munmap = arch::calls(tracees.space_at(tid)?.arch).munmap;
    super::syscall_by(tracees, reports, tid, munmap, [start, size, 0, 0, 0, 0]).map(drop)
}
