//! System calls made in a debuggee on our behalf.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::space::{Space, mapping_at};
use super::status::Status;
use super::sys::{self, PTRACE_EVENT_STOP, Report, SigInfo};
use super::thread::{State, Stop};
use super::{Tracer, arch, is_gone, place, status};
use crate::core::{Arena, Layout};
use crate::process::read_maps;
use crate::{Address, Arch, Error, Pid, Result, Tid};

/// So long a thread may wait uninterruptibly before what it was to be stopped for is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// How long its report is waited for between two looks at what it does.
const GLANCE: Duration = Duration::from_millis(50);
/// So many places are tried for one arena.
const PLACES: usize = 24;
/// `MAP_FIXED_NOREPLACE` (asm-generic/mman-common.h); kernels before 4.17 take the address as a hint.
const NO_REPLACE: u64 = 0x10_0000;

impl Tracer {
    /// Stops a thread, whatever it does; what it reports on the way there is seen to. It waits until [`Tracer::give_back`].
    /// Says whether it was stopped before.
    fn stop_thread(&mut self, tid: Tid) -> Result<bool> {
        let thread = self.thread_mut(tid)?;
        thread.wanted += 1;
        if thread.stop().is_some() {
            return Ok(true);
        }
        thread.call = arch::Call::of(tid);
        sys::interrupt(tid)?;
        self.await_stop(tid)?;
        Ok(false)
    }

    /// Sees to a thread's reports until it is stopped, or until it has waited uninterruptibly for [`PATIENCE`].
    pub(super) fn await_stop(&mut self, tid: Tid) -> Result<()> {
        self.await_stop_for(tid, PATIENCE)
    }

    /// The same with another patience. A thread that is given up is not held when it stops.
    pub(super) fn await_stop_for(&mut self, tid: Tid, patience: Duration) -> Result<()> {
        let mut stuck = None;
        while self.thread(tid)?.stop().is_none() {
            match self.report_within(tid, GLANCE)? {
                Some(report) => self.handle(tid, report)?,
                None if !self.is_stuck(tid) => stuck = None,
                None if stuck.get_or_insert_with(Instant::now).elapsed() < patience => {}
                None => {
                    let thread = self.thread_mut(tid)?;
                    thread.wanted = thread.wanted.saturating_sub(1);
                    return Err(Error::Uninterruptible(tid));
                }
            }
        }
        Ok(())
    }

    /// Ends one use of a stopped thread. One that was stopped before is its stopper's to run.
    pub(super) fn give_back(&mut self, tid: Tid, was_stopped: bool) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        thread.wanted = thread.wanted.saturating_sub(1);
        if was_stopped {
            return Ok(());
        }
        match self.go_on(tid) {
            Err(error) if is_gone(&error) => Ok(()),
            result => result,
        }
    }

    /// A thread, stopped now, that can make system calls in the process' address space, and whether it was stopped before.
    fn borrow_thread(&mut self, pid: Pid) -> Result<(Tid, bool)> {
        match self.borrow_thread_that(pid, |thread| !thread.vforking) {
            // The child of a `vfork` has just ended, and its parent comes back.
            Err(error) if is_gone(&error) => self.borrow_thread_that(pid, |_| true),
            result => result,
        }
    }

    /// The same, one that serves.
    pub(super) fn borrow_thread_that(
        &mut self,
        pid: Pid,
        serves: impl Fn(&super::Thread) -> bool,
    ) -> Result<(Tid, bool)> {
        let space = self.debuggee(pid)?.space;
        let inside = |pid: &Pid| self.debuggees.get(pid).is_some_and(|debuggee| debuggee.space == space);
        let usable = |thread: &super::Thread| inside(&thread.pid) && serves(thread);
        let mut candidates: Vec<&super::Thread> = self.threads.values().filter(|thread| usable(thread)).collect();
        // Stopped ones first, and of these not those with a signal on its way.
        candidates.sort_by_key(|thread| match thread.stop() {
            Some(Stop::Event | Stop::Trap | Stop::Syscall) => 0,
            Some(Stop::Signal(_) | Stop::Moved(_)) => 1,
            Some(_) => 2,
            None => 3,
        });
        // An uninterruptible wait, for a page or for a child of vfork, may last: any other thread is better.
        let waits = |thread: &&super::Thread| {
            let state = || Status::read(thread.tid).map_or(0, |status| status.state);
            thread.stop().is_none() && state() == b'D'
        };
        let (waiting, others): (Vec<&super::Thread>, Vec<_>) = candidates.into_iter().partition(waits);
        // What one of them waits for the others may wait for as well.
        let tids: Vec<Tid> = others.iter().chain(waiting.first()).map(|thread| thread.tid).collect();
        let mut outcome = Error::NoSuchProcess(pid);
        for tid in tids {
            match self.stop_thread(tid) {
                Ok(was_stopped) => return Ok((tid, was_stopped)),
                Err(error) if is_gone(&error) => {}
                Err(error @ Error::Uninterruptible(_)) => outcome = error,
                Err(error) => return Err(error),
            }
        }
        Err(outcome)
    }

    /// Brings a stopped thread out of the system call that it is in, to a stop from which it can be sent anywhere.
    pub(super) fn leave_call(&mut self, tid: Tid) -> Result<()> {
        match self.thread(tid)?.stop() {
            Some(Stop::InSyscall) => {}
            Some(Stop::Syscall) if arch::CALLS_HIDE_REGISTERS => {}
            _ => return Ok(()),
        }
        sys::interrupt(tid)?;
        self.thread_mut(tid)?.state = State::Running;
        sys::cont(tid, 0)?;
        self.thread_mut(tid)?.wanted += 1;
        let result = self.await_stop(tid);
        self.give_back(tid, true)?;
        result
    }

    /// Makes a system call in a stopped thread and puts everything back, whatever seccomp(2) thinks of it. Answers as the kernel does:
    /// errors are negative.
    pub(super) fn inject(&mut self, tid: Tid, number: u64, arguments: [u64; 6]) -> Result<i64> {
        self.leave_call(tid)?;
        let pid = self.thread(tid)?.pid;
        if !Status::read(tid)?.confined {
            return self.inject_call(tid, number, arguments);
        }
        sys::set_options(tid, self.wishes(pid) | libc::PTRACE_O_SUSPEND_SECCOMP).map_err(|error| match error {
            Error::NoSuchThread(_) => error,
            _ => Error::Confined(pid),
        })?;
        let answer = self.inject_call(tid, number, arguments);
        match sys::set_options(tid, self.wishes(pid)) {
            Err(error) if !is_gone(&error) => answer.and(Err(error)),
            _ => answer,
        }
    }

    fn inject_call(&mut self, tid: Tid, number: u64, arguments: [u64; 6]) -> Result<i64> {
        let thread = self.thread(tid)?;
        let (pid, stop) = (thread.pid, thread.stop());
        let saved = arch::read(tid)?;
        let mask = sys::signal_mask(tid)?;
        let mut registers = saved;
        let kind = self.space_of(pid)?.arch;
        let way_back = self.way_back(tid, &mut registers, mask)?;
        let gate = match &way_back {
            Some(way_back) => way_back.gate,
            None => self.gate_of(pid)?,
        };
        arch::to_call(&mut registers, kind, gate, number, arguments);
        let result = self.make_call(tid, &registers, &saved, mask);
        if let Some(way_back) = way_back {
            self.remove_way_back(pid, &way_back);
        }
        let (answer, stops) = result?;
        self.stop_anew(tid, stop, stops)?;
        Ok(answer)
    }

    /// Runs a thread from the beginning of a system call to behind its end, and gives its registers and signal mask back.
    fn make_call(
        &mut self,
        tid: Tid,
        registers: &libc::user_regs_struct,
        saved: &libc::user_regs_struct,
        mask: u64,
    ) -> Result<(i64, Vec<SigInfo>)> {
        // The way back, if the tracer is killed, is that of these registers, and begins with the signal mask.
        arch::write(tid, registers)?;
        sys::set_signal_mask(tid, u64::MAX)?;
        let mut stops = Vec::new();
        // To the call's beginning, to its end, and from there to where the kernel looks at signals and restarts.
        self.run_to(tid, &mut stops, |signal, event| (signal, event) == (libc::SIGTRAP | 0x80, 0))?;
        self.run_to(tid, &mut stops, |signal, event| (signal, event) == (libc::SIGTRAP | 0x80, 0))?;
        let answer = arch::result(&arch::read(tid)?);
        sys::interrupt(tid)?;
        self.run_to(tid, &mut stops, |_, event| event == PTRACE_EVENT_STOP)?;
        sys::set_signal_mask(tid, mask)?;
        arch::write(tid, saved)?;
        Ok((answer, stops))
    }

    /// Leaves a thread, which ran on our behalf, in a stop like the one it was in, with the signals that came meanwhile.
    pub(super) fn stop_anew(&mut self, tid: Tid, before: Option<Stop>, signals: Vec<SigInfo>) -> Result<()> {
        for info in signals {
            self.send_anew(tid, info)?;
        }
        let stop = match before {
            Some(Stop::Signal(info) | Stop::Moved(info)) => Stop::Moved(info),
            Some(Stop::Group) => Stop::Group,
            _ => Stop::Event,
        };
        self.set_stop(tid, stop)
    }

    /// Runs a thread, which stops at system calls, to a stop of the wanted kind; signals on the way are kept in `kept`.
    fn run_to(&mut self, tid: Tid, kept: &mut Vec<SigInfo>, wanted: impl Fn(i32, i32) -> bool) -> Result<()> {
        loop {
            sys::cont_to_syscall(tid, 0)?;
            match self.report_of(tid)? {
                Report::Stopped { signal, event } if wanted(signal, event) => return Ok(()),
                // SIGSTOP, which cannot be blocked.
                Report::Stopped { event: 0, signal } if signal != libc::SIGTRAP | 0x80 => {
                    let info = sys::siginfo(tid)?;
                    if info.is_synchronous() {
                        return Err(Error::Call { tid, function: Address(arch::pc(tid)?) });
                    }
                    kept.push(info);
                }
                Report::Stopped { .. } => {}
                end => {
                    self.reports.push_front((tid, end));
                    self.thread_mut(tid)?.state = State::Running;
                    return Err(Error::NoSuchThread(tid));
                }
            }
        }
    }

    /// Maps an arena for `count` sites in `low..=high`.
    pub(super) fn map_arena(&mut self, pid: Pid, low: u64, high: u64, count: u32) -> Result<()> {
        let (tid, was_stopped) = self.borrow_thread(pid)?;
        let result = self.map_arena_by(tid, pid, low, high, count);
        self.give_back(tid, was_stopped)?;
        result
    }

    fn map_arena_by(&mut self, tid: Tid, pid: Pid, low: u64, high: u64, count: u32) -> Result<()> {
        let space = self.space_of(pid)?;
        let kind = space.arch;
        let layout = Layout::new(space.capacity_for(count));
        let size = layout.size().next_multiple_of(arch::PAGE);
        let maps = read_maps(pid)?;
        let heap = status::heap_start(pid)?;
        // Near everything of the module, which its operands may name.
        let whole = mapping_at(&maps, low).zip(mapping_at(&maps, high));
        let (from, to) = whole.map_or((low, high), |(first, last)| (first.start.0, last.end.0));
        let mut candidates = place::candidates(&maps, heap, kind, size, from, to);
        candidates.extend(place::candidates(&maps, heap, kind, size, low, high));
        candidates.truncate(PLACES);
        if arch::FAR {
            candidates.extend(place::anywhere(&maps, heap, kind, size, low, high).into_iter().take(PLACES));
        }
        let guarded = space.is_guarded(low);
        for start in candidates {
            if self.map_at(tid, start, size, guarded)? {
                let is_far = !arch::reaches(kind, start, start + size, low, high);
                return self.add_arena(pid, start, layout, guarded, is_far.then_some(low..high + 1));
            }
        }
        Err(Error::NoRoom { pid, near: Address(low) })
    }

    /// Maps storage at an address by a stopped thread, and says whether it could be.
    pub(super) fn map_at(&mut self, tid: Tid, start: u64, size: u64, guarded: bool) -> Result<bool> {
        let kind = self.space_of(self.thread(tid)?.pid)?.arch;
        let calls = arch::calls(kind);
        let guard = if guarded { arch::GUARDED } else { 0 };
        let protection = (libc::PROT_READ | libc::PROT_EXEC | guard) as u64;
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64 | NO_REPLACE;
        let answer = self.inject(tid, calls.mmap, [start, size, protection, flags, u64::MAX, 0])?;
        let answer = if kind == Arch::I386 { i64::from(answer as u32) } else { answer };
        let is_mapped = answer as u64 == start;
        if !is_mapped && answer > 0 && (answer as u64) < u64::MAX - 4095 && answer % 4096 == 0 {
            self.inject(tid, calls.munmap, [answer as u64, size, 0, 0, 0, 0])?;
        }
        Ok(is_mapped)
    }

    /// Maps what a forked child lacks of its parent's storage: it was mapped while the memory was copied. The child is stopped and has
    /// not run yet. Where `differs`, sites changed meanwhile, and are set as in the parent. Where something else lies there, the child has
    /// no breakpoints.
    pub(super) fn complete_storage(&mut self, child: Pid, differs: bool) -> Result<()> {
        let maps = read_maps(child)?;
        let space = self.space_of(child)?;
        let all = space.hidden().into_iter().zip(space.storages.iter().map(|storage| storage.guarded));
        let lacking: Vec<((u64, u64), bool)> =
            all.filter(|((start, _), _)| mapping_at(&maps, *start).is_none()).collect();
        let mut is_complete = true;
        for &((start, end), guarded) in &lacking {
            is_complete &= self.map_at(child.leader(), start, end - start, guarded)?;
        }
        let space = self.space_of_mut(child)?;
        if !is_complete {
            space.abandon(&maps);
        } else if differs || !lacking.is_empty() {
            space.rearm();
        }
        Ok(())
    }

    fn add_arena(&mut self, pid: Pid, base: u64, layout: Layout, guarded: bool, far: Option<Range<u64>>) -> Result<()> {
        let space: &mut Space = self.space_of_mut(pid)?;
        let machine =
            crate::arch::MACHINES.iter().find(|known| known.2 == space.arch).map_or(0, |known| u32::from(known.1));
        let mirror = super::mirror::Mirror::new(layout.size());
        let arena = Arena::create(mirror, base, layout, machine, arch::gate(space.arch))
            .map_err(|_| Error::NoRoom { pid, near: Address(base) })?;
        space.add_storage(arena, guarded, far);
        space.flush();
        space.name_arenas();
        self.hide_storage(pid)
    }

    /// Tells the processes in a memory where there is storage in it.
    pub(super) fn hide_storage(&mut self, pid: Pid) -> Result<()> {
        let hidden = self.space_of(pid)?.hidden();
        let id = self.debuggee(pid)?.space;
        for debuggee in self.debuggees.values_mut().filter(|debuggee| debuggee.space == id) {
            debuggee.process.hidden.clone_from(&hidden);
        }
        Ok(())
    }
}
