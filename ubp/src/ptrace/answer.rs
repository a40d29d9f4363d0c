//! What answers breakpoint instructions in a process that outlives the tracer: a handler of `SIGTRAP` in a page of its own.
//!
//! While the tracer lives it sees every `SIGTRAP` first, and the handler never runs. When the tracer was killed, a thread that runs into a
//! breakpoint instruction enters the handler. That finds the site in the arenas, puts the original bytes back through /proc/self/mem and
//! lets the thread execute its instruction; a thread that ran into the end of a slot goes on behind the instruction. For any other
//! `SIGTRAP` the handler gives the signal its default action and raises it again.
//!
//! A program that handles or ignores `SIGTRAP` keeps that, and has no such handler.

use super::space::Space;
use super::status::{Disposition, Status};
use super::sys::{self, SigInfo};
use super::thread::{Stop, Thread};
use super::{SpaceId, Tracer, TrapAction, arch, is_gone, place, status};
use crate::process::read_maps;
use crate::{Arch, Error, Pid, Result, Signal, Tid};

/// Code of one architecture for the page; offsets are those in the page.
pub(super) struct Answer {
    /// It begins with the handler.
    pub(super) code: &'static [u8],
    /// What a handler returns to, where the kernel has nothing of its own.
    pub(super) restorer: Option<u64>,
    /// A system call, and what brings the thread back to where it was; up to the end of the code.
    pub(super) gate: Option<u64>,
    /// The number of `rt_sigaction`.
    pub(super) call: u64,
}

impl Answer {
    /// The code of the gate.
    pub(super) fn gate_code(&self) -> Option<&'static [u8]> {
        self.code.get(usize::try_from(self.gate?).ok()?..)
    }

    /// The page at `base`, up to the list of arenas.
    fn page(&self, base: u64, arch: Arch) -> Vec<u8> {
        let mut page = self.code.to_vec();
        page.resize(DATA as usize, 0);
        let restorer = self.restorer.map_or(0, |offset| base + offset);
        let flags = FLAGS | if restorer == 0 { 0 } else { SA_RESTORER };
        let words = [base, flags, restorer];
        match arch {
            Arch::I386 => page.extend(words.iter().flat_map(|word| (*word as u32).to_le_bytes())),
            _ => page.extend(words.iter().flat_map(|word| word.to_le_bytes())),
        }
        // Nothing interrupts it.
        page.extend(u64::MAX.to_le_bytes());
        page.resize((DATA + ARENAS) as usize, 0);
        page
    }
}

/// Where in the page what the handler needs begins, as the code knows: its `struct sigaction`, that of the default action, and the
/// addresses of the arenas up to a zero.
const DATA: u64 = 2048;
const DEFAULT: u64 = 32;
const ARENAS: u64 = 64;
/// Bytes of the page that are in use.
const SIZE: u64 = 4096;
/// The most arenas that it can name.
const MOST: usize = ((SIZE - DATA - ARENAS) / 8 - 1) as usize;
/// asm/signal.h; the libc crate lacks it for some targets.
const SA_RESTORER: u64 = 0x0400_0000;
const FLAGS: u64 = (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART) as u64;
/// Bytes of the kernel's signal sets.
const SET: u64 = 8;
/// The kernel's `struct sigaction` is not larger.
const ACTION: usize = 32;
/// So far below a thread's stack pointer the kernel writes an answer, behind what the thread itself and [`arch::way_back`] need.
const BELOW: u64 = 1024;
/// So many places are tried for the page.
const PLACES: usize = 24;
const TRAP: Signal = Signal(libc::SIGTRAP);

impl Tracer {
    /// Installs the handler in every process of the memory that outlives the tracer and has none. What cannot have one goes without.
    pub(super) fn install_answers(&mut self, pid: Pid) -> Result<()> {
        let space = self.debuggee(pid)?.space;
        let lacking = |debuggee: &&super::Debuggee| {
            let lacks = matches!(debuggee.trap, TrapAction::Unknown | TrapAction::Forgotten);
            debuggee.space == space && !debuggee.kill && lacks
        };
        let pids: Vec<Pid> = self.debuggees.values().filter(lacking).map(|debuggee| debuggee.process.pid).collect();
        for other in pids {
            // One whose threads all wait in `vfork` gets it later.
            let _ = self.install_answer(other);
        }
        self.debuggee(pid).map(drop)
    }

    fn install_answer(&mut self, pid: Pid) -> Result<()> {
        let (tid, was_stopped) = self.borrow_thread_that(pid, |thread| thread.pid == pid && !thread.vforking)?;
        let result = self.install_answer_by(tid, pid);
        self.give_back(tid, was_stopped)?;
        result
    }

    fn install_answer_by(&mut self, tid: Tid, pid: Pid) -> Result<()> {
        if Status::read(tid)?.disposition(TRAP) != Disposition::Fatal {
            // That of a tracer that was killed serves as well.
            let ours = self.is_answered_by_us(tid, pid)?;
            self.debuggee_mut(pid)?.trap = if ours { TrapAction::Ours } else { TrapAction::Programs };
            return Ok(());
        }
        let page = match self.space_of(pid)?.answer {
            Some(page) => page,
            None => self.map_answer(tid, pid)?,
        };
        let call = arch::answer(self.space_of(pid)?.arch).call;
        let trap = libc::SIGTRAP as u64;
        if self.inject(tid, call, [trap, page + DATA, 0, SET, 0, 0])? == 0 {
            self.debuggee_mut(pid)?.trap = TrapAction::Ours;
        }
        Ok(())
    }

    /// Maps the page by a stopped thread.
    fn map_answer(&mut self, tid: Tid, pid: Pid) -> Result<u64> {
        let maps = read_maps(pid)?;
        let heap = status::heap_start(pid)?;
        let kind = self.space_of(pid)?.arch;
        let low = maps.iter().find(|mapping| mapping.execute).map_or(0, |mapping| mapping.start.0);
        for start in place::anywhere(&maps, heap, kind, SIZE, low, low).into_iter().take(PLACES) {
            if self.map_at(tid, start, SIZE.next_multiple_of(arch::PAGE), false)? {
                let space = self.space_of_mut(pid)?;
                let page = arch::answer(kind).page(start, kind);
                if space.memory.write(start, &page) != page.len() {
                    break;
                }
                space.answer = Some(start);
                space.name_arenas();
                self.hide_storage(pid)?;
                return Ok(start);
            }
        }
        Err(Error::NoRoom { pid, near: crate::Address(low) })
    }

    /// Gives `SIGTRAP` its default action back in a process, by a stopped thread of it, unless the program has set one.
    pub(super) fn withdraw_answer(&mut self, tid: Tid, pid: Pid) -> Result<()> {
        let was = std::mem::replace(&mut self.debuggee_mut(pid)?.trap, TrapAction::Programs);
        if was == TrapAction::Programs || !self.is_answered_by_us(tid, pid)? {
            return Ok(());
        }
        let space = self.space_of(pid)?;
        let (page, call) = (space.answer.unwrap_or(0), arch::answer(space.arch).call);
        self.inject(tid, call, [libc::SIGTRAP as u64, page + DATA + DEFAULT, 0, SET, 0, 0]).map(drop)
    }

    /// Whether the action of `SIGTRAP` is the handler of the page, as the kernel says.
    fn is_answered_by_us(&mut self, tid: Tid, pid: Pid) -> Result<bool> {
        if Status::read(tid)?.disposition(TRAP) != Disposition::Caught {
            return Ok(false);
        }
        self.leave_call(tid)?;
        let at = (crate::arch::sp(&arch::read(tid)?).wrapping_sub(BELOW)) & !15;
        let space = self.space_of(pid)?;
        let (page, call, width) = (space.answer, arch::answer(space.arch).call, space.arch.width());
        let Some(before) = space.memory.read_array::<ACTION>(at) else { return Ok(false) };
        let answer = self.inject(tid, call, [libc::SIGTRAP as u64, 0, at, SET, 0, 0])?;
        let space = self.space_of(pid)?;
        let handler = space.memory.read_word(at, width);
        space.memory.write(at, &before);
        Ok(answer == 0 && page.is_some() && handler == page)
    }

    /// Takes the handler out of the processes in a memory whose threads are stopped, and then the page.
    pub(super) fn remove_answer(&mut self, space: SpaceId) -> Result<()> {
        let here = self.debuggees.values().filter(|debuggee| debuggee.space == space);
        let pids: Vec<Pid> = here.map(|debuggee| debuggee.process.pid).collect();
        for &pid in &pids {
            if let Some(tid) = self.stopped_threads(space).into_iter().find(|tid| self.belongs(*tid, pid)) {
                self.withdraw_answer(tid, pid)?;
            }
        }
        Ok(())
    }

    /// Whether a stopped thread runs the page's code, by which it may need the arenas as well.
    pub(super) fn is_answering(&self, space: SpaceId) -> bool {
        let Some(page) = self.spaces.get(&space).and_then(|space| space.answer) else { return false };
        let is_inside = |tid: Tid| arch::pc(tid).is_ok_and(|pc| pc.wrapping_sub(page) < SIZE);
        self.stopped_threads(space).into_iter().any(is_inside)
    }

    /// Unmaps the page, to which nothing leads any more.
    pub(super) fn unmap_answer(&mut self, space: SpaceId) -> Result<()> {
        let Some(kept) = self.spaces.get_mut(&space) else { return Ok(()) };
        let Some(page) = kept.answer.take() else { return Ok(()) };
        let munmap = arch::calls(kept.arch).munmap;
        for tid in self.stopped_threads(space) {
            match self.inject(tid, munmap, [page, SIZE.next_multiple_of(arch::PAGE), 0, 0, 0, 0]) {
                Err(error) if is_gone(&error) => continue,
                Err(Error::Confined(_)) => continue,
                other => return other.map(drop),
            }
        }
        Ok(())
    }

    fn belongs(&self, tid: Tid, pid: Pid) -> bool {
        self.threads.get(&tid).is_some_and(|thread| thread.pid == pid)
    }

    /// The stopped threads that run in a memory: first those that no signal is on its way to.
    pub(super) fn stopped_threads(&self, space: SpaceId) -> Vec<Tid> {
        let stop = |tid: &Tid| self.threads.get(tid).and_then(Thread::stop);
        let mut threads = self.threads_in(space);
        threads.retain(|tid| stop(tid).is_some());
        threads.sort_by_key(|tid| match stop(tid) {
            Some(Stop::Event | Stop::Trap | Stop::Syscall) => 0,
            Some(Stop::Group | Stop::InSyscall) => 1,
            _ => 2,
        });
        threads
    }

    /// A new process' action.
    pub(super) fn inherited_trap(&self, maker: Pid, child: Pid) -> TrapAction {
        let trap = self.debuggees.get(&maker).map_or(TrapAction::Unknown, |debuggee| debuggee.trap);
        let catches =
            || Status::read(child.leader()).is_ok_and(|status| status.disposition(TRAP) == Disposition::Caught);
        // It may have been made before.
        if trap == TrapAction::Ours && !catches() { TrapAction::Unknown } else { trap }
    }

    /// The kernel forgets the handler where a thread that blocks `SIGTRAP` runs into a breakpoint instruction.
    pub(super) fn forget_answer(&mut self, tid: Tid) -> Result<()> {
        let pid = self.thread(tid)?.pid;
        let trap = &mut self.debuggee_mut(pid)?.trap;
        if *trap == TrapAction::Ours {
            *trap = TrapAction::Forgotten;
        }
        Ok(())
    }

    /// Installs the handler, by a stopped thread that is about to run, where the kernel forgot it or it could not be before.
    pub(super) fn renew_answer(&mut self, tid: Tid) -> Result<()> {
        let thread = self.thread(tid)?;
        let (pid, can) = (thread.pid, matches!(thread.stop(), Some(Stop::Event | Stop::Trap)));
        let debuggee = self.debuggee(pid)?;
        let lacks = matches!(debuggee.trap, TrapAction::Unknown | TrapAction::Forgotten) && !debuggee.kill;
        if !can || !lacks || self.space_of(pid)?.answer.is_none() {
            return Ok(());
        }
        match self.install_answer_by(tid, pid) {
            Err(error) if is_gone(&error) => Err(error),
            Ok(()) if self.debuggee(pid)?.trap != TrapAction::Unknown => Ok(()),
            // It is not tried at each stop.
            _ => {
                self.debuggee_mut(pid)?.trap = TrapAction::Programs;
                Ok(())
            }
        }
    }

    /// Prepares a thread that a breakpoint instruction of ours stopped, and whose report the kernel has still: a signal whose
    /// report was taken is lost with the tracer, and the thread would go on behind the first byte of an instruction. It is to stand at the
    /// instruction, which the information of the signal names for the handler.
    pub(super) fn stand_at_trap(&mut self, tid: Tid) -> Result<()> {
        self.thread_mut(tid)?.stands = None;
        let info = sys::siginfo(tid)?;
        if !arch::is_breakpoint(&info) {
            return Ok(());
        }
        let pid = self.thread(tid)?.pid;
        let at = arch::pc(tid)?.wrapping_sub(crate::arch::BEHIND);
        let space = self.space_of(pid)?;
        if space.find(at).is_none() && space.place(at).is_none() {
            return Ok(());
        }
        let mut named = info;
        named.set_address(at);
        sys::set_siginfo(tid, &named)?;
        arch::set_pc(tid, at)?;
        self.thread_mut(tid)?.stands = Some(info);
        Ok(())
    }

    /// Where the breakpoint instruction lies that a thread was just stopped by.
    pub(super) fn trap_address(&self, tid: Tid) -> Result<u64> {
        let stands = self.thread(tid)?.stands.is_some();
        Ok(arch::pc(tid)?.wrapping_sub(if stands { 0 } else { crate::arch::BEHIND }))
    }

    /// The information of the breakpoint trap that a thread is stopped by, as the kernel made it.
    pub(super) fn trap_information(&mut self, tid: Tid) -> Result<SigInfo> {
        let info = sys::siginfo(tid)?;
        let Some(made) = self.thread_mut(tid)?.stands.take() else { return Ok(info) };
        sys::set_siginfo(tid, &made)?;
        Ok(made)
    }

    /// Whether a thread's breakpoint stops are to be prepared by [`Tracer::stand_at_trap`].
    pub(super) fn outlives(&self, tid: Tid) -> bool {
        let pid = self.threads.get(&tid).map(|thread| thread.pid);
        let debuggee = pid.and_then(|pid| self.debuggees.get(&pid));
        crate::arch::BEHIND > 0 && debuggee.is_some_and(|debuggee| !debuggee.kill)
    }
}

impl Space {
    /// The arenas that the page names.
    pub(super) fn named_arenas(&self) -> Vec<u64> {
        let Some(page) = self.answer else { return Vec::new() };
        let mut list = vec![0; 8 * MOST];
        let read = self.memory.read(page + DATA + ARENAS, &mut list);
        let words = list.get(..read).unwrap_or_default().as_chunks().0.iter().map(|raw| u64::from_le_bytes(*raw));
        words.take_while(|&base| base != 0).collect()
    }

    /// Tells the handler where the arenas lie.
    pub(super) fn name_arenas(&self) {
        let Some(page) = self.answer else { return };
        let bases = self.storages.iter().map(|storage| storage.arena.base()).take(MOST).chain([0]);
        let list: Vec<u8> = bases.flat_map(u64::to_le_bytes).collect();
        self.memory.write(page + DATA + ARENAS, &list);
    }
}
