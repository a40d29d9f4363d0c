//! Breakpoints and system calls that rules need in each process.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use super::super::rule::{On, Place, Rule, RuleSet};
use super::super::vocabulary::Kind;
use super::{Known, Reaction, Refused, Rules, unless_gone};
use crate::{Address, Arch, BreakpointId, Error, Module, Patch, Pid, Result, Session, Spec, Syscalls};

impl Rules {
    /// Begins with a process that the session has just spawned or attached to: inserts the breakpoints of rules, and requests their system
    /// calls. Returns what was refused. The processes that it makes are begun with by [`Rules::react`].
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`]; [`Error::Unsupported`] if the session's mechanism does not have what a rule needs.
    pub fn adopt(&mut self, session: &mut Session, pid: Pid) -> Result<Vec<Refused>> {
        let mut reaction = Reaction::default();
        self.begin(session, pid)?;
        self.arm(session, pid, &mut reaction)?;
        Ok(reaction.refused)
    }

    /// Tells the addresses of the place of a name ([`Place::Named`]) in a process, in addition to those that were told before. Returns what was
    /// refused.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`].
    pub fn found(
        &mut self,
        session: &mut Session,
        pid: Pid,
        name: &str,
        addresses: &[Address],
    ) -> Result<Vec<Refused>> {
        let mut reaction = Reaction::default();
        let known = self.processes.get_mut(&pid).ok_or(Error::NoSuchProcess(pid))?;
        known.found.entry(name.into()).or_default().extend(addresses);
        self.arm(session, pid, &mut reaction)?;
        Ok(reaction.refused)
    }

    /// Carries out another set of rules from the next event on: all of it or, if it fails, none. Aggregates of the same name and declaration go
    /// on; limits begin anew, and moves of threads are forgotten. Named places keep their addresses.
    ///
    /// The session reports signals and threads by the options that it was opened with ([`RuleSet::options`]).
    ///
    /// # Errors
    /// [`Error::Rules`] if the set means nothing or exceeds a bound; [`Error::Insert`] if a breakpoint of it is refused;
    /// [`Error::Unsupported`], [`Error::System`]. The rules before stay in force then.
    pub fn replace(&mut self, session: &mut Session, set: RuleSet) -> Result<()> {
        let mut next = Rules::new(set)?;
        next.membership = std::mem::take(&mut self.membership);
        let moves = next.membership.clone();
        next.membership.forget_moves();
        let known = |(pid, known): (&Pid, &Known)| (*pid, known.with_rules(&next.set));
        next.processes = self.processes.iter().map(known).collect();
        let prepared = next.prepare(session);
        if let Err(error) = prepared {
            self.membership = moves;
            next.withdraw(session);
            // The system calls of the rules before are requested again.
            for (pid, known) in &mut self.processes {
                let before = known.requested.unwrap_or(Syscalls::NONE);
                if next.processes.get(pid).is_some_and(|next| next.requested != known.requested) {
                    unless_gone(session.trace_syscalls(*pid, before))?;
                }
            }
            return Err(error);
        }
        self.withdraw(session);
        for (number, summary) in next.set.aggregates.iter().enumerate() {
            let same = self.set.aggregates.iter().position(|before| before == summary);
            let before = same.and_then(|same| self.sums.get_mut(same));
            if let (Some(before), Some(sums)) = (before, next.sums.get_mut(number)) {
                std::mem::swap(before, sums);
            }
        }
        next.held = std::mem::take(&mut self.held);
        next.sequence = self.sequence;
        *self = next;
        Ok(())
    }

    /// Sets what the rules need in all processes. The first refusal is an error.
    fn prepare(&mut self, session: &mut Session) -> Result<()> {
        let mut pids: Vec<Pid> = self.processes.keys().copied().collect();
        pids.sort();
        for pid in pids {
            let mut reaction = Reaction::default();
            self.arm(session, pid, &mut reaction)?;
            match reaction.refused.into_iter().next() {
                Some(Refused::Breakpoint(error)) => return Err(error.into()),
                Some(Refused::Watch(error)) => return Err(error),
                None => {}
            }
        }
        Ok(())
    }

    /// Removes all breakpoints. A process that is gone has none.
    fn withdraw(&mut self, session: &mut Session) {
        for (pid, known) in &mut self.processes {
            let ids: Vec<BreakpointId> = known.breakpoints.drain().map(|(id, _)| id).collect();
            let _ = session.remove(*pid, &ids);
        }
    }

    pub(super) fn executed(&mut self, session: &mut Session, pid: Pid, reaction: &mut Reaction) -> Result<()> {
        if let Some(known) = self.processes.get_mut(&pid) {
            known.breakpoints.clear();
            known.found.clear();
        }
        self.begin(session, pid)?;
        self.arm(session, pid, reaction)
    }

    pub(super) fn forked(
        &mut self,
        session: &mut Session,
        pid: Pid,
        child: Pid,
        reaction: &mut Reaction,
    ) -> Result<()> {
        // The child has copies of the breakpoints, with the same ids, and the system calls of its parent.
        let known = self.processes.get(&pid).cloned().unwrap_or_default();
        self.processes.insert(child, known);
        self.membership.forked(pid, child);
        self.arm(session, child, reaction)
    }

    pub(super) fn loaded(
        &mut self,
        session: &mut Session,
        pid: Pid,
        modules: &[Module],
        reaction: &mut Reaction,
    ) -> Result<()> {
        let set = Arc::clone(&self.set);
        for number in 0..set.rules.len() {
            let Some(Place::File { path, address }) = set.place(number) else { continue };
            if self.is_wanted(session, pid, number) {
                let mapped = modules.iter().filter(|module| path.matches(module.path.as_os_str().as_bytes()));
                let addresses: Vec<Address> = mapped.map(|module| module.in_memory(*address)).collect();
                self.insert_at(session, pid, number, &addresses, reaction)?;
            }
        }
        Ok(())
    }

    pub(super) fn unloaded(&mut self, session: &mut Session, pid: Pid, modules: &[Module]) -> Result<()> {
        let Some(known) = self.processes.get_mut(&pid) else { return Ok(()) };
        let is_gone = |address: Address| modules.iter().any(|module| module.contains(address));
        let ids: Vec<BreakpointId> =
            known.breakpoints.iter().filter(|(_, (_, address))| is_gone(*address)).map(|(id, _)| *id).collect();
        known.breakpoints.retain(|id, _| !ids.contains(id));
        for addresses in known.found.values_mut() {
            addresses.retain(|address| !is_gone(*address));
        }
        unless_gone(session.remove(pid, &ids))
    }

    /// Notes a process, or the new program of one.
    fn begin(&mut self, session: &Session, pid: Pid) -> Result<()> {
        let process = session.process(pid).ok_or(Error::NoSuchProcess(pid))?;
        let known = self.processes.entry(pid).or_insert_with(|| Known { armed: self.set.armed(), ..Known::default() });
        known.executable = process.executable().as_os_str().as_bytes().to_vec();
        Ok(())
    }

    /// Inserts the breakpoints that are wanted in a process and not there, removes those that are not wanted any more, and requests system
    /// calls.
    pub(super) fn arm(&mut self, session: &mut Session, pid: Pid, reaction: &mut Reaction) -> Result<()> {
        let set = Arc::clone(&self.set);
        for number in 0..set.rules.len() {
            if set.place(number).is_none() {
                continue;
            }
            if self.is_wanted(session, pid, number) {
                let addresses = self.addresses(session, &set, pid, number)?;
                self.insert_at(session, pid, number, &addresses, reaction)?;
            } else {
                self.remove_own(session, pid, number)?;
            }
        }
        self.request(session, pid)
    }

    /// Inserts the breakpoints of a rule in a process for [`Action::Insert`](super::super::Action::Insert).
    pub(super) fn insert(
        &mut self,
        session: &mut Session,
        pid: Pid,
        number: usize,
        reaction: &mut Reaction,
    ) -> Result<()> {
        if let Some(known) = self.processes.get_mut(&pid) {
            known.armed.insert(number);
        }
        self.arm(session, pid, reaction)
    }

    /// Removes the breakpoints of a rule from a process for [`Action::Remove`](super::super::Action::Remove).
    pub(super) fn remove(&mut self, session: &mut Session, pid: Pid, number: usize) -> Result<()> {
        if let Some(known) = self.processes.get_mut(&pid) {
            known.armed.remove(&number);
        }
        self.remove_own(session, pid, number)
    }

    fn remove_own(&mut self, session: &mut Session, pid: Pid, number: usize) -> Result<()> {
        let Some(known) = self.processes.get_mut(&pid) else { return Ok(()) };
        let own = known.breakpoints.iter().filter(|(_, (rule, _))| *rule == number);
        let ids: Vec<BreakpointId> = own.map(|(id, _)| *id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        known.breakpoints.retain(|id, _| !ids.contains(id));
        unless_gone(session.remove(pid, &ids))
    }

    /// Whether a process may have threads for which a rule's breakpoints are wanted.
    fn is_wanted(&self, session: &Session, pid: Pid, number: usize) -> bool {
        let is_armed = self.processes.get(&pid).is_some_and(|known| known.armed.contains(&number));
        is_armed && self.may_concern(session, pid, number)
    }

    /// Whether a process may have threads in the group of a rule.
    fn may_concern(&self, session: &Session, pid: Pid, number: usize) -> bool {
        let Some(rule) = self.set.rules.get(number) else { return false };
        let group = self.group_number(&rule.group);
        let Some((group, declared)) = group.and_then(|number| Some((number, self.set.groups.get(number)?))) else {
            return false;
        };
        let executable = self.processes.get(&pid).map_or(&[][..], |known| &known.executable);
        let threads = session.process(pid).into_iter().flat_map(|process| process.threads());
        self.membership.may_contain(group, &declared.members, pid, executable, threads)
    }

    /// The addresses of a rule's place in a process.
    fn addresses(&self, session: &mut Session, set: &RuleSet, pid: Pid, number: usize) -> Result<Vec<Address>> {
        Ok(match set.place(number) {
            Some(Place::Address(address)) => vec![*address],
            Some(Place::File { path, address }) => {
                let modules = match session.modules(pid) {
                    Err(Error::NoSuchProcess(_)) => Vec::new(),
                    other => other?,
                };
                let mapped = modules.iter().filter(|module| path.matches(module.path.as_os_str().as_bytes()));
                mapped.map(|module| module.in_memory(*address)).collect()
            }
            Some(Place::Named(name)) => {
                self.processes.get(&pid).and_then(|known| known.found.get(name)).cloned().unwrap_or_default()
            }
            None => Vec::new(),
        })
    }

    /// Inserts breakpoints of a rule where it has none yet.
    fn insert_at(
        &mut self,
        session: &mut Session,
        pid: Pid,
        number: usize,
        addresses: &[Address],
        reaction: &mut Reaction,
    ) -> Result<()> {
        let (Some(rule), Some(known)) = (self.set.rules.get(number), self.processes.get_mut(&pid)) else {
            return Ok(());
        };
        let there: HashSet<Address> =
            known.breakpoints.values().filter(|(own, _)| *own == number).map(|(_, address)| *address).collect();
        let new: Vec<Address> = addresses.iter().copied().filter(|address| !there.contains(address)).collect();
        let arch = session.process(pid).map(|process| process.arch());
        if new.is_empty() {
            return Ok(());
        }
        let specs: Vec<Spec> = new.iter().map(|address| spec(*address, rule, arch)).collect();
        let answers = match session.insert(pid, &specs) {
            Err(Error::NoSuchProcess(_)) => return Ok(()),
            other => other?,
        };
        for (address, answer) in new.into_iter().zip(answers) {
            match answer {
                Ok(id) => drop(known.breakpoints.insert(id, (number, address))),
                Err(error) => reaction.refused.push(Refused::Breakpoint(error)),
            }
        }
        Ok(())
    }

    /// Requests the system calls of the rules that may concern a process.
    fn request(&mut self, session: &mut Session, pid: Pid) -> Result<()> {
        let mut wanted = Syscalls::NONE;
        for number in 0..self.set.rules.len() {
            if !self.may_concern(session, pid, number) {
                continue;
            }
            let Some(rule) = self.set.rules.get(number) else { continue };
            match &rule.on {
                On::Kind(Kind::SyscallEntered | Kind::SyscallReturned) => wanted = Syscalls::ALL,
                on => wanted = on.syscalls().map_or(wanted, |calls| wanted.or(calls)),
            }
        }
        let Some(known) = self.processes.get_mut(&pid) else { return Ok(()) };
        if known.requested.unwrap_or(Syscalls::NONE) == wanted {
            return Ok(());
        }
        unless_gone(session.trace_syscalls(pid, wanted))?;
        known.requested = Some(wanted);
        Ok(())
    }
}

impl Known {
    /// What is known of the process whatever the rules are, with the rules of a new set.
    fn with_rules(&self, set: &RuleSet) -> Known {
        let Known { executable, found, requested, .. } = self.clone();
        Known { executable, found, requested, armed: set.armed(), ..Known::default() }
    }
}

impl RuleSet {
    /// The numbers of the rules whose breakpoints are wanted from the begin on.
    fn armed(&self) -> HashSet<usize> {
        self.rules.iter().enumerate().filter(|(_, rule)| rule.armed).map(|(number, _)| number).collect()
    }

    /// The place of a rule's breakpoint.
    fn place(&self, number: usize) -> Option<&Place> {
        match &self.rules.get(number)?.on {
            On::Breakpoint(place) => Some(place),
            _ => None,
        }
    }
}

/// The breakpoint of a rule: as much of the filter as can be is its condition.
fn spec(address: Address, rule: &Rule, arch: Option<Arch>) -> Spec {
    let spec = Spec::event(address).patch(Patch::Auto);
    match arch.and_then(|arch| rule.filter.condition(arch)) {
        Some(condition) => spec.when(condition),
        None => spec,
    }
}
