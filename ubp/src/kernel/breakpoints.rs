//! Inserting, removing and counting breakpoints.

use wire::commands::{Command, Reply};
use wire::site;
use wire::{Status, blob};

use super::channel::Channel;
use super::code::Code;
use super::site::{Internal, Own, Site};
use super::{Debuggee, Kernel, failed, hidden};
use crate::arch::BREAKPOINT;
use crate::memory::ProcessMemory;
use crate::process::read_maps;
use crate::{
    Address, Arch, Breakpoint, BreakpointId, Error, InsertError, InsertReason, Mapping, Method, NoJump, Pid, Report,
    Result, Spec, Tid,
};

/// Sites in one command, so that it is shorter than the longest message.
const BATCH: usize = 200_000;

impl Kernel {
    pub(super) fn insert(&mut self, pid: Pid, specs: &[Spec]) -> Result<Vec<Result<BreakpointId, InsertError>>> {
        match self.insert_mapped(pid, specs) {
            // The process has ended, and its end is not reported yet.
            Err(Error::NoSuchProcess(_)) if self.debuggees.contains_key(&pid) => {
                let refused = |spec: &Spec| Err(InsertError { address: spec.address, reason: InsertReason::NotMapped });
                Ok(specs.iter().map(refused).collect())
            }
            answer => answer,
        }
    }

    /// Inserts breakpoints in a process that has not ended.
    fn insert_mapped(&mut self, pid: Pid, specs: &[Spec]) -> Result<Vec<Result<BreakpointId, InsertError>>> {
        let records = specs.iter().any(|spec| spec.report == Report::Record) && self.records_by_module(pid)?;
        let Kernel { channel, debuggees, .. } = self;
        let debuggee = debuggees.get_mut(&pid).ok_or(Error::NoSuchProcess(pid))?;
        let mut addresses: Vec<u64> = specs.iter().map(|spec| spec.address.0).collect();
        addresses.sort_unstable();
        addresses.dedup();
        debuggee.drop_stale(channel, &addresses)?;
        let there: Vec<u64> =
            addresses.iter().copied().filter(|address| debuggee.sites.contains_key(address)).collect();
        let since: Vec<u64> = debuggee.counted(channel, &there)?.into_iter().map(|[arrivals, _]| arrivals).collect();
        let first = debuggee.breakpoints.len();
        for (number, spec) in (first..).zip(specs) {
            let address = spec.address.0;
            let id = BreakpointId(number as u32);
            debuggee.sites.entry(address).or_default().ids.push(id);
            let since = there.binary_search(&address).ok().and_then(|at| since.get(at)).copied().unwrap_or(0);
            let breakpoint = Breakpoint {
                id,
                spec: spec.clone(),
                method: Method::Emulated,
                hits: 0,
                arrivals: 0,
                next: None,
                active: true,
                no_jump: Some(NoJump::Mechanism),
                since: 0,
            };
            debuggee.breakpoints.push(Some(Own { breakpoint, since, records }));
        }
        let shown = debuggee.bring_up(channel, &addresses).and_then(|refused| {
            let hidden = hidden::storage(channel, debuggee.number, pid)?;
            Ok((refused, hidden))
        });
        let (refused, hidden) = match shown {
            Ok(shown) => shown,
            Err(error) => {
                // The user gets no ids: there shall be no breakpoint without one.
                debuggee.withdraw(first);
                let _ = debuggee.bring_up(channel, &addresses);
                return Err(error);
            }
        };
        debuggee.process.hidden = hidden;
        let mut code = Code::new(channel, debuggee.number, debuggee.mode, &debuggee.process.hidden);
        let methods: Vec<Method> =
            addresses.iter().map(|address| code.method(*address).unwrap_or(Method::Emulated)).collect();
        let answer = |(number, spec): (usize, &Spec)| {
            let address = spec.address;
            let own = debuggee.breakpoints.get_mut(number);
            let found = refused.binary_search_by_key(&address.0, |(address, _)| *address).ok();
            if let Some((_, reason)) = found.and_then(|at| refused.get(at)) {
                if let Some(own) = own {
                    *own = None;
                }
                return Err(InsertError { address, reason: *reason });
            }
            if let (Some(Some(own)), Ok(at)) = (own, addresses.binary_search(&address.0)) {
                own.breakpoint.method = methods.get(at).copied().unwrap_or(Method::Emulated);
            }
            Ok(BreakpointId(number as u32))
        };
        Ok((first..).zip(specs).map(answer).collect())
    }

    pub(super) fn remove(&mut self, pid: Pid, ids: &[BreakpointId]) -> Result<()> {
        let Kernel { channel, debuggees, .. } = self;
        let debuggee = debuggees.get_mut(&pid).ok_or(Error::NoSuchProcess(pid))?;
        let mut removed = Vec::new();
        for id in ids {
            let Some(own) = debuggee.breakpoints.get_mut(id.0 as usize).and_then(Option::take) else { continue };
            if let Some(site) = debuggee.sites.get_mut(&own.breakpoint.spec.address.0) {
                site.ids.retain(|other| other != id);
            }
            removed.push(own);
        }
        let mut addresses: Vec<u64> = removed.iter().map(|own| own.breakpoint.spec.address.0).collect();
        addresses.retain(|address| debuggee.sites.contains_key(address));
        addresses.sort_unstable();
        addresses.dedup();
        match debuggee.bring_up(channel, &addresses) {
            // The sites went with the memory of a process whose end is not reported yet.
            Ok(_) | Err(Error::NoSuchProcess(_)) => Ok(()),
            Err(error) => {
                removed.into_iter().for_each(|own| debuggee.put_back(own));
                Err(error)
            }
        }
    }

    pub(super) fn breakpoint(&self, pid: Pid, id: BreakpointId) -> Option<Breakpoint> {
        let debuggee = self.any(pid)?;
        let own = debuggee.breakpoints.get(id.0 as usize)?.as_ref()?;
        Some(match debuggee.site_of(own) {
            Some(address) => {
                own.after(debuggee.counted(&self.channel, &[address]).ok().and_then(|all| all.first().copied())?)
            }
            None => own.breakpoint.clone(),
        })
    }

    pub(super) fn breakpoints(&self, pid: Pid) -> impl Iterator<Item = Breakpoint> {
        let debuggee = self.any(pid);
        let all = debuggee.map(|debuggee| {
            let addresses: Vec<u64> = debuggee.sites.keys().copied().collect();
            let counted = debuggee.counted(&self.channel, &addresses).unwrap_or_default();
            let of = |own: &Own| {
                let at = debuggee.site_of(own).and_then(|address| addresses.binary_search(&address).ok());
                at.and_then(|at| counted.get(at)).map_or_else(|| own.breakpoint.clone(), |counted| own.after(*counted))
            };
            debuggee.breakpoints.iter().flatten().map(of).collect::<Vec<_>>()
        });
        all.unwrap_or_default().into_iter()
    }

    /// Subtracts an arrival that the kernel has counted although the program did not cause it.
    pub(super) fn uncount(&mut self, pid: Pid, address: u64) {
        if let Some(site) = self.debuggees.get_mut(&pid).and_then(|debuggee| debuggee.sites.get_mut(&address)) {
            site.before = site.before.wrapping_sub(1);
        }
    }

    /// A process, even if it has ended.
    fn any(&self, pid: Pid) -> Option<&Debuggee> {
        self.debuggees.get(&pid).or_else(|| self.ended.get(&pid))
    }

    /// Sets sites that the session itself needs.
    pub(super) fn insert_internal(&mut self, pid: Pid, wanted: &[(u64, Internal)]) -> Result<()> {
        self.change_internal(pid, wanted.iter().map(|(address, internal)| (*address, Some(*internal))))
    }

    pub(super) fn remove_internal(&mut self, pid: Pid, addresses: &[u64]) -> Result<()> {
        self.change_internal(pid, addresses.iter().map(|address| (*address, None)))
    }

    fn change_internal(&mut self, pid: Pid, wanted: impl Iterator<Item = (u64, Option<Internal>)>) -> Result<()> {
        let Kernel { channel, debuggees, .. } = self;
        let debuggee = debuggees.get_mut(&pid).ok_or(Error::NoSuchProcess(pid))?;
        let mut addresses = Vec::new();
        for (address, internal) in wanted {
            debuggee.sites.entry(address).or_default().internal = internal;
            addresses.push(address);
        }
        debuggee.bring_up(channel, &addresses).map(drop)
    }
}

impl Debuggee {
    /// Forgets the breakpoints from the number `first` on.
    fn withdraw(&mut self, first: usize) {
        for site in self.sites.values_mut() {
            site.ids.retain(|id| (id.0 as usize) < first);
        }
        self.breakpoints.truncate(first);
    }

    /// Puts a removed breakpoint back.
    fn put_back(&mut self, own: Own) {
        let id = own.breakpoint.id;
        if own.breakpoint.active {
            let site = self.sites.entry(own.breakpoint.spec.address.0).or_default();
            site.ids.push(id);
            site.ids.sort_unstable();
        }
        if let Some(place) = self.breakpoints.get_mut(id.0 as usize) {
            *place = Some(own);
        }
    }

    /// Takes breakpoints out of use; their counts stay.
    pub(super) fn finish(&mut self, channel: &Channel, ids: &[BreakpointId]) -> Result<()> {
        let mut addresses = Vec::new();
        for id in ids {
            let Some(Some(own)) = self.breakpoints.get_mut(id.0 as usize) else { continue };
            let address = own.breakpoint.spec.address.0;
            own.breakpoint.active = false;
            if let Some(site) = self.sites.get_mut(&address) {
                site.ids.retain(|other| other != id);
                addresses.push(address);
            }
        }
        addresses.sort_unstable();
        addresses.dedup();
        self.bring_up(channel, &addresses).map(drop)
    }

    /// Takes the breakpoints of single threads out of use whose thread is `chosen`.
    pub(super) fn finish_threads(&mut self, channel: &Channel, chosen: impl Fn(Tid) -> bool) -> Result<()> {
        let all = self.breakpoints.iter().flatten().map(|own| &own.breakpoint);
        let of = all.filter(|breakpoint| breakpoint.active && breakpoint.spec.thread.is_some_and(&chosen));
        let ids: Vec<BreakpointId> = of.map(|breakpoint| breakpoint.id).collect();
        if ids.is_empty() { Ok(()) } else { self.finish(channel, &ids) }
    }

    /// The address of a breakpoint's site, if the breakpoint is active.
    fn site_of(&self, own: &Own) -> Option<u64> {
        let address = own.breakpoint.spec.address.0;
        self.sites.get(&address).filter(|site| site.ids.contains(&own.breakpoint.id)).map(|_| address)
    }

    /// The number of arrivals at each site, and of the hits that its rule counts.
    fn counted(&self, channel: &Channel, addresses: &[u64]) -> Result<Vec<[u64; 2]>> {
        let (counts, taken) = (self.counts(channel, addresses)?, self.taken(channel, addresses)?);
        let counted = |(address, (count, taken)): (&u64, (u64, u64))| {
            let site = self.sites.get(address);
            let [before, taken_before] = site.map_or([0; 2], |site| [site.before, site.taken_before]);
            [count.wrapping_add(before), taken.wrapping_add(taken_before)]
        };
        Ok(addresses.iter().zip(counts.into_iter().zip(taken)).map(counted).collect())
    }

    /// The kernel's count of each site; 0 if there is no site.
    pub(super) fn counts(&self, channel: &Channel, addresses: &[u64]) -> Result<Vec<u64>> {
        let debuggee = self.number;
        self.ask_counts(channel, "counts", addresses, |addresses| Command::Counts { debuggee, addresses })
    }

    /// The hits that the rules of sites count; 0 for sites without such a rule.
    fn taken(&self, channel: &Channel, addresses: &[u64]) -> Result<Vec<u64>> {
        let is_counted = |address: &u64| self.sites.get(address).is_some_and(Site::is_counted);
        let ruled: Vec<u64> = addresses.iter().copied().filter(is_counted).collect();
        let debuggee = self.number;
        let taken = self.ask_counts(channel, "taken", &ruled, |addresses| Command::Taken { debuggee, addresses })?;
        let mut taken = taken.into_iter();
        Ok(addresses.iter().map(|at| if is_counted(at) { taken.next().unwrap_or(0) } else { 0 }).collect())
    }

    /// The kernel's numbers for each address, by a command that takes addresses; 0 where it has none.
    fn ask_counts(
        &self,
        channel: &Channel,
        name: &'static str,
        addresses: &[u64],
        command: impl for<'a> Fn(&'a [u8]) -> Command<'a>,
    ) -> Result<Vec<u64>> {
        let mut all = Vec::with_capacity(addresses.len());
        for some in addresses.chunks(BATCH) {
            let got = channel.ask(command(&blob::from_words(some)), |told| match told {
                Ok(Reply::Counts { counts } | Reply::Taken { taken: counts }) => {
                    Ok(blob::counts(counts).into_iter().flatten().collect())
                }
                Ok(_) => Ok(Vec::new()),
                Err(failure) => Err(failure),
            })?;
            let got = got.map_err(|failure| failed(self.process.pid, name, failure))?;
            all.extend(got.into_iter().map(|count: Option<u64>| count.unwrap_or(0)));
        }
        Ok(all)
    }

    /// Makes the kernel's sites at `addresses`, which are sorted, match what is wanted. Returns the refused addresses, sorted.
    pub(super) fn bring_up(&mut self, channel: &Channel, addresses: &[u64]) -> Result<Vec<(u64, InsertReason)>> {
        let narrow = self.process.arch == Arch::I386;
        let mut changes = Vec::new();
        for address in addresses {
            let Some(site) = self.sites.get(address) else { continue };
            let (wanted, rule) = site.wanted(*address, &self.breakpoints, narrow, channel)?.unzip();
            if wanted.is_none() || wanted != site.asked {
                changes.push((*address, wanted, rule.flatten()));
            }
        }
        let stands = |(address, ..): &(u64, _, _)| self.sites.get(address).is_some_and(|site| site.asked.is_some());
        let old: Vec<u64> = changes.iter().filter(|change| stands(change)).map(|change| change.0).collect();
        if !old.is_empty() {
            self.lift(channel, &old)?;
        }
        let new: Vec<site::Site> = changes.iter().filter_map(|change| change.1).collect();
        let refused = self.set(channel, &new)?;
        for (address, wanted, rule) in changes {
            let is_refused = refused.binary_search_by_key(&address, |(address, _)| *address).is_ok();
            if wanted.is_none() || is_refused {
                self.sites.remove(&address);
            } else if let Some(site) = self.sites.get_mut(&address) {
                (site.asked, site.rule) = (wanted, rule.zip(site.ids.first().copied()));
            }
        }
        Ok(refused)
    }

    /// Removes sites from the kernel, and keeps their counts.
    fn lift(&mut self, channel: &Channel, addresses: &[u64]) -> Result<()> {
        let counted = self.counted(channel, addresses)?;
        self.take_out(channel, addresses)?;
        for (address, [arrivals, taken]) in addresses.iter().zip(counted) {
            let Some(site) = self.sites.get_mut(address) else { continue };
            (site.asked, site.before, site.taken_before) = (None, arrivals, 0);
            let Some((_, id)) = site.rule.take() else { continue };
            if let Some(Some(own)) = self.breakpoints.get_mut(id.0 as usize) {
                own.breakpoint.hits = own.breakpoint.hits.wrapping_add(taken);
            }
        }
        Ok(())
    }

    /// Removes sites from the kernel.
    fn take_out(&self, channel: &Channel, addresses: &[u64]) -> Result<()> {
        if addresses.is_empty() {
            return Ok(());
        }
        let remove = Command::Remove { debuggee: self.number, addresses: &blob::from_words(addresses) };
        let told = channel.ask(remove, |told| told.map(drop))?;
        told.map_err(|failure| failed(self.process.pid, "remove", failure))
    }

    /// Sets sites in the kernel. Returns the refused addresses, sorted.
    fn set(&self, channel: &Channel, sites: &[site::Site]) -> Result<Vec<(u64, InsertReason)>> {
        let mut refused = Vec::new();
        for some in sites.chunks(BATCH) {
            let mut failures = self.try_set(channel, some)?;
            // After an unmapping and a new mapping the kernel still has the old site.
            let (stale, other): (Vec<_>, Vec<_>) =
                failures.into_iter().partition(|(_, status, _)| *status == Status::Exists as u64);
            failures = other;
            if !stale.is_empty() {
                let again: Vec<site::Site> =
                    stale.iter().filter_map(|(at, ..)| some.get(*at as usize).copied()).collect();
                self.take_out(channel, &again.iter().map(|site| site.address).collect::<Vec<_>>())?;
                let indices: Vec<u64> = stale.iter().map(|(at, ..)| *at).collect();
                let failed = self.try_set(channel, &again)?;
                let index = |at: u64| indices.get(at as usize).copied().unwrap_or(u64::MAX);
                failures.extend(failed.into_iter().map(|(at, status, detail)| (index(at), status, detail)));
            }
            if failures.is_empty() {
                continue;
            }
            let maps = read_maps(self.process.pid)?;
            let storage = hidden::storage(channel, self.number, self.process.pid)?;
            let mut code = Code::new(channel, self.number, self.mode, &storage);
            for (at, status, _) in failures {
                if let Some(site) = some.get(at as usize) {
                    refused.push((site.address, reason(site.address, status, &maps, &mut code)));
                }
            }
        }
        refused.sort_unstable_by_key(|(address, _)| *address);
        Ok(refused)
    }

    /// Sets sites in the kernel. Returns index, status and detail for each that was not set.
    fn try_set(&self, channel: &Channel, sites: &[site::Site]) -> Result<Vec<(u64, u64, u64)>> {
        if sites.is_empty() {
            return Ok(Vec::new());
        }
        let bytes: Vec<u8> = sites.iter().flat_map(site::Site::bytes).collect();
        let told = channel.ask(Command::Insert { debuggee: self.number, sites: &bytes }, |told| {
            told.map(|reply| match reply {
                Reply::Insert { failures, .. } => blob::words(failures).into_iter().flatten().collect(),
                _ => Vec::<u64>::new(),
            })
        })?;
        let words = told.map_err(|failure| failed(self.process.pid, "insert", failure))?;
        let failures = words.chunks_exact(3).filter_map(|failure| failure.first_chunk());
        Ok(failures.map(|[at, status, detail]| (*at, *status, *detail)).collect())
    }

    /// Forgets sites in code that is no longer mapped.
    pub(super) fn drop_unmapped(&mut self, channel: &Channel, maps: &[Mapping]) -> Result<()> {
        let is_there = |address: u64| maps.iter().any(|map| map.execute && map.contains(Address(address)));
        self.drop_sites(channel, self.sites.keys().copied().filter(|address| !is_there(*address)).collect())
    }

    /// Forgets those sites among `addresses` whose mapping was replaced by another one.
    fn drop_stale(&mut self, channel: &Channel, addresses: &[u64]) -> Result<()> {
        let there: Vec<u64> = addresses.iter().copied().filter(|address| self.sites.contains_key(address)).collect();
        if there.is_empty() {
            return Ok(());
        }
        let memory = ProcessMemory::open(self.process.pid)?;
        let is_stale = |address: &u64| memory.read_array(*address) != Some(BREAKPOINT);
        let stale: Vec<u64> = there.into_iter().filter(is_stale).collect();
        self.drop_sites(channel, stale.clone())?;
        self.take_out(channel, &stale)
    }

    /// Sets sites again whose code was mapped a second time, as the loader does to guard it (BTI).
    pub(super) fn set_again(&mut self, channel: &Channel) -> Result<()> {
        let memory = ProcessMemory::open(self.process.pid)?;
        let is_stale = |address: &u64| memory.read_array(*address) != Some(BREAKPOINT);
        let stale: Vec<u64> = self.sites.keys().copied().filter(is_stale).collect();
        self.lift(channel, &stale)?;
        self.bring_up(channel, &stale).map(drop)
    }

    /// Forgets sites; their breakpoints become inactive.
    fn drop_sites(&mut self, channel: &Channel, gone: Vec<u64>) -> Result<()> {
        let counted = if self.number == 0 { vec![[0; 2]; gone.len()] } else { self.counted(channel, &gone)? };
        for (address, counted) in gone.into_iter().zip(counted) {
            let Site { ids, .. } = self.sites.remove(&address).unwrap_or_default();
            for id in ids {
                if let Some(Some(own)) = self.breakpoints.get_mut(id.0 as usize) {
                    own.breakpoint = Breakpoint { active: false, ..own.after(counted) };
                }
            }
        }
        Ok(())
    }

    /// Lets the breakpoints of a forked child count from zero.
    pub(super) fn begin_anew(&mut self, channel: &Channel) -> Result<()> {
        let addresses: Vec<u64> = self.sites.keys().copied().collect();
        let (counts, taken) = (self.counts(channel, &addresses)?, self.taken(channel, &addresses)?);
        for (site, (count, taken)) in self.sites.values_mut().zip(counts.into_iter().zip(taken)) {
            (site.before, site.taken_before) = (count.wrapping_neg(), taken.wrapping_neg());
        }
        for own in self.breakpoints.iter_mut().flatten() {
            (own.since, own.breakpoint.hits, own.breakpoint.arrivals) = (0, 0, 0);
        }
        self.finish_threads(channel, |_| true)?;
        // No thread of the child is to run anywhere.
        let of = self.sites.iter_mut().filter(|(_, site)| !site.targets.is_empty());
        let addresses: Vec<u64> = of
            .map(|(address, site)| {
                site.targets.clear();
                *address
            })
            .collect();
        self.bring_up(channel, &addresses).map(drop)
    }

    /// Stores the final counts of all breakpoints, before their memory is released.
    pub(super) fn settle(&mut self, channel: &Channel) -> Result<()> {
        self.drop_unmapped(channel, &[])
    }
}

/// The reason why the kernel did not set a site.
fn reason(address: u64, status: u64, maps: &[Mapping], code: &mut Code<'_>) -> InsertReason {
    let Some(mapping) = maps.iter().find(|map| map.contains(Address(address))) else { return InsertReason::NotMapped };
    if !mapping.execute {
        return InsertReason::NotExecutable;
    }
    match Status::from_number(status) {
        Some(Status::NoMemory | Status::Limit) => InsertReason::NoRoom,
        Some(Status::Memory) => InsertReason::NotWritable,
        _ => code.method(address).err().unwrap_or(InsertReason::Unsupported),
    }
}
