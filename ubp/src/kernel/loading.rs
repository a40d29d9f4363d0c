//! The dynamic loader: libraries are reported before their code runs.
//!
//! Until the program's entry point is reached, a site after the loader's system call of `mmap` reports new code. Then a site on the function
//! that the loader calls for debuggers does, whenever its list of libraries changes.

use super::arch;
use super::site::Internal;
use super::{Debuggee, Kernel};
use crate::loader::Loader;
use crate::process::read_maps;
use crate::{EventKind, Mapping, Pid, Result};

impl Kernel {
    /// A new program is held at its first instruction.
    pub(super) fn watch_loading(&mut self, pid: Pid) -> Result<()> {
        let maps = read_maps(pid)?;
        let read = |at, buffer: &mut [u8]| self.read(pid, at, buffer);
        let (loader, loads) = Loader::start(&maps, &self.debuggee(pid)?.process, &read);
        let debuggee = self.debuggee_mut(pid)?;
        debuggee.loader = loader;
        let auxv = &debuggee.process.auxv;
        // A loader that was executed as a program has begun already.
        let own = auxv.program_headers().map(|(headers, ..)| headers);
        let Some(base) = auxv.base().or(own).filter(|_| loads) else { return Ok(()) };
        let entry = auxv.entry().filter(|_| auxv.base().is_some());
        let mut wanted: Vec<(u64, Internal)> = entry.map(|entry| (entry.0, Internal::Entry)).into_iter().collect();
        let first = maps.iter().find(|map| map.contains(base)).map_or(0, |map| map.inode);
        for code in maps.iter().filter(|map| map.execute && map.inode == first && first != 0) {
            wanted.extend(self.behind_mmap(pid, code)?.into_iter().map(|address| (address, Internal::Mapped)));
        }
        wanted.sort_unstable_by_key(|(address, _)| *address);
        self.insert_internal(pid, &wanted)
    }

    /// Addresses in a mapping to which the loader's system calls of `mmap` return.
    fn behind_mmap(&self, pid: Pid, code: &Mapping) -> Result<Vec<u64>> {
        let mut bytes = vec![0; (code.end - code.start) as usize];
        let there = self.read_memory(pid, code.start, &mut bytes)?;
        let found = arch::behind_mmap(bytes.get(..there).unwrap_or_default());
        Ok(found.map(|offset| code.start.0 + offset).collect())
    }

    /// Sets the site on the loader's function for debuggers.
    pub(super) fn watch_loader(&mut self, pid: Pid) -> Result<()> {
        let maps = read_maps(pid)?;
        let mut loader = self.debuggee(pid)?.loader.clone();
        let function = loader.find(&maps, &self.debuggee(pid)?.process, &|at, buffer| self.read(pid, at, buffer));
        self.debuggee_mut(pid)?.loader = loader;
        function.map_or(Ok(()), |function| self.insert_internal(pid, &[(function, Internal::Loader)]))
    }

    /// The program's entry point is reached: its libraries are loaded.
    pub(super) fn on_entry(&mut self, pid: Pid) -> Result<()> {
        let until_now = |(address, site): (&u64, &super::Site)| {
            matches!(site.internal, Some(Internal::Entry | Internal::Mapped)).then_some(*address)
        };
        let addresses: Vec<u64> = self.debuggee(pid)?.sites.iter().filter_map(until_now).collect();
        self.remove_internal(pid, &addresses)?;
        self.watch_loader(pid)
    }

    /// The loader may have mapped code.
    pub(super) fn on_mapped(&mut self, pid: Pid) -> Result<Option<EventKind>> {
        let maps = read_maps(pid)?;
        let mut loader = self.debuggee(pid)?.loader.clone();
        let change = loader.change(&maps, &|at, buffer| self.read(pid, at, buffer));
        let entry = loader.entry(&maps, &self.debuggee(pid)?.process, &|at, buffer| self.read(pid, at, buffer));
        let Kernel { channel, debuggees, .. } = self;
        let Some(debuggee) = debuggees.get_mut(&pid) else { return Ok(None) };
        if arch::guards() {
            debuggee.set_again(channel)?;
        }
        debuggee.loader = loader;
        if let Some(entry) = entry {
            self.insert_internal(pid, &[(entry, Internal::Entry)])?;
        }
        Ok(change)
    }

    /// The loader's list of libraries is about to change, or has changed.
    pub(super) fn on_loader(&mut self, pid: Pid) -> Result<Option<EventKind>> {
        let Debuggee { process, loader, .. } = self.debuggee(pid)?;
        if !loader.is_consistent(process, &|at, buffer| self.read(pid, at, buffer)) {
            return Ok(None);
        }
        let maps = read_maps(pid)?;
        let mut loader = loader.clone();
        let change = loader.change(&maps, &|at, buffer| self.read(pid, at, buffer));
        let Kernel { channel, debuggees, .. } = self;
        let Some(debuggee) = debuggees.get_mut(&pid) else { return Ok(None) };
        debuggee.loader = loader;
        if change.is_some() {
            debuggee.drop_unmapped(channel, &maps)?;
        }
        Ok(change)
    }
}
