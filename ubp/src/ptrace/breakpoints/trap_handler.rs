//! The handler of `SIGTRAP` in a process that outlives the tracer. Its code lies in a page of the debuggee.
//!
//! While the tracer lives it sees every `SIGTRAP` first, and the handler never runs. After the tracer was killed, a thread that
//! runs into a breakpoint instruction enters the handler. The handler finds the site in the arenas, puts the original bytes
//! back through /proc/self/mem and lets the thread execute its instruction; a thread that ran into the end of a slot continues
//! behind the instruction. For any other `SIGTRAP` the handler resets the signal to its default action and raises it again.
//!
//! A program that handles or ignores `SIGTRAP` keeps its action, and has no such handler.

use super::super::arch;
use super::super::remote::{Remote, map_storage_at, syscall_by, unmap_by_any};
use super::super::reports::Reports;
use super::super::space::page::{DATA, DEFAULT, SIZE};
use super::super::space::{Space, mapping_at, room};
use super::super::status::{self, Disposition, Status};
use super::super::sys::is_gone;
use super::super::thread::{Stop, Thread};
use super::super::tracees::{Debuggee, SpaceId, Tracees, TrapAction};
use crate::process::read_maps;
use crate::{Address, Error, Mapping, Pid, Result, Signal, Tid};

/// Bytes of the kernel's signal sets.
const SET: u64 = 8;
/// The size of the largest `struct sigaction` of the kernel.
const ACTION: usize = 32;
/// How far below a thread's stack pointer the kernel writes an action: behind what the thread itself and [`arch::way_back`]
/// need.
const BELOW: u64 = 1024;
/// The number of addresses that are tried for the page.
const PLACES: usize = 24;
const TRAP: Signal = Signal(libc::SIGTRAP);

/// The processes in the memory of `pid` that outlive the tracer and have no handler.
pub(in crate::ptrace) fn processes_without_handler(tracees: &Tracees, pid: Pid) -> Result<Vec<Pid>> {
    let space = tracees.debuggee(pid)?.space;
    let lacking = |debuggee: &&Debuggee| {
        let lacks = matches!(debuggee.trap_action, TrapAction::Unknown | TrapAction::Reset);
        debuggee.space == space && !debuggee.exit_kill && lacks
    };
    Ok(tracees.debuggees.values().filter(lacking).map(|debuggee| debuggee.process.pid).collect())
}

/// Whether a thread, if it is stopped, can install the handler in its process.
pub(in crate::ptrace) fn can_install(thread: &Thread, pid: Pid) -> bool {
    thread.pid == pid && !thread.vforking
}

/// Installs the handler in every process of the memory that lacks it and has a stopped thread. A process without such a thread
/// gets the handler before its threads continue from a stop ([`reinstall`]).
pub(in crate::ptrace) fn install_everywhere(tracees: &mut Tracees, reports: &mut Reports, pid: Pid) -> Result<()> {
    let space = tracees.debuggee(pid)?.space;
    for other in processes_without_handler(tracees, pid)? {
        let can = |tid: &Tid| {
            tracees.threads.get(tid).is_some_and(|thread| can_install(thread, other) && !thread.is_in_call())
        };
        if let Some(tid) = tracees.stopped_threads(space).into_iter().find(can) {
            // A process that cannot have a handler does without.
            let _ = install_by(tracees, reports, tid, other);
        }
    }
    tracees.debuggee(pid).map(drop)
}

fn install_by(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, pid: Pid) -> Result<()> {
    if Status::read(tid)?.disposition(TRAP) != Disposition::Fatal {
        // The handler of a tracer that was killed serves as well.
        let ours = is_handler_ours(tracees, reports, tid, pid)?;
        tracees.debuggee_mut(pid)?.trap_action = if ours { TrapAction::Ours } else { TrapAction::Programs };
        return Ok(());
    }
    let page = match tracees.space_of(pid)?.trap_handler {
        Some(page) => page,
        None => map_page(tracees, reports, tid, pid)?,
    };
    let number = arch::handler_code(tracees.space_of(pid)?.arch).sigaction;
    let arguments = [libc::SIGTRAP as u64, page + DATA, 0, SET, 0, 0];
    if syscall_by(tracees, reports, tid, number, arguments)? == 0 {
        tracees.debuggee_mut(pid)?.trap_action = TrapAction::Ours;
    }
    Ok(())
}

/// Maps the page by a stopped thread.
fn map_page(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, pid: Pid) -> Result<u64> {
    let maps = read_maps(pid)?;
    let heap = status::heap_start(pid)?;
    let kind = tracees.space_of(pid)?.arch;
    let low = maps.iter().find(|mapping| mapping.execute).map_or(0, |mapping| mapping.start.0);
    for start in room::anywhere(&maps, heap, kind, SIZE, low, low).into_iter().take(PLACES) {
        if map_storage_at(tracees, reports, tid, (start, SIZE.next_multiple_of(arch::PAGE)), false)? {
            let space = tracees.space_of_mut(pid)?;
            let page = arch::handler_code(kind).page(start, kind);
            if space.memory.write(start, &page) != page.len() {
                break;
            }
            space.trap_handler = Some(start);
            space.list_arenas();
            tracees.hide_storage(pid)?;
            return Ok(start);
        }
    }
    Err(Error::NoRoom { pid, near: Address(low) })
}

/// Gives a forked child the page that it lacks, or has without its content, because the parent's was made while the kernel copied
/// the memory. The child is stopped and has not run yet. Where something else lies there, the child gets a page of its own with
/// the handler.
pub(in crate::ptrace) fn complete_page(tracees: &mut Tracees, reports: &mut Reports, child: Pid) -> Result<()> {
    let space = tracees.space_of(child)?;
    let Some(start) = space.trap_handler else { return Ok(()) };
    let page = arch::handler_code(space.arch).page(start, space.arch);
    let is_there = |space: &Space| {
        let mut bytes = vec![0; page.len()];
        space.memory.read(start, &mut bytes) == bytes.len() && bytes == page
    };
    if is_there(space) {
        return Ok(());
    }
    let is_mapped = mapping_at(&read_maps(child)?, start).is_some_and(is_storage)
        || map_storage_at(tracees, reports, child.leader(), (start, SIZE.next_multiple_of(arch::PAGE)), false)?;
    let space = tracees.space_of_mut(child)?;
    if !is_mapped || space.memory.write(start, &page) != page.len() {
        space.trap_handler = None;
    }
    space.list_arenas();
    Ok(())
}

/// Whether a mapping may be one of a tracer's.
pub(in crate::ptrace) fn is_storage(mapping: &Mapping) -> bool {
    mapping.execute && mapping.read && !mapping.write && !mapping.shared && mapping.path.is_none()
}

/// Resets `SIGTRAP` to its default action in a process, by a stopped thread of it, unless the program has set an action.
pub(in crate::ptrace) fn withdraw(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, pid: Pid) -> Result<()> {
    let was = std::mem::replace(&mut tracees.debuggee_mut(pid)?.trap_action, TrapAction::Programs);
    if was == TrapAction::Programs || !is_handler_ours(tracees, reports, tid, pid)? {
        return Ok(());
    }
    let space = tracees.space_of(pid)?;
    let (page, number) = (space.trap_handler.unwrap_or(0), arch::handler_code(space.arch).sigaction);
    let arguments = [libc::SIGTRAP as u64, page + DATA + DEFAULT, 0, SET, 0, 0];
    syscall_by(tracees, reports, tid, number, arguments).map(drop)
}

/// Asks the kernel whether the action of `SIGTRAP` is the handler of the page.
fn is_handler_ours(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, pid: Pid) -> Result<bool> {
    if Status::read(tid)?.disposition(TRAP) != Disposition::Caught {
        return Ok(false);
    }
    let at = (crate::arch::sp(&arch::read(tid)?).wrapping_sub(BELOW)) & !15;
    let space = tracees.space_of(pid)?;
    let (page, width) = (space.trap_handler, space.arch.width());
    let number = arch::handler_code(space.arch).sigaction;
    let Some(before) = space.memory.read_array::<ACTION>(at) else { return Ok(false) };
    let mut remote = Remote::borrow_thread(tracees, reports, tid)?;
    let result = remote.make_syscall(number, [libc::SIGTRAP as u64, 0, at, SET, 0, 0])?;
    remote.finish()?;
    let space = tracees.space_of(pid)?;
    let handler = space.memory.read_word(at, width);
    space.memory.write(at, &before);
    Ok(result == 0 && page.is_some() && handler == page)
}

/// Takes the handler out of the processes in a memory whose threads are stopped.
pub(in crate::ptrace) fn withdraw_everywhere(
    tracees: &mut Tracees,
    reports: &mut Reports,
    space: SpaceId,
) -> Result<()> {
    for pid in tracees.processes_in(space) {
        let belongs = |tid: &Tid| tracees.threads.get(tid).is_some_and(|thread| thread.pid == pid);
        if let Some(tid) = tracees.stopped_threads(space).into_iter().find(belongs) {
            withdraw(tracees, reports, tid, pid)?;
        }
    }
    Ok(())
}

/// Whether a stopped thread runs the handler, which may need the arenas as well.
pub(in crate::ptrace) fn is_handler_running(tracees: &Tracees, space: SpaceId) -> bool {
    let Some(page) = tracees.spaces.get(&space).and_then(|space| space.trap_handler) else { return false };
    let is_inside = |tid: Tid| arch::pc(tid).is_ok_and(|pc| pc.wrapping_sub(page) < SIZE);
    tracees.stopped_threads(space).into_iter().any(is_inside)
}

/// Unmaps the page when nothing leads to it any more.
pub(in crate::ptrace) fn unmap_page(tracees: &mut Tracees, reports: &mut Reports, space: SpaceId) -> Result<()> {
    let Some(page) = tracees.spaces.get_mut(&space).and_then(|space| space.trap_handler.take()) else { return Ok(()) };
    let threads = tracees.stopped_threads(space);
    unmap_by_any(tracees, reports, &threads, (page, SIZE.next_multiple_of(arch::PAGE)))
}

/// The action for `SIGTRAP` that a new process has from its maker.
pub(in crate::ptrace) fn inherited_action(tracees: &Tracees, maker: Pid, child: Pid) -> TrapAction {
    let action = tracees.debuggees.get(&maker).map_or(TrapAction::Unknown, |debuggee| debuggee.trap_action);
    let catches = || Status::read(child.leader()).is_ok_and(|status| status.disposition(TRAP) == Disposition::Caught);
    // The child may be older than the handler.
    if action == TrapAction::Ours && !catches() { TrapAction::Unknown } else { action }
}

/// Notes that the kernel reset the action, because a thread that blocks `SIGTRAP` ran into a breakpoint instruction.
pub(in crate::ptrace) fn note_reset(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    let pid = tracees.thread(tid)?.pid;
    let action = &mut tracees.debuggee_mut(pid)?.trap_action;
    if *action == TrapAction::Ours {
        *action = TrapAction::Reset;
    }
    Ok(())
}

/// Installs the handler by a stopped thread that is about to run, where the kernel reset it or nobody could install it before.
pub(in crate::ptrace) fn reinstall(tracees: &mut Tracees, reports: &mut Reports, tid: Tid) -> Result<()> {
    let thread = tracees.thread(tid)?;
    let (pid, can) = (thread.pid, matches!(thread.stop(), Some(Stop::Event | Stop::Trap)));
    let debuggee = tracees.debuggee(pid)?;
    let lacks = matches!(debuggee.trap_action, TrapAction::Unknown | TrapAction::Reset) && !debuggee.exit_kill;
    if !can || !lacks || tracees.space_of(pid)?.trap_handler.is_none() {
        return Ok(());
    }
    match install_by(tracees, reports, tid, pid) {
        Err(error) if is_gone(&error) => Err(error),
        Ok(()) if tracees.debuggee(pid)?.trap_action != TrapAction::Unknown => Ok(()),
        // One attempt is enough: not every stop tries again.
        _ => {
            tracees.debuggee_mut(pid)?.trap_action = TrapAction::Programs;
            Ok(())
        }
    }
}
