//! Memory that a debuggee and the tracer share.

use std::fs::{File, OpenOptions};

use super::super::arch;
use super::super::reports::Reports;
use super::super::tracees::Tracees;
use super::Remote;
use super::mapping::NO_REPLACE;
use crate::descriptors::open_by_reserve;
use crate::{Result, Tid};

/// Maps a new file of zeroes at `start` by a stopped thread, and returns it. `name` is the address of an empty string in the debuggee. `replaces`:
/// another mapping lies there already. `None`: that was not possible.
pub(in crate::ptrace) fn map_counters_at(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    (start, size): (u64, u64),
    name: u64,
    replaces: bool,
) -> Result<Option<File>> {
    let calls = arch::calls(tracees.space_at(tid)?.arch);
    let mut remote = Remote::borrow_thread(tracees, reports, tid)?;
    let number = remote
        .make_syscall(calls.memfd_create, [name, u64::from(libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING), 0, 0, 0, 0])?;
    if number < 0 {
        remote.finish()?;
        return Ok(None);
    }
    // Only the tracer can open the file once more, by the descriptor of the stopped thread.
    let path = format!("/proc/{tid}/fd/{number}");
    let file = open_by_reserve(|| OpenOptions::new().read(true).write(true).open(&path));
    let file = file.and_then(|file| file.set_len(size).map(|()| file)).ok();
    let mut is_mapped = false;
    if file.is_some() {
        let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let fixed = if replaces { libc::MAP_FIXED as u64 } else { NO_REPLACE };
        let flags = libc::MAP_SHARED as u64 | fixed;
        let result = remote.make_syscall(calls.mmap, [start, size, protection, flags, number as u64, 0])?;
        is_mapped = result as u64 == start;
        if !is_mapped && result > 0 {
            remote.make_syscall(calls.munmap, [result as u64, size, 0, 0, 0, 0])?;
        }
    }
    remote.make_syscall(calls.close, [number as u64, 0, 0, 0, 0, 0])?;
    remote.finish()?;
    Ok(file.filter(|_| is_mapped))
}
