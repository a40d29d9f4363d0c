//! The part of a run that is traced: it begins where a thread reaches a location of `--after`, and ends where one reaches a location of `--until`.

use ubp::{Address, Session, Spec};
use ubp_symbols::Module;

use super::confirm;
use super::plan::{Planned, Wanted};
use super::semaphore::raise_semaphore;
use super::told::Told;
use crate::args::FilterArgs;
use crate::failure::{Failure, Result};
use crate::location::{self, Location};
use crate::output::tell;
use crate::process::{Role, Space};

/// Whether hits are wanted at the moment.
#[derive(Debug)]
pub(super) struct Gate {
    after: Mark,
    until: Mark,
    state: State,
}

/// The locations of one option.
#[derive(Debug)]
struct Mark {
    option: &'static str,
    role: Role,
    wanted: Wanted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    /// A thread has just reached a location of `--after`.
    Opening,
    Open,
    Over,
}

impl Gate {
    /// Reads the locations. `empty`: makes what finds no location.
    ///
    /// # Errors
    /// A text is no location, or one that only a running program has.
    pub(super) fn new(args: &FilterArgs, empty: impl Fn(Vec<Location>) -> Wanted) -> Result<Gate> {
        let mark = |option, role, texts: &[String]| {
            Ok(Mark { option, role, wanted: empty(location::in_files(option, texts)?) })
        };
        let state = if args.after.is_empty() { State::Open } else { State::Closed };
        let after = mark("--after", Role::Begin, &args.after)?;
        Ok(Gate { after, until: mark("--until", Role::End, &args.until)?, state })
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    pub(super) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Sets breakpoints at the locations in new modules.
    pub(super) fn insert(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        modules: &[Module],
        told: &mut Told,
    ) -> ubp::Result<()> {
        for mark in [&mut self.after, &mut self.until] {
            if mark.wanted.locations.is_empty() {
                continue;
            }
            for module in modules {
                let mut sites = mark.wanted.sites_in(module);
                mark.wanted.take_notes().iter().for_each(tell);
                confirm::drop_differing(session, space, module, &mut sites)?;
                for site in sites {
                    mark.set(session, space, &site, told)?;
                }
            }
        }
        Ok(())
    }

    /// A thread reached a location of `--after`.
    pub(super) fn begin(&mut self) {
        if self.state == State::Closed {
            self.state = State::Opening;
        }
    }

    /// A thread reached a location of `--until`.
    pub(super) fn end(&mut self) {
        if self.is_open() {
            self.state = State::Over;
        }
    }

    /// Leaves out the hits of a process so far, while none is wanted.
    pub(super) fn settle(&self, session: &Session, space: &mut Space) {
        if matches!(self.state, State::Closed | State::Opening) {
            for breakpoint in session.breakpoints(space.pid) {
                space.unwanted.insert(breakpoint.id(), breakpoint.hits());
            }
        }
    }

    /// Leaves out the hits so far if a thread has just reached a location of `--after`. Later ones are wanted.
    pub(super) fn open<'a>(&mut self, session: &Session, spaces: impl Iterator<Item = &'a mut Space>) {
        if self.state == State::Opening {
            spaces.for_each(|space| self.settle(session, space));
            self.state = State::Open;
        }
    }

    /// Explains each location that was never found or reached. The failure: nothing can have been traced.
    pub(super) fn finish(&self) -> Result<()> {
        for mark in [&self.after, &self.until] {
            for location in mark.wanted.missing() {
                tell(format_args!("{}: {}", mark.option, location::explain(location, mark.wanted.searched())));
            }
        }
        if self.state != State::Closed {
            return Ok(());
        }
        if self.after.wanted.missing().count() == self.after.wanted.locations.len() {
            return Err(Failure::own("--after: the location was not found, so that nothing was traced"));
        }
        tell("--after: no thread reached the location, so that nothing was traced");
        Ok(())
    }
}

impl Mark {
    fn set(&self, session: &mut Session, space: &mut Space, site: &Planned, told: &mut Told) -> ubp::Result<()> {
        let Mark { option, role, .. } = self;
        let name = site.names.first().map(String::as_str).unwrap_or_default();
        if site.indirect {
            let what = "the program chooses one of several functions of that name when it starts; name that function";
            told.tell_once(format!("{option} {name}"), format_args!("{option} '{name}': {what}"));
            return Ok(());
        }
        match session.insert(space.pid, &[Spec::event(Address(site.address))])?.pop() {
            Some(Ok(id)) => {
                space.roles.insert(id, role.clone());
                space.label(site.address, &site.names);
                raise_semaphore(space, site.address, told);
            }
            Some(Err(error)) => told.tell_once(format!("{option} {name}"), format_args!("{option} '{name}': {error}")),
            None => {}
        }
        Ok(())
    }
}
