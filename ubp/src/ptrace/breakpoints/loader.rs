//! The dynamic loader: the user learns about libraries before any of their code runs.
//!
//! From exec to the program's entry point the tracer looks at every system call that maps code. Afterwards a breakpoint stands
//! on the function that the loader calls for debuggers whenever its list of libraries changes (`r_brk` of `struct r_debug`,
//! link.h).

use super::super::reports::Reports;
use super::super::space::Internal;
use super::super::tracees::Tracees;
use super::sites::{follow_guards, insert_internal_by, remove_internal};
use crate::loader::Loader;
use crate::memory::Read;
use crate::process::read_maps;
use crate::{Error, EventKind, Pid, Process, Result, Tid};

/// Prepares a new program, whose only thread is stopped before the first instruction.
pub(in crate::ptrace) fn watch_program(tracees: &mut Tracees, reports: &mut Reports, tid: Tid) -> Result<()> {
    let pid = tracees.thread(tid)?.pid;
    let maps = read_maps(pid)?;
    let start = |loader: &mut Loader, process: &Process, read: &Read<'_>| {
        let (new, loads) = Loader::start(&maps, process, read);
        *loader = new;
        loads
    };
    let loads = with_loader(tracees, pid, start)?;
    let auxv = &tracees.debuggee(pid)?.process.auxv;
    let entry = auxv.entry().filter(|_| auxv.base().is_some());
    tracees.thread_mut(tid)?.loading = loads;
    match entry {
        Some(entry) => insert_internal_by(tracees, reports, tid, entry.0, Internal::Entry),
        None => Ok(()),
    }
}

/// The loader's function for debuggers in a process that has started already.
pub(in crate::ptrace) fn loader_function(tracees: &mut Tracees, pid: Pid) -> Result<Option<u64>> {
    let maps = read_maps(pid)?;
    with_loader(tracees, pid, |loader, process, read| loader.find(&maps, process, read))
}

/// Looks at the code that a stopped thread, the loader's, mapped or made executable. Returns what changed.
pub(in crate::ptrace) fn look_at_mapped(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
) -> Result<Option<EventKind>> {
    let pid = tracees.thread(tid)?.pid;
    let maps = read_maps(pid)?;
    follow_guards(tracees, reports, tid, &maps)?;
    let look = |loader: &mut Loader, process: &Process, read: &Read<'_>| {
        let change = loader.change(&maps, read)?;
        Some((change, loader.entry(&maps, process, read)))
    };
    let Some((change, entry)) = with_loader(tracees, pid, look)? else { return Ok(None) };
    if let Some(entry) = entry {
        insert_internal_by(tracees, reports, tid, entry, Internal::Entry)?;
    }
    Ok(Some(change))
}

/// Handles a thread at a breakpoint of the tracer's own, whose pc is at the site. Returns what the loader has mapped and unmapped.
pub(in crate::ptrace) fn at_internal(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    site: u64,
    internal: Internal,
) -> Result<Option<EventKind>> {
    let pid = tracees.thread(tid)?.pid;
    match internal {
        Internal::Entry => {
            tracees.thread_mut(tid)?.loading = false;
            remove_internal(tracees, pid, site)?;
            if let Some(function) = loader_function(tracees, pid)? {
                insert_internal_by(tracees, reports, tid, function, Internal::Loader)?;
            }
            Ok(None)
        }
        Internal::Loader => {
            if !with_loader(tracees, pid, |loader, process, read| loader.is_consistent(process, read))? {
                return Ok(None);
            }
            let maps = read_maps(pid)?;
            let change = with_loader(tracees, pid, |loader, _, read| loader.change(&maps, read))?;
            if change.is_some() {
                tracees.space_of_mut(pid)?.drop_unmapped(&maps);
            }
            Ok(change)
        }
    }
}

/// Runs `f` with what is known of a process's loader, with the process, and with its memory.
fn with_loader<T>(tracees: &mut Tracees, pid: Pid, f: impl FnOnce(&mut Loader, &Process, &Read<'_>) -> T) -> Result<T> {
    let Tracees { debuggees, spaces, .. } = tracees;
    let debuggee = debuggees.get_mut(&pid).ok_or(Error::NoSuchProcess(pid))?;
    let memory = &spaces.get(&debuggee.space).ok_or(Error::NoSuchProcess(pid))?.memory;
    Ok(f(&mut debuggee.loader, &debuggee.process, &|at, buffer| memory.read(at, buffer)))
}
