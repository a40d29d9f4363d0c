//! Carries out the rules of a file for the program that is followed.

use ubp::rules::{Reaction, Reading, Refused, Rules, Summary};
use ubp::{Address, BreakpointId, Event, EventKind, Session};
use ubp_symbols::Module;

use super::confirm;
use super::plan::Planned;
use super::semaphore::raise_semaphore;
use super::told::Told;
use crate::failure::{Failure, Result};
use crate::location::Location;
use crate::output::tell;
use crate::process::Space;
use crate::rules::RuleFile;

/// The rules, and the locations that they name.
#[derive(Debug)]
pub(super) struct Ruling {
    rules: Rules,
    locations: Vec<Location>,
    /// Whether each location was found somewhere.
    found: Vec<bool>,
    told: Told,
}

impl Ruling {
    pub(super) fn new(file: RuleFile) -> Result<Ruling> {
        let rules = Rules::new(file.set).map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Ruling { rules, found: vec![false; file.locations.len()], locations: file.locations, told: Told::default() })
    }

    /// Begins with a process whose modules are known.
    pub(super) fn adopt(&mut self, session: &mut Session, space: &mut Space) -> ubp::Result<()> {
        let refused = self.rules.adopt(session, space.pid)?;
        tell_refused(refused);
        self.find_all(session, space)
    }

    /// Looks for the locations in all modules of a process, and among addresses in memory.
    pub(super) fn find_all(&mut self, session: &mut Session, space: &mut Space) -> ubp::Result<()> {
        for number in 0..self.locations.len() {
            if let Some(address) = self.locations[number].address() {
                self.set(session, space, number, &[Address(address)])?;
            }
        }
        let modules: Vec<Module> = space.modules.iter().cloned().collect();
        self.find(session, space, &modules)
    }

    /// Looks for the locations in modules that came.
    pub(super) fn find(&mut self, session: &mut Session, space: &mut Space, modules: &[Module]) -> ubp::Result<()> {
        for number in 0..self.locations.len() {
            for module in modules {
                let search = self.locations[number].find(&module.image);
                let planned = |site: &ubp_symbols::Site| Planned {
                    address: module.in_memory(site.address),
                    names: site.names.clone(),
                    number,
                    indirect: site.indirect,
                    by_number: site.by_number,
                };
                let mut sites: Vec<Planned> = search.sites.iter().map(planned).collect();
                confirm::drop_differing(session, space, module, &mut sites)?;
                // A resolver's code is not that of the function.
                sites.retain(|site| !site.indirect);
                let addresses: Vec<Address> = sites.iter().map(|site| Address(site.address)).collect();
                self.set(session, space, number, &addresses)?;
                for site in sites.iter().filter(|site| site.names.iter().any(|name| name.starts_with("usdt:"))) {
                    space.label(site.address, &site.names);
                    raise_semaphore(space, site.address, &mut self.told);
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, session: &mut Session, space: &Space, number: usize, at: &[Address]) -> ubp::Result<()> {
        if !at.is_empty() {
            self.found[number] = true;
            tell_refused(self.rules.found(session, space.pid, &self.locations[number].text, at)?);
        }
        Ok(())
    }

    /// The breakpoints of rules among those of an event.
    pub(super) fn owned(&self, event: &Event) -> Vec<BreakpointId> {
        match &event.kind {
            EventKind::Hit(hit) => {
                let ids = hit.breakpoints().map(|(id, _)| id);
                ids.filter(|id| self.rules.owns(event.pid, *id)).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn react(&mut self, session: &mut Session, event: &Event) -> ubp::Result<Reaction> {
        let mut reaction = self.rules.react(session, event)?;
        tell_refused(std::mem::take(&mut reaction.refused));
        Ok(reaction)
    }

    /// The aggregates, in the order of the file.
    pub(super) fn readings(&self) -> Vec<(Summary, Reading)> {
        let aggregates = self.rules.set().aggregates.iter();
        aggregates.filter_map(|summary| Some((summary.clone(), self.rules.aggregate(&summary.name)?))).collect()
    }

    /// Explains each location that was never found.
    pub(super) fn missing(&self) -> impl Iterator<Item = String> {
        let missing = self.locations.iter().zip(&self.found).filter(|(_, found)| !**found);
        missing.map(|(location, _)| format!("--rules: '{}' was found in no module", location.text))
    }
}

fn tell_refused(refused: Vec<Refused>) {
    for refused in refused {
        match refused {
            Refused::Breakpoint(error) => tell(format_args!("--rules: {error}")),
            Refused::Watch(error) => tell(format_args!("--rules: {error}")),
            _ => {}
        }
    }
}
