//! Inserts breakpoints at the user's locations, and removes them when their code is unmapped.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;
use ubp::{
    Address, AggregationId, Breakpoint, BreakpointId, InsertError, InsertReason, Method, Patch, Report, Session, Spec,
    Tid,
};
use ubp_symbols::files::Fetch;
use ubp_symbols::{Images, Module};

use super::covered::Covered;
use super::gate::Gate;
use super::plan::{Planned, Sites, Wanted, function_parts};
use super::running::Running;
use super::semaphore::raise_semaphore;
use super::sieve::{Sieve, Sieved};
use super::summing::{Summing, Sums};
use super::told::Told;
use super::watches::Watches;
use super::{confirm, jumpless, tracers};
use crate::location::{self, Location};
use crate::native;
use crate::output::{Patience, shown, tell};
use crate::process::{Role, Space, inside_instruction};
use crate::values::{needs_trap, texts};

/// The largest number of refused instructions that are listed one by one.
const LISTED: usize = 8;

/// An instruction without a breakpoint. The field names are the keys of the JSON form.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Refused {
    location: String,
    module: Option<String>,
    /// The address in the module's file.
    address: String,
    reason: String,
}

/// The kind of the user's breakpoints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// What happens at a hit.
    pub(crate) report: Report,
    /// Whether records have the text at arguments.
    pub(crate) text: bool,
    /// Whether records have the stack.
    pub(crate) stack: bool,
    /// The instruction at a site.
    pub(crate) patch: Patch,
    /// Whether the command follows functions to their results.
    pub(crate) results: bool,
    /// How hits are summed up, where that need not be done here.
    pub(crate) sums: Option<Sums>,
}

impl Kind {
    /// Breakpoints that do this at a hit, and whose sites have this instruction.
    pub(crate) const fn new(report: Report, patch: Patch) -> Kind {
        Kind { report, text: false, stack: false, patch, results: false, sums: None }
    }
}

/// Inserts breakpoints, and remembers those that could not be inserted.
#[derive(Debug)]
pub(crate) struct Inserter {
    pub(super) wanted: Wanted,
    images: Images,
    kind: Kind,
    /// What sums hits up, if it is not ntrace.
    pub(super) summing: Option<Summing>,
    pub(super) sieve: Sieve,
    pub(super) gate: Gate,
    /// The instructions that `--every-instruction` asked for and that have no breakpoint, by module and address in its file.
    refused: BTreeMap<(Option<String>, u64), Refused>,
    told: Told,
    pub(super) watches: Watches,
    /// The blocks that were executed, where the user asked for blocks.
    pub(super) covered: Covered,
    /// Tells that symbols are read, if that takes long.
    pub(super) patience: Patience,
    /// Whether threads passed a location by a jump.
    pub(super) has_jumped: bool,
}

impl Inserter {
    pub(super) fn new(wanted: Wanted, kind: Kind, sieve: Sieve, gate: Gate) -> Inserter {
        let (images, refused, told) = (Images::default(), BTreeMap::new(), Told::default());
        let (watches, covered, patience) = (Watches::default(), Covered::default(), Patience::default());
        Inserter {
            wanted,
            images,
            kind,
            summing: None,
            sieve,
            gate,
            refused,
            told,
            watches,
            covered,
            patience,
            has_jumped: false,
        }
    }

    /// Fetches debug files that this machine does not have, if `fetch` is given.
    pub(super) fn fetch_by(&mut self, fetch: Option<Fetch>) {
        fetch.into_iter().for_each(|fetch| self.images.fetch_by(fetch));
    }

    /// Whether hits are recorded.
    pub(super) fn records(&self) -> bool {
        self.kind.report == Report::Record
    }

    /// Reads the memory map and inserts breakpoints in new modules. `running`: see [`Inserter::insert_in_modules`].
    pub(super) fn update(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        running: Option<&mut Running<'_>>,
    ) -> ubp::Result<()> {
        let new = self.read_modules(session, space)?;
        self.insert_in_modules(session, space, &new, running)
    }

    /// Reads the memory map and returns the new modules.
    pub(super) fn read_modules(&mut self, session: &mut Session, space: &mut Space) -> ubp::Result<Vec<Module>> {
        let _busy = self.patience.begin(|| "reading the programs and libraries".into());
        let new = space.update(session, &mut self.images)?;
        self.images.take_notes().iter().for_each(tell);
        Ok(new)
    }

    /// Notes whether threads passed a location by a jump, before a process loses its breakpoints.
    pub(super) fn note_jumps(&mut self, session: &Session, space: &Space) {
        let is_jumped = |breakpoint: Breakpoint| breakpoint.method() == Method::Jumped && breakpoint.arrivals() > 0;
        self.has_jumped = self.has_jumped || session.breakpoints(space.pid).any(is_jumped);
    }

    /// Removes the breakpoints in modules that are gone. A module whose file changed is gone, although it is still mapped.
    pub(super) fn remove_gone(&mut self, session: &mut Session, space: &mut Space) -> ubp::Result<()> {
        let is_gone = |address: u64| space.modules.gone().iter().any(|module| module.contains(address));
        let active = session.breakpoints(space.pid).filter(|breakpoint| breakpoint.is_active());
        let stale: Vec<BreakpointId> = active.filter(|b| is_gone(b.address().0)).map(|b| b.id()).collect();
        space.forget_gone();
        space.roles.retain(|id, _| !stale.contains(id));
        if stale.is_empty() { Ok(()) } else { session.remove(space.pid, &stale) }
    }

    /// Inserts the breakpoints of the user's locations in modules.
    ///
    /// `running` is given for code that was mapped and relocated before ntrace attached. A resolver in it can be called at once.
    pub(super) fn insert_in_modules(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        modules: &[Module],
        running: Option<&mut Running<'_>>,
    ) -> ubp::Result<()> {
        let _busy = self.patience.begin(|| reading(modules));
        let mut found: Vec<Vec<Planned>> = modules.iter().map(|module| self.wanted.sites_in(module)).collect();
        self.wanted.take_notes().iter().for_each(tell);
        for (module, sites) in modules.iter().zip(&mut found) {
            confirm::drop_differing(session, space, module, sites)?;
        }
        // Resolvers are called before any breakpoint is inserted, since a breakpoint in a resolver would report a hit.
        let running = running.filter(|_| found.iter().flatten().any(|site| site.indirect));
        if let Some(running) = running {
            let Some(tid) = running.hold(session)? else { return Ok(()) };
            found.iter_mut().flatten().filter(|site| site.indirect).for_each(|site| resolve(session, tid, site));
        }
        for (module, sites) in modules.iter().zip(found) {
            self.warn_of_middles(module, &sites);
            self.insert_planned(session, space, sites)?;
            self.break_at_ptrace(session, space, module)?;
            if self.wanted.is_whole_program() && self.is_asked_for(session, space, module) {
                self.insert_in_parts(session, space, module, module.image.code())?;
            }
            for what in module.image.take_refused() {
                tell(format_args!("{}: {what}", shown(module.image.path())));
            }
        }
        self.gate.insert(session, space, modules, &mut self.told)?;
        let absolute = self.absolute_sites(session, space);
        self.insert_planned(session, space, absolute)?;
        self.watches.insert(session, space, modules, &mut self.told)
    }

    /// Returns the sites of the locations that are addresses in memory.
    fn absolute_sites(&mut self, session: &mut Session, space: &Space) -> Vec<Planned> {
        let mut planned = Vec::new();
        for number in 0..self.wanted.locations.len() {
            let location = &self.wanted.locations[number];
            let Some(address) = location.address() else { continue };
            let text = location.text.clone();
            let Some(address) = in_memory(session, space, address) else { continue };
            self.wanted.found[number] = true;
            if !space.inserted.contains(&address) {
                if let Some(module) = space.module(address) {
                    self.warn_of_middle(module, address, &text);
                }
                let names = vec![text];
                planned.push(Planned { address, names, number, indirect: false, by_number: true });
            }
        }
        planned
    }

    fn warn_of_middles(&mut self, module: &Module, sites: &[Planned]) {
        for site in sites.iter().filter(|site| site.by_number) {
            if let Some(name) = site.names.first() {
                self.warn_of_middle(module, site.address, name);
            }
        }
    }

    fn warn_of_middle(&mut self, module: &Module, address: u64, name: &str) {
        let in_file = module.in_file(address);
        if let Some(start) = inside_instruction(&module.image, in_file, self.wanted.mode_of) {
            let start = module.in_memory(start);
            self.told.tell_once(
                format!("middle {name} {} {in_file:#x}", module.image.name()),
                format_args!(
                    "warning: '{name}' ({address:#x}) is inside the instruction at {start:#x}: \
                     a breakpoint there changes what the program does"
                ),
            );
        }
    }

    /// Inserts the breakpoints of planned sites.
    fn insert_planned(&mut self, session: &mut Session, space: &mut Space, sites: Vec<Planned>) -> ubp::Result<()> {
        let (indirect, direct): (Vec<Planned>, Vec<Planned>) = sites.into_iter().partition(|site| site.indirect);
        for site in indirect {
            let role = Role::Resolver { names: site.names, number: site.number };
            insert_internal(session, space, site.address, role)?;
        }
        if self.wanted.sites != Sites::Locations {
            for site in &direct {
                let Some(module) = space.module(site.address).cloned() else { continue };
                let parts = function_parts(&module.image, module.in_file(site.address));
                self.insert_in_parts(session, space, &module, &parts)?;
            }
            if self.wanted.sites == Sites::Blocks {
                return Ok(());
            }
        }
        let mut names: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for site in direct {
            space.asked.entry(site.address).or_default().insert(site.number);
            let known = names.entry(site.address).or_default();
            let new = site.names.into_iter().filter(|name| !known.contains(name)).collect::<Vec<_>>();
            known.extend(new);
        }
        names.iter().for_each(|(address, names)| space.label(*address, names));
        self.insert(session, space, names.into_iter().map(|(address, names)| (address, names.into_iter().next())))
    }

    /// Whether a module belongs to the whole program: all do, unless the user asks for blocks, which are those of the program's own file.
    fn is_asked_for(&mut self, session: &Session, space: &Space, module: &Module) -> bool {
        let is_own = |covered: &mut Covered| covered.is_own(program(session, space), module);
        self.wanted.sites != Sites::Blocks || is_own(&mut self.covered)
    }

    /// Inserts a breakpoint at every instruction, or every block, in parts of a module.
    fn insert_in_parts(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        module: &Module,
        parts: &[Range<u64>],
    ) -> ubp::Result<()> {
        let mut all = self.wanted.sites_in_parts(module, parts);
        for address in confirm::take_differing(session, space, module, &mut all)? {
            self.add_refused(space, address, "the code in memory is not that of the file".into());
        }
        if self.wanted.sites == Sites::Blocks {
            all.retain(|address| self.covered.ask(module, *address));
        }
        self.insert(session, space, all.into_iter().map(|address| (address, None)))
    }

    /// Inserts the user's breakpoints in one batch, and reports those that were refused.
    fn insert(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        sites: impl Iterator<Item = (u64, Option<String>)>,
    ) -> ubp::Result<()> {
        let new: Vec<(u64, Option<String>)> = sites.filter(|(address, _)| space.inserted.insert(*address)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let mut sites = Vec::new();
        for (address, name) in new {
            if let Some(sieved) = self.sieve.at(space, address, &mut self.told) {
                sites.push((address, name, sieved));
            }
        }
        let aggregation = self.summing.as_ref().and_then(|summing| summing.of(session, space));
        let spec = |(address, _, sieved): &(u64, _, Sieved)| self.spec(space, *address, sieved, aggregation);
        let specs: Vec<Spec> = sites.iter().map(spec).collect();
        let answers = session.insert(space.pid, &specs)?;
        let inserted: Vec<BreakpointId> = answers.iter().filter_map(|answer| answer.as_ref().ok()).copied().collect();
        if self.kind.patch == Patch::Auto {
            jumpless::tell(session, space, &inserted, &mut self.told);
        }
        for ((address, name, sieved), answer) in sites.into_iter().zip(answers) {
            match answer {
                Ok(id) => {
                    self.sieve.inserted(space.pid, id, sieved);
                    raise_semaphore(space, address, &mut self.told);
                }
                Err(error) => self.refuse(space, address, name, &error),
            }
        }
        Ok(())
    }

    /// The breakpoint at an address.
    fn spec(&self, space: &Space, address: u64, sieved: &Sieved, aggregation: Option<AggregationId>) -> Spec {
        if self.wanted.sites == Sites::Blocks {
            return Spec::count(Address(address)).once();
        }
        let Kind { report, text, stack, patch, .. } = self.kind;
        // Values that a record does not have are read of the held thread, and so is what a condition cannot tell.
        let by_record = !text || patch == Patch::Jump || !needs_trap(space, address);
        let held = report == Report::Event || sieved.bound.is_some() || (report == Report::Record && !by_record);
        let spec = Spec::event(Address(address));
        if let (Some(id), None) = (aggregation, &sieved.bound) {
            let spec = spec.report(Report::Count).patch(patch).aggregate(id);
            return sieved.condition.clone().into_iter().fold(spec, Spec::when);
        }
        match (held, sieved.condition.clone()) {
            (true, Some(condition)) => spec.patch(patch).when(condition),
            (true, None) => spec.patch(if patch == Patch::Jump { patch } else { Patch::Trap }),
            (false, condition) => {
                let spec = spec.report(report).patch(patch);
                let spec = if text { spec.with_text_of(texts(space, address)) } else { spec };
                let spec = if stack { spec.with_stack() } else { spec };
                condition.into_iter().fold(spec, Spec::when)
            }
        }
    }

    fn refuse(&mut self, space: &mut Space, address: u64, name: Option<String>, error: &InsertError) {
        space.inserted.remove(&address);
        match name {
            Some(name) => {
                let description = space.description(address);
                let location = &description.location;
                let key = format!("refused {name} {location}");
                self.told.tell_once(key, format_args!("'{name}': {error} ({location})"));
            }
            None => {
                self.covered.refuse(space.module(address), address);
                self.add_refused(space, address, reason(error));
            }
        }
    }

    fn add_refused(&mut self, space: &mut Space, address: u64, reason: String) {
        let description = space.description(address);
        let key = (description.module.clone(), description.in_file);
        let refused = Refused {
            location: description.location.clone(),
            module: description.module.clone(),
            address: format!("{:#x}", description.in_file),
            reason,
        };
        self.refused.insert(key, refused);
    }

    /// Whether the program is a dynamic loader that was run to load another program (`ld.so ./prog`).
    pub(super) fn is_loader(&self, session: &Session, space: &Space) -> bool {
        program(session, space).is_some_and(|program| program.image.is_library())
    }

    /// Inserts a breakpoint at the program's entry point, to report the locations that are still missing there. A dynamic loader that runs
    /// as the program is already at its entry point and has loaded nothing.
    pub(super) fn break_at_entry(&mut self, session: &mut Session, space: &mut Space) -> ubp::Result<()> {
        let entry = session.process(space.pid).and_then(|process| process.auxv().entry());
        let is_useful = self.wanted.missing().next().is_some() && !self.is_loader(session, space);
        match entry.filter(|_| is_useful) {
            Some(entry) => insert_internal(session, space, entry.0, Role::Entry),
            None => Ok(()),
        }
    }

    /// Inserts a breakpoint at the C library's `ptrace`, if the module has that function and its use has not been reported.
    fn break_at_ptrace(&self, session: &mut Session, space: &mut Space, module: &Module) -> ubp::Result<()> {
        match tracers::ptrace_in(session, module, &self.told) {
            Some(address) => insert_internal(session, space, address, Role::Ptrace),
            None => Ok(()),
        }
    }

    /// Handles a hit of a breakpoint that ntrace set for itself.
    pub(super) fn internal_hit(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        tid: Tid,
        id: BreakpointId,
        role: Role,
    ) -> ubp::Result<()> {
        match role {
            Role::Resolver { names, number } => {
                // At the resolver's return address, its result is in a register.
                let registers = session.registers(tid)?;
                match session.return_address(space.pid, &registers) {
                    Some(address) => insert_internal(session, space, address.0, Role::Resolved { names, number, tid }),
                    None => Ok(()),
                }
            }
            // Another thread executes the instruction at the return address.
            Role::Resolved { tid: caller, .. } if caller != tid => Ok(()),
            Role::Resolved { names, number, .. } => {
                let address = native::return_value(&session.registers(tid)?);
                remove_internal(session, space, id)?;
                if space.module(address).is_none() {
                    return Ok(());
                }
                let site = Planned { address, names, number, indirect: false, by_number: false };
                self.insert_planned(session, space, vec![site])
            }
            Role::Entry => {
                remove_internal(session, space, id)?;
                self.tell_waiting();
                Ok(())
            }
            Role::Begin => {
                self.gate.begin();
                remove_internal(session, space, id)
            }
            Role::End => {
                self.gate.end();
                Ok(())
            }
            Role::Ptrace => {
                tracers::tell_of_ptrace(session, space.pid, tid, &mut self.told)?;
                if tracers::was_told(&self.told) { remove_internal(session, space, id) } else { Ok(()) }
            }
        }
    }

    /// Reports the locations that are missing and may be found later.
    pub(super) fn tell_waiting(&mut self) {
        let explained =
            |location: &Location| (location.text.clone(), location::explain(location, self.wanted.searched()));
        let missing: Vec<(String, String)> = self.wanted.missing().map(explained).collect();
        for (text, what) in missing {
            let key = format!("missing {text}");
            self.told.tell_once(key, format_args!("{what}; waiting for libraries that are loaded later"));
        }
    }

    /// Explains each location that was never found.
    pub(super) fn missing(&self) -> Vec<String> {
        self.wanted.missing().map(|location| location::explain_with_copies(location, self.wanted.searched())).collect()
    }

    /// The instructions without a breakpoint among those that `--every-instruction` asked for.
    pub(super) fn refused(&self) -> impl ExactSizeIterator<Item = &Refused> {
        self.refused.values()
    }

    /// Reports the instructions without a breakpoint.
    pub(super) fn tell_refused(&self) {
        let count = self.refused.len();
        match count {
            0 => return,
            1 => tell("1 instruction carries no breakpoint:"),
            _ => tell(format_args!("{count} instructions carry no breakpoint:")),
        }
        for refused in self.refused().take(LISTED) {
            tell(format_args!("  {}: {}", refused.location, refused.reason));
        }
        if count > LISTED {
            tell(format_args!("  and {} more", count - LISTED));
        }
    }
}

/// Inserts a breakpoint that ntrace needs for itself. A refusal is ignored.
fn insert_internal(session: &mut Session, space: &mut Space, address: u64, role: Role) -> ubp::Result<()> {
    let answers = session.insert(space.pid, &[Spec::event(Address(address))])?;
    if let Some(id) = answers.into_iter().next().and_then(Result::ok) {
        space.roles.insert(id, role);
    }
    Ok(())
}

fn remove_internal(session: &mut Session, space: &mut Space, id: BreakpointId) -> ubp::Result<()> {
    space.roles.remove(&id);
    session.remove(space.pid, &[id])
}

/// Calls a resolver in a held thread, and replaces the site by the function that it returns.
fn resolve(session: &mut Session, tid: Tid, site: &mut Planned) {
    match session.call(tid, Address(site.address), &[0, 0]) {
        Ok(address) if address != 0 => (site.address, site.indirect) = (address, false),
        _ => {}
    }
}

fn reason(error: &InsertError) -> String {
    match error.reason {
        InsertReason::Refused(refusal) => refusal.to_string(),
        _ => error.to_string(),
    }
}

/// The module of the executed file.
fn program<'a>(session: &Session, space: &'a Space) -> Option<&'a Module> {
    space.module(session.process(space.pid)?.auxv().entry()?.0)
}

/// The address in memory of a location that is a number: the number itself if code is mapped there, else the number in the program's file.
fn in_memory(session: &Session, space: &Space, address: u64) -> Option<u64> {
    let process = session.process(space.pid)?;
    if let Some(map) = process.maps().ok()?.iter().find(|map| map.contains(Address(address))) {
        return map.execute.then_some(address);
    }
    let program = program(session, space)?;
    let in_file = !program.image.is_fixed() && program.image.is_code(address);
    in_file.then(|| program.in_memory(address))
}

/// The text that a terminal shows while ntrace reads the symbols of modules.
fn reading(modules: &[Module]) -> String {
    let name = modules.first().map(|module| module.image.name().to_string()).unwrap_or_default();
    match modules.len() {
        0 | 1 => format!("reading symbols of {name}"),
        all => format!("reading symbols of {name} and {} more", all - 1),
    }
}
