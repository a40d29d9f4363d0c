//! Pairs calls of functions with their returns.

mod frames;

use std::collections::BTreeMap;
use std::time::Duration;

use self::frames::{Frame, Frames, Way};
use crate::arch;
use crate::clock::monotonic;
use crate::{Address, Arch, BreakpointId, Event, EventKind, Pid, Registers, Result, Session, Spec, Tid};

/// The open calls of functions, and breakpoints at the addresses to which they return.
///
/// The return address in the debuggee's memory stays as it is, so that unwinders, exceptions and the program see what they expect. A call is
/// known by its return address and by its stack pointer: recursion, tail calls, coroutines, signal handlers and calls that are left by
/// `longjmp` or an exception are told apart. `T` is a tag of the author's own for each call.
///
/// The author inserts a breakpoint at the first instruction of each function, calls [`Returns::enter`] at its hits, and passes each event to
/// [`Returns::leave`] before, and to [`Returns::resuming`] when the thread is resumed:
///
/// ```
/// use std::process::{Command, Stdio};
/// use ubp::{EventKind, Returns, Session, Spec};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut session = Session::new()?;
/// let mut command = Command::new("/bin/true");
/// command.stdout(Stdio::null());
/// let pid = session.spawn(command)?;
/// let entry = session.process(pid).and_then(|process| process.auxv().entry()).ok_or("no entry point")?;
/// let function = session.insert(pid, &[Spec::event(entry)])?[0]?;
/// session.resume(pid.leader())?;
///
/// let mut returns = Returns::new();
/// while let Some(event) = session.wait()? {
///     for call in returns.leave(&mut session, &event)? {
///         println!("{} took {:?}", call.function, call.duration);
///     }
///     if matches!(&event.kind, EventKind::Hit(hit) if hit.is_of(function)) {
///         returns.enter(&mut session, &event, |_| ())?;
///     }
///     returns.resuming(&event);
///     if event.is_held() {
///         session.resume(event.tid)?;
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Limits
///
/// - A function without a return address, such as a program's entry point, is refused or never returns.
/// - A call that is left by `longjmp` is forgotten when the next call of its stack pointer is entered. If that is a call of another function
///   to the same return address, it passes for a tail call.
/// - [`Call::depth`] is that within one stack. A coroutine, or a handler on an alternate signal stack above the thread's own, begins anew.
#[derive(Debug)]
pub struct Returns<T> {
    processes: BTreeMap<Pid, OfProcess<T>>,
    /// How long each thread was held by events.
    held: BTreeMap<Tid, Duration>,
}

/// What is known of one process.
#[derive(Clone, Debug)]
struct OfProcess<T> {
    frames: Frames<T>,
    /// The breakpoints at return addresses.
    sites: BTreeMap<u64, BreakpointId>,
    /// Whether the process runs goroutines, whose stacks move.
    goroutines: bool,
}

impl<T> OfProcess<T> {
    /// The frame of a thread with this stack pointer.
    fn frame(&self, session: &mut Session, pid: Pid, registers: &Registers, sp: u64) -> Frame {
        let moving = if self.goroutines { goroutine(session, pid, registers) } else { None };
        match moving {
            Some((stack, end)) => Frame { stack, sp: sp.wrapping_sub(end) },
            None => Frame { stack: 0, sp },
        }
    }
}

/// The goroutine that a thread runs, and the end of its stack: Go's ABI keeps the address of the goroutine in a register, and the structure
/// begins with the first address of its stack and the end (`type g`, Go's src/runtime/runtime2.go). `None`: the thread is not on the stack of
/// a goroutine.
fn goroutine(session: &mut Session, pid: Pid, registers: &Registers) -> Option<(u64, u64)> {
    let address = registers.get(arch::GOROUTINE)?;
    let mut bytes = [0; 16];
    let read = session.read_memory(pid, Address(address), &mut bytes).ok()?;
    let (first, end) = bytes.split_first_chunk::<8>()?;
    let (first, end) = (u64::from_le_bytes(*first), u64::from_le_bytes(end.try_into().ok()?));
    let sp = registers.sp().0;
    (read == 16 && first <= sp && sp <= end && address != 0).then_some((address, end))
}

/// A call that was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The number of open calls around it, of functions that are looked at.
    pub depth: usize,
    /// The return address.
    pub caller: Address,
}

/// A call that returned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call<T> {
    /// The function's first instruction.
    pub function: Address,
    /// The return address.
    pub caller: Address,
    /// What [`Returns::enter`] was given.
    pub tag: T,
    /// As [`Entered::depth`].
    pub depth: usize,
    /// The time of the event by which the call was entered.
    pub entered: Duration,
    /// The time from the entry to the return, without the time for which events held the thread.
    pub duration: Duration,
    /// The part of `duration` in other calls of functions that are looked at.
    pub inner: Duration,
}

impl<T> Default for Returns<T> {
    fn default() -> Returns<T> {
        Returns::new()
    }
}

impl<T> Returns<T> {
    /// No calls.
    pub fn new() -> Returns<T> {
        Returns { processes: BTreeMap::new(), held: BTreeMap::new() }
    }

    /// Tells that a process runs a program of Go, whose runtime moves the stacks of goroutines while calls are open.
    pub fn set_goroutines(&mut self, pid: Pid) {
        self.processes.entry(pid).or_insert_with(OfProcess::new).goroutines = true;
    }

    /// Notes the call of the function at whose first instruction the thread of an event is held. `tag` makes the call's tag from that of the
    /// calling call. `None`: the return cannot be seen, because there is no return address or no breakpoint is possible there.
    ///
    /// # Errors
    /// As [`Session::registers`] and [`Session::insert`].
    pub fn enter(
        &mut self,
        session: &mut Session,
        event: &Event,
        tag: impl FnOnce(Option<&T>) -> T,
    ) -> Result<Option<Entered>> {
        let Event { pid, tid, .. } = *event;
        let registers = session.registers(tid)?;
        let Some((caller, sp)) = session.way_back(pid, &registers) else { return Ok(None) };
        let process = self.processes.entry(pid).or_insert_with(OfProcess::new);
        let known = process.sites.get(&caller.0).copied();
        // The breakpoint is gone if its code was unmapped.
        if !known.and_then(|id| session.breakpoint(pid, id)).is_some_and(|site| site.is_active()) {
            let answer = session.insert(pid, &[Spec::event(caller)])?.pop();
            let Some(Ok(id)) = answer else { return Ok(None) };
            process.sites.insert(caller.0, id);
        }
        let held = self.held.get(&tid).copied().unwrap_or_default();
        let way = Way { caller: caller.0, frame: process.frame(session, pid, &registers, sp.0) };
        let depth = process.frames.enter(tid, registers.pc().0, way, (event.time, held), tag);
        Ok(Some(Entered { depth, caller }))
    }

    /// The calls that return by an event, the innermost first: one, and the calls whose tail call it is.
    ///
    /// # Errors
    /// As [`Session::registers`].
    pub fn leave(&mut self, session: &mut Session, event: &Event) -> Result<Vec<Call<T>>> {
        let EventKind::Hit(hit) = &event.kind else { return Ok(Vec::new()) };
        let Some(process) = self.processes.get_mut(&event.pid) else { return Ok(Vec::new()) };
        let caller = hit.address();
        if !process.sites.get(&caller.0).is_some_and(|id| hit.is_of(*id)) {
            return Ok(Vec::new());
        }
        let registers = session.registers(event.tid)?;
        let frame = process.frame(session, event.pid, &registers, registers.sp().0);
        let way = Way { caller: caller.0, frame };
        let mut left = process.frames.leave(way, registers.arch() == Arch::I386);
        let held = self.held.get(&event.tid).copied().unwrap_or_default();
        let mut calls = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let open = left.remove(0);
            let duration = event.time.saturating_sub(open.entered).saturating_sub(held.saturating_sub(open.held));
            process.frames.add_to_parent(&open, duration, &mut left);
            calls.push(Call {
                function: Address(open.function),
                caller,
                tag: open.tag,
                depth: open.depth,
                entered: open.entered,
                duration,
                inner: open.inner,
            });
        }
        Ok(calls)
    }

    /// Whether a breakpoint of a process is one at a return address.
    pub fn is_return(&self, pid: Pid, address: Address, id: BreakpointId) -> bool {
        self.processes.get(&pid).is_some_and(|process| process.sites.get(&address.0) == Some(&id))
    }

    /// Notes that the thread of an event is about to be resumed: the time since the event is no part of its calls. A thread that ended, or
    /// executed another program, has no calls. Returns the tags of calls that can no longer return.
    pub fn resuming(&mut self, event: &Event) -> Vec<T> {
        let Event { pid, tid, ref kind, time, .. } = *event;
        if event.is_held() {
            *self.held.entry(tid).or_default() += monotonic().saturating_sub(time);
        } else {
            self.held.remove(&tid);
        }
        match kind {
            EventKind::ThreadExited => self.processes.get_mut(&pid).map(|process| process.frames.end(tid)),
            EventKind::Exec | EventKind::Exited(_) | EventKind::Killed(_) => Some(self.forget(pid)),
            _ => None,
        }
        .unwrap_or_default()
    }

    /// Forgets a process, as after [`Session::detach`]. Returns the tags of its open calls.
    pub fn forget(&mut self, pid: Pid) -> Vec<T> {
        self.processes.remove(&pid).map(|process| process.frames.into_tags().collect()).unwrap_or_default()
    }

    /// Notes that the thread of an event forked a process, which has copies of the breakpoints: the open calls of the thread return in both.
    pub fn forked(&mut self, event: &Event, child: Pid)
    where
        T: Clone,
    {
        if let Some(OfProcess { frames, sites, goroutines }) = self.processes.get(&event.pid) {
            let frames = frames.fork(event.tid, child.leader());
            let copy = OfProcess { frames, sites: sites.clone(), goroutines: *goroutines };
            self.processes.insert(child, copy);
            let held = self.held.get(&event.tid).copied().unwrap_or_default();
            self.held.insert(child.leader(), held);
        }
    }
}

impl<T> OfProcess<T> {
    fn new() -> OfProcess<T> {
        OfProcess { frames: Frames::new(), sites: BTreeMap::new(), goroutines: false }
    }
}
