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
use crate::process::read_maps;
use crate::{Pid, Result, Tid};

/// Prepares a new program, whose only thread is stopped before the first instruction.
pub(in crate::ptrace) fn watch_program(tracees: &mut Tracees, reports: &mut Reports, tid: Tid) -> Result<()> {
    let pid = tracees.thread(tid)?.pid;
    let maps = read_maps(pid)?;
    let memory = &tracees.space_of(pid)?.memory;
    let words = |at, width| memory.read_word(at, width);
    let (loader, loads) = Loader::start(&maps, &tracees.debuggee(pid)?.process, &words);
    let debuggee = tracees.debuggee_mut(pid)?;
    debuggee.loader = loader;
    let auxv = &debuggee.process.auxv;
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
    let mut loader = tracees.debuggee(pid)?.loader.clone();
    let memory = &tracees.space_of(pid)?.memory;
    let function = loader.find(&maps, &tracees.debuggee(pid)?.process, &|at, width| memory.read_word(at, width));
    tracees.debuggee_mut(pid)?.loader = loader;
    Ok(function)
}

/// Looks at the code that a stopped thread, the loader's, mapped or made executable. Returns whether code changed.
pub(in crate::ptrace) fn look_at_mapped(tracees: &mut Tracees, reports: &mut Reports, tid: Tid) -> Result<bool> {
    let pid = tracees.thread(tid)?.pid;
    let maps = read_maps(pid)?;
    follow_guards(tracees, reports, tid, &maps)?;
    if !tracees.debuggee_mut(pid)?.loader.changed(&maps) {
        return Ok(false);
    }
    let mut loader = tracees.debuggee(pid)?.loader.clone();
    let memory = &tracees.space_of(pid)?.memory;
    let entry = loader.entry(&maps, &tracees.debuggee(pid)?.process, &|at, width| memory.read_word(at, width));
    if let Some(entry) = entry {
        tracees.debuggee_mut(pid)?.loader = loader;
        insert_internal_by(tracees, reports, tid, entry, Internal::Entry)?;
    }
    Ok(true)
}

/// Handles a thread at a breakpoint of the tracer's own, whose pc is at the site. Returns whether code was mapped or unmapped.
pub(in crate::ptrace) fn at_internal(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    site: u64,
    internal: Internal,
) -> Result<bool> {
    let pid = tracees.thread(tid)?.pid;
    match internal {
        Internal::Entry => {
            tracees.thread_mut(tid)?.loading = false;
            remove_internal(tracees, pid, site)?;
            if let Some(function) = loader_function(tracees, pid)? {
                insert_internal_by(tracees, reports, tid, function, Internal::Loader)?;
            }
            Ok(false)
        }
        Internal::Loader => {
            let debuggee = tracees.debuggee(pid)?;
            let memory = &tracees.space_of(pid)?.memory;
            if !debuggee.loader.is_consistent(&debuggee.process, &|at, width| memory.read_word(at, width)) {
                return Ok(false);
            }
            let maps = read_maps(pid)?;
            if !tracees.debuggee_mut(pid)?.loader.changed(&maps) {
                return Ok(false);
            }
            tracees.space_of_mut(pid)?.drop_unmapped(&maps);
            Ok(true)
        }
    }
}
