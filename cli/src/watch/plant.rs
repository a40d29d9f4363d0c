//! Puts breakpoints where locations are, as code comes and goes.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::ops::Range;
use std::rc::Rc;

use serde::Serialize;
use ubp::{Address, BreakpointId, InsertError, InsertReason, Report, Session, Spec, Tid};

use super::confirm;
use super::plan::{Planned, Wanted, function_parts};
use super::start::Running;
use crate::location::{self, Location};
use crate::native;
use crate::output::{shown, tell};
use crate::process::{Images, Module, Role, Space};

/// Refusals that are listed one by one.
const LISTED: usize = 8;

/// An instruction that carries no breakpoint; the names are the keys of the JSON form.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Refused {
    location: String,
    module: Option<String>,
    /// In the module's own numbering.
    address: String,
    reason: String,
}

/// What was planted where, and what could not be.
#[derive(Debug)]
pub(crate) struct Planter {
    pub(crate) wanted: Wanted,
    pub(crate) images: Images,
    report: Report,
    /// Instructions that no name asked for, and that carry no breakpoint, by module and address in it.
    refused: BTreeMap<(Option<String>, u64), Refused>,
    /// What was said, of what comes again with each program that is executed.
    told: HashSet<String>,
}

impl Planter {
    pub(crate) fn new(wanted: Wanted, report: Report) -> Planter {
        Planter { wanted, images: Images::default(), report, refused: BTreeMap::new(), told: HashSet::new() }
    }

    /// Says something, unless `what`, by which it is known, was said before.
    pub(super) fn tell_once(&mut self, what: impl Into<String>, message: impl Display) {
        if self.told.insert(what.into()) {
            tell(message);
        }
    }

    pub(super) fn has_told(&self, what: &str) -> bool {
        self.told.contains(what)
    }

    /// Reads what is mapped anew and plants in what was not there before. `running`: see [`Planter::plant_in`].
    pub(crate) fn update(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        running: Option<&mut Running<'_>>,
    ) -> ubp::Result<()> {
        let fresh = self.look(session, space)?;
        self.plant_in(session, space, &fresh, running)
    }

    /// Reads what is mapped anew; gives the modules that were not there before.
    pub(crate) fn look(&mut self, session: &mut Session, space: &mut Space) -> ubp::Result<Vec<Module>> {
        let fresh = space.update(session, &mut self.images)?;
        self.images.take_notes().iter().for_each(tell);
        Ok(fresh)
    }

    /// Takes away what stands in modules that are gone: a file may have changed while it stays mapped.
    pub(crate) fn clear(&mut self, session: &mut Session, space: &mut Space) -> ubp::Result<()> {
        let is_gone = |place: u64| space.gone.iter().any(|module| module.contains(place));
        let standing = session.breakpoints(space.pid).filter(|breakpoint| breakpoint.is_active());
        let stale: Vec<BreakpointId> = standing.filter(|b| is_gone(b.address().0)).map(|b| b.id()).collect();
        space.forget_gone();
        space.roles.retain(|id, _| !stale.contains(id));
        if stale.is_empty() { Ok(()) } else { session.remove(space.pid, &stale) }
    }

    /// Plants in modules. `running`: the code was there before ntrace, relocated, so that a resolver can be asked for its answer at once.
    pub(crate) fn plant_in(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        fresh: &[Module],
        running: Option<&mut Running>,
    ) -> ubp::Result<()> {
        let mut found: Vec<Vec<Planned>> = fresh.iter().map(|module| self.wanted.places(module)).collect();
        self.wanted.take_notes().iter().for_each(tell);
        for (module, places) in fresh.iter().zip(&mut found) {
            confirm::leave_out_differing(session, space, module, places)?;
        }
        // Before there are breakpoints of which something is to be told.
        if let Some(running) = running
            && found.iter().flatten().any(|place| place.indirect)
        {
            let Some(tid) = running.held(session)? else { return Ok(()) };
            found.iter_mut().flatten().filter(|place| place.indirect).for_each(|place| resolve(session, tid, place));
        }
        for (module, places) in fresh.iter().zip(found) {
            self.warn_of_middles(module, &places);
            self.plant(session, space, places)?;
            self.watch_ptrace(session, space, module)?;
            if self.wanted.is_whole_program() {
                self.plant_instructions(session, space, module, module.image.code())?;
            }
            for what in module.image.take_refused() {
                tell(format_args!("{}: {what}", shown(module.image.path())));
            }
        }
        let numbers = self.absolute(session, space);
        self.plant(session, space, numbers)
    }

    /// Locations that are addresses in the process.
    fn absolute(&mut self, session: &mut Session, space: &Space) -> Vec<Planned> {
        let mut planned = Vec::new();
        for number in 0..self.wanted.locations.len() {
            let location = &self.wanted.locations[number];
            let Some(address) = location.address() else { continue };
            let text = location.text.clone();
            let Some(address) = in_memory(session, space, address) else { continue };
            self.wanted.found[number] = true;
            if !space.planted.contains(&address) {
                if let Some(module) = space.module(address) {
                    self.warn_of_middle(module, address, &text);
                }
                let names = vec![text];
                planned.push(Planned { address, names, indirect: false, by_number: true });
            }
        }
        planned
    }

    fn warn_of_middles(&mut self, module: &Module, places: &[Planned]) {
        for place in places.iter().filter(|place| place.by_number) {
            if let Some(name) = place.names.first() {
                self.warn_of_middle(module, place.address, name);
            }
        }
    }

    fn warn_of_middle(&mut self, module: &Module, address: u64, name: &str) {
        let own = module.address(address);
        if let Some(before) = self.wanted.inside_instruction(&module.image, own) {
            let near = module.place(before);
            self.tell_once(
                format!("middle {name} {} {own:#x}", module.image.name()),
                format_args!(
                    "warning: '{name}' ({address:#x}) is inside the instruction at {near:#x}: \
                     a breakpoint there changes what the program does"
                ),
            );
        }
    }

    /// Plants what locations mean.
    fn plant(&mut self, session: &mut Session, space: &mut Space, places: Vec<Planned>) -> ubp::Result<()> {
        let (indirect, direct): (Vec<Planned>, Vec<Planned>) = places.into_iter().partition(|place| place.indirect);
        for place in indirect {
            self.own(session, space, place.address, Role::Resolver { names: place.names })?;
        }
        if self.wanted.every_instruction {
            for place in &direct {
                let Some(module) = space.module(place.address).cloned() else { continue };
                let parts = function_parts(&module.image, module.address(place.address));
                self.plant_instructions(session, space, &module, &parts)?;
            }
        }
        let mut names: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for place in direct {
            let known = names.entry(place.address).or_default();
            let new = place.names.into_iter().filter(|name| !known.contains(name)).collect::<Vec<_>>();
            known.extend(new);
        }
        for (address, names) in &names {
            let known = space.labels.get(address).map(|known| known.to_vec()).unwrap_or_default();
            let all: Vec<String> =
                known.iter().chain(names.iter().filter(|name| !known.contains(name))).cloned().collect();
            space.labels.insert(*address, Rc::from(all));
            space.places.remove(address);
        }
        self.insert(session, space, names.into_iter().map(|(address, names)| (address, names.into_iter().next())))
    }

    /// Plants on the instructions in parts of a module.
    fn plant_instructions(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        module: &Module,
        parts: &[Range<u64>],
    ) -> ubp::Result<()> {
        let mut all = self.wanted.instructions(module, parts);
        for place in confirm::take_differing(session, space, module, &mut all)? {
            self.list_refused(space, place, "the code in memory is not that of the file".into());
        }
        self.insert(session, space, all.into_iter().map(|address| (address, None)))
    }

    /// Inserts breakpoints for the user, all at once; says what could not be.
    fn insert(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        sites: impl Iterator<Item = (u64, Option<String>)>,
    ) -> ubp::Result<()> {
        let new: Vec<(u64, Option<String>)> = sites.filter(|(address, _)| space.planted.insert(*address)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let spec =
            |&(address, _): &(u64, _)| Spec { address: Address(address), report: self.report, ..Spec::default() };
        let specs: Vec<Spec> = new.iter().map(spec).collect();
        let answers = session.insert(space.pid, &specs)?;
        for ((address, name), answer) in new.into_iter().zip(answers) {
            if let Err(error) = answer {
                self.refuse(space, address, name, &error);
            }
        }
        Ok(())
    }

    fn refuse(&mut self, space: &mut Space, address: u64, name: Option<String>, error: &InsertError) {
        space.planted.remove(&address);
        match name {
            Some(name) => {
                let place = space.place(address);
                let location = &place.location;
                self.tell_once(format!("refused {name} {location}"), format_args!("'{name}': {error} ({location})"));
            }
            None => self.list_refused(space, address, reason(error)),
        }
    }

    fn list_refused(&mut self, space: &mut Space, address: u64, reason: String) {
        let place = space.place(address);
        let key = (place.module.clone(), place.in_file);
        let refused = Refused {
            location: place.location.clone(),
            module: place.module.clone(),
            address: format!("{:#x}", place.in_file),
            reason,
        };
        self.refused.insert(key, refused);
    }

    /// Inserts a breakpoint of our own.
    pub(super) fn own(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        address: u64,
        role: Role,
    ) -> ubp::Result<Option<BreakpointId>> {
        let answers = session.insert(space.pid, &[Spec::event(Address(address))])?;
        let id = answers.into_iter().next().and_then(Result::ok);
        if let Some(id) = id {
            space.roles.insert(id, role);
        }
        Ok(id)
    }

    /// Whether the program is a dynamic loader, run to load another (`ld.so ./prog`).
    pub(crate) fn is_loader(&self, session: &Session, space: &Space) -> bool {
        program(session, space).is_some_and(|program| program.image.is_library())
    }

    /// Stops at the program's entry, to say what is still missing then. A loader that runs as the program itself stands there already, and
    /// has loaded nothing.
    pub(crate) fn watch_entry(&mut self, session: &mut Session, space: &mut Space) -> ubp::Result<()> {
        let entry = session.process(space.pid).and_then(|process| process.auxv().entry());
        let is_of_use = self.wanted.missing().next().is_some() && !self.is_loader(session, space);
        if let Some(entry) = entry.filter(|_| is_of_use) {
            self.own(session, space, entry.0, Role::Entry)?;
        }
        Ok(())
    }

    /// A breakpoint of our own was hit.
    pub(crate) fn own_hit(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        tid: Tid,
        id: BreakpointId,
        role: Role,
    ) -> ubp::Result<()> {
        match role {
            Role::Resolver { names } => {
                // Where it returns to, its answer can be had.
                let registers = session.registers(tid)?;
                if let Some(back) = native::return_address(session, space.pid, &registers) {
                    self.own(session, space, back, Role::Resolved { names, tid })?;
                }
                Ok(())
            }
            // Another thread came by.
            Role::Resolved { tid: waiting, .. } if waiting != tid => Ok(()),
            Role::Resolved { names, .. } => {
                let address = native::answer(&session.registers(tid)?);
                space.roles.remove(&id);
                session.remove(space.pid, &[id])?;
                if space.module(address).is_none() {
                    return Ok(());
                }
                self.plant(session, space, vec![Planned { address, names, indirect: false, by_number: false }])
            }
            Role::Entry => {
                space.roles.remove(&id);
                session.remove(space.pid, &[id])?;
                self.tell_waiting();
                Ok(())
            }
            Role::Ptrace => {
                self.tell_of_ptrace(session, space.pid, tid)?;
                self.forget_ptrace(session, space, id)
            }
        }
    }

    /// Tells of locations that may still come.
    pub(super) fn tell_waiting(&mut self) {
        let explained =
            |location: &Location| (location.text.clone(), location::explain(location, self.wanted.searched()));
        let missing: Vec<(String, String)> = self.wanted.missing().map(explained).collect();
        for (text, what) in missing {
            self.tell_once(
                format!("missing {text}"),
                format_args!("{what}; waiting for libraries that are loaded later"),
            );
        }
    }

    /// What was never found, in words.
    pub(crate) fn missing(&self) -> Vec<String> {
        self.wanted.missing().map(|location| location::explain(location, self.wanted.searched())).collect()
    }

    /// The instructions that carry no breakpoint, though they were wanted with all others.
    pub(crate) fn refused(&self) -> impl ExactSizeIterator<Item = &Refused> {
        self.refused.values()
    }

    /// Tells of them.
    pub(crate) fn tell_refused(&self) {
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

/// Asks a resolver for its answer.
fn resolve(session: &mut Session, tid: Tid, place: &mut Planned) {
    if let Ok(address) = session.call(tid, Address(place.address), &[0, 0])
        && address != 0
    {
        place.address = address;
        place.indirect = false;
    }
}

fn reason(error: &InsertError) -> String {
    match error.reason {
        InsertReason::Refused(refusal) => refusal.to_string(),
        _ => error.to_string(),
    }
}

/// The module of the file that was executed.
fn program<'a>(session: &Session, space: &'a Space) -> Option<&'a Module> {
    space.module(session.process(space.pid)?.auxv().entry()?.0)
}

/// What an address without module means: itself where code is mapped, else an address of the program's own file.
fn in_memory(session: &Session, space: &Space, address: u64) -> Option<u64> {
    let process = session.process(space.pid)?;
    if let Some(map) = process.maps().ok()?.iter().find(|map| map.contains(Address(address))) {
        return map.execute.then_some(address);
    }
    let program = program(session, space)?;
    let own = !program.image.is_fixed() && program.image.is_code(address);
    own.then(|| program.place(address))
}
