//! Sets watchpoints at the variables that the user names, in every program and library that has them.

use std::rc::Rc;

use ubp::{Access, Address, Error, Session};
use ubp_symbols::Module;

use super::told::Told;
use crate::location::{Datum, Watch};
use crate::native;
use crate::process::{Space, Watched};

/// The length of memory whose variable is not known, in bytes.
const LENGTH: u64 = 8;

/// The watchpoints of the command line.
#[derive(Debug, Default)]
pub(super) struct Watches {
    wanted: Vec<Watch>,
    /// Whether each was found somewhere.
    found: Vec<bool>,
}

impl Watches {
    pub(super) fn new(wanted: Vec<Watch>) -> Watches {
        Watches { found: vec![false; wanted.len()], wanted }
    }

    /// The number of texts.
    pub(super) fn len(&self) -> usize {
        self.wanted.len()
    }

    /// Explains each text that was never found.
    pub(super) fn missing(&self) -> impl Iterator<Item = String> {
        let missing = self.wanted.iter().zip(&self.found).filter(|(_, found)| !**found);
        missing.map(|(watch, _)| format!("--watch '{}': no module has such a variable", watch.text))
    }

    /// Watches the variables of modules, and addresses in memory that are not watched yet.
    pub(super) fn insert(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        modules: &[Module],
        told: &mut Told,
    ) -> ubp::Result<()> {
        for number in 0..self.wanted.len() {
            let watch = &self.wanted[number];
            let mut places: Vec<Datum> = Vec::new();
            for module in modules {
                let found = watch.find(&module.image).into_iter();
                places.extend(found.map(|datum| Datum { address: module.in_memory(datum.address), ..datum }));
            }
            places.extend(watch.location.address().map(|address| Datum { address, size: 0 }));
            self.found[number] |= !places.is_empty();
            for place in places {
                set(session, space, watch, place, told)?;
            }
        }
        Ok(())
    }
}

/// Sets one watchpoint. A refusal is a message.
fn set(session: &mut Session, space: &mut Space, watch: &Watch, place: Datum, told: &mut Told) -> ubp::Result<()> {
    let known = |size| if size == 0 { LENGTH } else { size };
    let length = match (watch.length, watch.access) {
        (Some(length), _) => length,
        (None, Access::Execute) => native::EXECUTE_LENGTH,
        (None, _) => known(place.size),
    };
    let watched = Watched { name: watch.text.clone(), address: place.address, length, access: watch.access };
    let same = |other: &Rc<Watched>| other.address == watched.address && other.name == watched.name;
    if space.watches.values().any(same) {
        return Ok(());
    }
    match session.watch(space.pid, Address(watched.address), length, watched.access) {
        Ok(id) => drop(space.watches.insert(id, Rc::new(watched))),
        Err(error @ (Error::Watch(_) | Error::DebugRegisters(_))) => {
            let key = format!("watch {} {}", watch.text, space.pid);
            told.tell_once(key, format_args!("--watch '{}': {error}", watch.text));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}
