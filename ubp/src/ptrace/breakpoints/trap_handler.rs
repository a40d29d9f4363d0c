//! The handlers of signals of breakpoints in a process that outlives the tracer. Their code lies in a page of the debuggee.
//!
//! While the tracer lives it sees every such signal first, and the handlers never run for one of ours. After the tracer was killed, a thread
//! that runs into a breakpoint instruction enters the handler of `SIGTRAP`. The handler finds the site in the arenas, puts the original bytes
//! back through /proc/self/mem and lets the thread execute its instruction; a thread that ran into the end of a slot continues
//! behind the instruction. A thread that branches into the bytes of a jump continues in the slot of their entry; the last of these bytes
//! raises `SIGILL` where no memory is free at a distance whose bytes all raise `SIGTRAP`. Code of a jump that cannot read the program's memory
//! raises `SIGSEGV` or `SIGBUS`, and continues without that memory.
//!
//! For any other signal, the handler resets the signal to its default action and raises it again. Where the program of x86-64 handles the
//! signal, our handler has the flags of the program's, and jumps to it with its mask. A program that ignores `SIGTRAP`, or that has a handler
//! in another architecture, keeps its action.

use super::super::arch;
use super::super::remote::{Remote, map_storage_at, syscall_by, unmap_by_any};
use super::super::reports::Reports;
use super::super::space::page::{Handled, SIZE, SignalAction};
use super::super::space::{Space, mapping_at, room};
use super::super::status::{self, Disposition, Status};
use super::super::sys::is_gone;
use super::super::thread::{Stop, Thread};
use super::super::tracees::{Action, Actions, Debuggee, SpaceId, Tracees};
use crate::process::read_maps;
use crate::{Address, Error, Mapping, Pid, Result, Tid};

/// Bytes of the kernel's signal sets.
const SET: u64 = 8;
/// The size of the largest `struct sigaction` of the kernel.
const ACTION: usize = 32;
/// How far below a thread's stack pointer the kernel writes an action: behind what the thread itself and [`arch::way_back`]
/// need.
const BELOW: u64 = 1024;
/// The number of addresses that are tried for the page.
const PLACES: usize = 24;
/// How often the handler is installed where the program changes its action at the same time.
const MOST_CHANGES: usize = 4;

/// The processes in the memory of `pid` that outlive the tracer and lack a handler.
pub(in crate::ptrace) fn processes_without_handler(tracees: &Tracees, pid: Pid) -> Result<Vec<Pid>> {
    let space = tracees.debuggee(pid)?.space;
    let lacking =
        |debuggee: &&Debuggee| debuggee.space == space && !debuggee.exit_kill && debuggee.actions.is_any_lacking();
    Ok(tracees.debuggees.values().filter(lacking).map(|debuggee| debuggee.process.pid).collect())
}

/// Whether a thread, if it is stopped, can install the handler in its process.
pub(in crate::ptrace) fn can_install(thread: &Thread, pid: Pid) -> bool {
    thread.pid == pid && !thread.vforking
}

/// Installs the handlers in every process of the memory that lacks one and has a stopped thread. A process without such a thread
/// gets them before its threads continue from a stop ([`reinstall`]).
pub(in crate::ptrace) fn install_everywhere(tracees: &mut Tracees, reports: &mut Reports, pid: Pid) -> Result<()> {
    for other in processes_without_handler(tracees, pid)? {
        if let Some(tid) = installer(tracees, other)? {
            // A process that cannot have a handler does without.
            let _ = install_lacking(tracees, reports, tid, other);
        }
    }
    tracees.debuggee(pid).map(drop)
}

/// Installs the handlers of these signals in every process of the memory that outlives the tracer. Returns whether all of them have them.
pub(in crate::ptrace) fn install_for_jumps(
    tracees: &mut Tracees,
    reports: &mut Reports,
    pid: Pid,
    signals: &[Handled],
) -> Result<bool> {
    let space = tracees.debuggee(pid)?.space;
    if arch::handler_code(tracees.space_of(pid)?.arch).of_jumps.is_none() {
        return Ok(false);
    }
    let processes = tracees.processes_in(space);
    for (&other, &signal) in processes.iter().flat_map(|other| signals.iter().map(move |signal| (other, signal))) {
        let debuggee = tracees.debuggee(other)?;
        if debuggee.exit_kill || debuggee.actions[signal] == Action::Ours {
            continue;
        }
        let Some(tid) = installer(tracees, other)? else { return Ok(false) };
        install_by(tracees, reports, tid, other, signal)?;
        if tracees.debuggee(other)?.actions[signal] != Action::Ours {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A stopped thread that can install the handlers in a process.
fn installer(tracees: &Tracees, pid: Pid) -> Result<Option<Tid>> {
    let can =
        |tid: &Tid| tracees.threads.get(tid).is_some_and(|thread| can_install(thread, pid) && !thread.is_in_call());
    Ok(tracees.stopped_threads(tracees.debuggee(pid)?.space).into_iter().find(can))
}

fn install_lacking(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, pid: Pid) -> Result<()> {
    for signal in Handled::ALL {
        if tracees.debuggee(pid)?.actions.lacks(signal) {
            install_by(tracees, reports, tid, pid, signal)?;
        }
    }
    Ok(())
}

fn install_by(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, pid: Pid, signal: Handled) -> Result<()> {
    let was = tracees.debuggee(pid)?.actions[signal];
    let disposition = Status::read(tid)?.disposition(signal.signal());
    let current = match disposition {
        // The kernel resets the handler, and the program's action is still the one before.
        Disposition::Fatal if was == Action::Reset => Some(tracees.space_of(pid)?.former_action(signal)),
        Disposition::Fatal => Some(SignalAction::DEFAULT),
        Disposition::Caught => action_of(tracees, reports, tid, pid, signal)?,
        Disposition::Ignored | Disposition::Stops => None,
    };
    let Some(mut current) = current else {
        tracees.debuggee_mut(pid)?.actions[signal] = Action::Programs;
        return Ok(());
    };
    for _ in 0..MOST_CHANGES {
        if is_ours(tracees.space_of(pid)?, signal, &current) {
            tracees.debuggee_mut(pid)?.actions[signal] = Action::Ours;
            return Ok(());
        }
        if !prepare_page(tracees, reports, tid, pid, signal, &current)? {
            tracees.debuggee_mut(pid)?.actions[signal] = Action::Programs;
            return Ok(());
        }
        let space = tracees.space_of(pid)?;
        let own = space.trap_handler.unwrap_or(0) + signal.own();
        let Some(replaced) = exchange(tracees, reports, tid, pid, signal, Some((own, current)))? else { return Ok(()) };
        // Another thread may have changed the action meanwhile. What the kernel has reset is the default action.
        if replaced.handler == current.handler || was == Action::Reset && replaced.handler == 0 {
            tracees.debuggee_mut(pid)?.actions[signal] = Action::Ours;
            return Ok(());
        }
        current = replaced;
    }
    Ok(())
}

/// Prepares the page for a process with this action. Returns `false` where our handler cannot take the place of the action.
fn prepare_page(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    pid: Pid,
    signal: Handled,
    former: &SignalAction,
) -> Result<bool> {
    let code = arch::handler_code(tracees.space_of(pid)?.arch);
    if former.handler != 0 && (code.of_jumps.is_none() || !former.can_be_called()) {
        return Ok(false);
    }
    if tracees.space_of(pid)?.trap_handler.is_none() {
        map_page(tracees, reports, tid, pid)?;
    }
    let space = tracees.debuggee(pid)?.space;
    let serves = |debuggee: &Debuggee| debuggee.space == space && debuggee.actions[signal] == Action::Ours;
    let is_shared = tracees.debuggees.values().any(|other| other.process.pid != pid && serves(other));
    let space = tracees.space_of(pid)?;
    // Another process in the memory may have had another action.
    Ok(!is_shared && space.set_former_action(&code, signal, former) || space.former_action(signal) == *former)
}

fn is_ours(space: &Space, signal: Handled, action: &SignalAction) -> bool {
    let entry = arch::handler_code(space.arch).entry(signal);
    space.trap_handler.zip(entry).is_some_and(|(page, entry)| action.handler == page + entry)
}

/// The action of a process for a signal, by a stopped thread.
fn action_of(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    pid: Pid,
    signal: Handled,
) -> Result<Option<SignalAction>> {
    exchange(tracees, reports, tid, pid, signal, None)
}

/// Sets the action of a process for a signal to the one at an address, if that is given, by a stopped thread. Returns the action before; of
/// programs that are not of 64 bits the handler alone. Where there is no memory below the stack pointer that is the given one. `None`: it is
/// not known.
fn exchange(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    pid: Pid,
    signal: Handled,
    new: Option<(u64, SignalAction)>,
) -> Result<Option<SignalAction>> {
    let at = (crate::arch::sp(&arch::read(tid)?).wrapping_sub(BELOW)) & !15;
    let space = tracees.space_of(pid)?;
    let width = space.arch.width();
    let number = arch::handler_code(space.arch).sigaction;
    let before = space.memory.read_array::<ACTION>(at);
    if before.is_none() && new.is_none() {
        return Ok(None);
    }
    let (new, assumed) = new.unzip();
    let old = before.map_or(0, |_| at);
    let mut remote = Remote::borrow_thread(tracees, reports, tid)?;
    let result = remote.make_syscall(number, [signal.signal().0 as u64, new.unwrap_or(0), old, SET, 0, 0])?;
    remote.finish()?;
    let Some(before) = before else { return Ok(assumed.filter(|_| result == 0)) };
    let space = tracees.space_of(pid)?;
    let action = match width {
        8 => space.memory.read_array(at).map(SignalAction::new),
        _ => space.memory.read_word(at, width).map(SignalAction::of_handler),
    };
    space.memory.write(at, &before);
    Ok(action.filter(|_| result == 0))
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
    // The page is written from its beginning to its end, and the program's actions differ.
    let ends = Handled::ALL.map(|signal| signal.own() as usize..signal.own() as usize + 8);
    let is_there = |space: &Space| {
        let mut bytes = vec![0; page.len()];
        let (code, data) = (..Handled::Trap.own() as usize, ends.clone());
        space.memory.read(start, &mut bytes) == bytes.len()
            && bytes.get(code) == page.get(code)
            && data.into_iter().all(|range| bytes.get(range.clone()) == page.get(range))
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

/// Gives a process its own action for a signal back, by a stopped thread of it, unless the program has set another one. The handler may be there
/// although nobody has noted it: a tracer that was killed left it, or an installation failed behind the call.
pub(in crate::ptrace) fn withdraw(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    pid: Pid,
    signal: Handled,
) -> Result<()> {
    let was = std::mem::replace(&mut tracees.debuggee_mut(pid)?.actions[signal], Action::Programs);
    if tracees.space_of(pid)?.trap_handler.is_none() {
        return Ok(());
    }
    let disposition = Status::read(tid)?.disposition(signal.signal());
    let space = tracees.space_of(pid)?;
    // The kernel may have reset the action.
    let resets = was == Action::Reset && disposition == Disposition::Fatal && space.former_action(signal).handler != 0;
    let is_ours = match disposition {
        Disposition::Caught => action_of(tracees, reports, tid, pid, signal)?,
        _ => None,
    }
    .is_some_and(|action| tracees.space_of(pid).is_ok_and(|space| is_ours(space, signal, &action)));
    if !is_ours && !resets {
        return Ok(());
    }
    let space = tracees.space_of(pid)?;
    let (page, number) = (space.trap_handler.unwrap_or(0), arch::handler_code(space.arch).sigaction);
    let arguments = [signal.signal().0 as u64, page + signal.former(), 0, SET, 0, 0];
    syscall_by(tracees, reports, tid, number, arguments).map(drop)
}

/// Whether the action of a process for a signal is ours, and was the default one before.
pub(in crate::ptrace) fn stands_for_default(tracees: &Tracees, pid: Pid, signal: Handled) -> Result<bool> {
    let is_ours = tracees.debuggee(pid)?.actions[signal] == Action::Ours;
    Ok(is_ours && tracees.space_of(pid)?.former_action(signal).handler == 0)
}

/// Takes the handlers out of the processes in a memory whose threads are stopped.
pub(in crate::ptrace) fn withdraw_everywhere(
    tracees: &mut Tracees,
    reports: &mut Reports,
    space: SpaceId,
) -> Result<()> {
    for pid in tracees.processes_in(space) {
        let belongs = |tid: &Tid| tracees.threads.get(tid).is_some_and(|thread| thread.pid == pid);
        if let Some(tid) = tracees.stopped_threads(space).into_iter().find(belongs) {
            for signal in Handled::ALL {
                withdraw(tracees, reports, tid, pid, signal)?;
            }
        }
    }
    Ok(())
}

/// Whether a stopped thread runs a handler, which may need the arenas as well.
pub(in crate::ptrace) fn is_handler_running(tracees: &Tracees, space: SpaceId) -> bool {
    let Some(page) = tracees.spaces.get(&space).and_then(|space| space.trap_handler) else { return false };
    let is_inside = |tid: Tid| arch::pc(tid).is_ok_and(|pc| pc.wrapping_sub(page) < SIZE);
    tracees.stopped_threads(space).into_iter().any(is_inside)
}

/// Unmaps the page when nothing leads to it any more. A program with handlers of its own keeps it, without arenas: it may have read our action, and
/// put that back later, or be about to leave the page for its handler.
pub(in crate::ptrace) fn unmap_page(tracees: &mut Tracees, reports: &mut Reports, space: SpaceId) -> Result<()> {
    if let Some(space) = tracees.spaces.get(&space).filter(|space| space.has_former_actions()) {
        space.leave_page();
        return Ok(());
    }
    let Some(page) = tracees.spaces.get_mut(&space).and_then(|space| space.trap_handler.take()) else { return Ok(()) };
    let threads = tracees.stopped_threads(space);
    unmap_by_any(tracees, reports, &threads, (page, SIZE.next_multiple_of(arch::PAGE)))
}

/// The actions that a new process has from its maker.
pub(in crate::ptrace) fn inherited_actions(tracees: &Tracees, maker: Pid, child: Pid) -> Actions {
    let Some(debuggee) = tracees.debuggees.get(&maker) else { return Actions::NEW };
    let mut actions = debuggee.actions;
    let status = Status::read(child.leader());
    for signal in Handled::ALL.into_iter().filter(|signal| debuggee.actions[*signal] == Action::Ours) {
        // The child may be older than the handler.
        let catches = status.as_ref().is_ok_and(|status| status.disposition(signal.signal()) == Disposition::Caught);
        if !catches || !stands_for_default(tracees, maker, signal).unwrap_or(false) {
            actions[signal] = Action::Unknown;
        }
    }
    actions
}

/// Notes that the kernel reset the action of a signal, because a thread that blocks it ran into a breakpoint instruction or branched into a
/// jump.
pub(in crate::ptrace) fn note_reset(tracees: &mut Tracees, tid: Tid, signal: Handled) -> Result<()> {
    let pid = tracees.thread(tid)?.pid;
    let action = &mut tracees.debuggee_mut(pid)?.actions[signal];
    if *action == Action::Ours {
        *action = Action::Reset;
    }
    Ok(())
}

/// Installs the handlers by a stopped thread that is about to run, where the kernel reset one or nobody could install it before.
pub(in crate::ptrace) fn reinstall(tracees: &mut Tracees, reports: &mut Reports, tid: Tid) -> Result<()> {
    let thread = tracees.thread(tid)?;
    let (pid, can) = (thread.pid, matches!(thread.stop(), Some(Stop::Event | Stop::Trap)));
    let debuggee = tracees.debuggee(pid)?;
    let lacks = debuggee.actions.is_any_lacking() && !debuggee.exit_kill;
    if !can || !lacks || tracees.space_of(pid)?.trap_handler.is_none() {
        return Ok(());
    }
    if let Err(error) = install_lacking(tracees, reports, tid, pid) {
        if is_gone(&error) {
            return Err(error);
        }
    }
    // One attempt is enough: not every stop tries again.
    for signal in Handled::ALL {
        let action = &mut tracees.debuggee_mut(pid)?.actions[signal];
        if *action == Action::Unknown {
            *action = Action::Programs;
        }
    }
    Ok(())
}
