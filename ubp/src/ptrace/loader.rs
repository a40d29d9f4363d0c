//! The dynamic loader: libraries are reported before any of their code runs.
//!
//! From exec to the program's entry point every system call that maps code is looked at. Afterwards a breakpoint stands on the
//! function that the loader calls for debuggers whenever its list of libraries changes (`r_brk` of `struct r_debug`, link.h).

use super::space::Internal;
use super::{Tracer, arch};
use crate::loader::Loader;
use crate::process::read_maps;
use crate::{EventKind, Pid, Result, Tid};

impl Tracer {
    /// A new program stands at its first instruction.
    pub(super) fn watch_loading(&mut self, tid: Tid) -> Result<()> {
        let pid = self.thread(tid)?.pid;
        let maps = read_maps(pid)?;
        let memory = &self.space_of(pid)?.memory;
        let words = |at, width| memory.read_word(at, width);
        let (loader, loads) = Loader::start(&maps, &self.debuggee(pid)?.process, &words);
        let debuggee = self.debuggee_mut(pid)?;
        debuggee.loader = loader;
        self.thread_mut(tid)?.loading = loads;
        let process = &self.debuggee(pid)?.process;
        match process.auxv.entry().filter(|_| process.auxv.base().is_some()) {
            Some(entry) => self.insert_internal(pid, entry.0, Internal::Entry),
            None => Ok(()),
        }
    }

    /// A process that runs already.
    pub(super) fn watch_loader(&mut self, pid: Pid) -> Result<()> {
        let maps = read_maps(pid)?;
        let mut loader = self.debuggee(pid)?.loader.clone();
        let memory = &self.space_of(pid)?.memory;
        let function = loader.find(&maps, &self.debuggee(pid)?.process, &|at, width| memory.read_word(at, width));
        self.debuggee_mut(pid)?.loader = loader;
        function.map_or(Ok(()), |function| self.insert_internal(pid, function, Internal::Loader))
    }

    /// The loader mapped code, or made what is mapped code.
    pub(super) fn on_mapped(&mut self, tid: Tid) -> Result<()> {
        let pid = self.thread(tid)?.pid;
        let maps = read_maps(pid)?;
        self.thread_mut(tid)?.wanted += 1;
        let result = self.follow_guards(pid, &maps);
        if let Ok(thread) = self.thread_mut(tid) {
            thread.wanted = thread.wanted.saturating_sub(1);
        }
        result?;
        if !self.debuggee_mut(pid)?.loader.changed(&maps) {
            return self.go_on(tid);
        }
        let mut loader = self.debuggee(pid)?.loader.clone();
        let memory = &self.space_of(pid)?.memory;
        let entry = loader.entry(&maps, &self.debuggee(pid)?.process, &|at, width| memory.read_word(at, width));
        if let Some(entry) = entry {
            self.debuggee_mut(pid)?.loader = loader;
            self.insert_internal(pid, entry, Internal::Entry)?;
        }
        let thread = self.thread_mut(tid)?;
        if thread.held {
            thread.pending.push_back(EventKind::Loaded);
            return Ok(());
        }
        self.hold(tid, EventKind::Loaded)
    }

    /// A thread is at a breakpoint of ours. Says whether code was mapped or unmapped.
    pub(super) fn on_internal(&mut self, tid: Tid, internal: Internal) -> Result<bool> {
        let pid = self.thread(tid)?.pid;
        match internal {
            Internal::Entry => {
                self.thread_mut(tid)?.loading = false;
                let entry = arch::pc(tid)?;
                self.remove_internal(pid, entry)?;
                self.thread_mut(tid)?.wanted += 1;
                let result = self.watch_loader(pid);
                if let Ok(thread) = self.thread_mut(tid) {
                    thread.wanted = thread.wanted.saturating_sub(1);
                }
                result.map(|()| false)
            }
            Internal::Loader => {
                let debuggee = self.debuggee(pid)?;
                let memory = &self.space_of(pid)?.memory;
                if !debuggee.loader.is_consistent(&debuggee.process, &|at, width| memory.read_word(at, width)) {
                    return Ok(false);
                }
                let maps = read_maps(pid)?;
                if !self.debuggee_mut(pid)?.loader.changed(&maps) {
                    return Ok(false);
                }
                self.space_of_mut(pid)?.drop_unmapped(&maps);
                Ok(true)
            }
        }
    }
}
