//! The hits of all breakpoints of a run, also of those that are gone with their code or their process.

use std::collections::{HashMap, HashSet};

use ubp::{Breakpoint, BreakpointId, Event, Pid, Session};
use ubp_symbols::Module;

use crate::process::{Description, Space};

/// A location: its image, and its address in the file.
pub(super) type Place = (Option<u64>, u64);

/// The hits so far.
#[derive(Default)]
pub(super) struct Tally {
    /// The hits of breakpoints that are gone.
    gone: HashMap<Place, (Description, u64)>,
    done: HashMap<Pid, Done>,
    /// The addresses without hits. An address may have hits in another process.
    silent: HashSet<Place>,
    /// Whether locations without hits are kept too.
    all: bool,
}

/// The breakpoints of one process whose code is gone and whose hits are in the tally.
#[derive(Clone, Default)]
struct Done {
    /// All breakpoints up to this one. They belong to a program before the last exec.
    through: Option<BreakpointId>,
    /// The breakpoints in modules that were unmapped or replaced, with their hits at that time.
    unloaded: HashMap<BreakpointId, u64>,
}

impl Done {
    /// Returns the hits of a breakpoint that are not in the tally yet.
    fn uncounted(&self, space: &Space, breakpoint: &Breakpoint) -> u64 {
        let id = breakpoint.id();
        let hits = space.hits(breakpoint);
        let counted = if Some(id) <= self.through { hits } else { *self.unloaded.get(&id).unwrap_or(&0) };
        hits.saturating_sub(counted)
    }
}

impl Tally {
    /// An empty tally. `all`: it keeps locations without hits too.
    pub(super) fn new(all: bool) -> Tally {
        Tally { all, ..Tally::default() }
    }

    /// The hits of breakpoints that are gone.
    pub(super) fn gone(&self) -> impl Iterator<Item = (Place, &Description, u64)> {
        self.gone.iter().map(|(place, (description, hits))| (*place, description, *hits))
    }

    /// Takes the locations with their hits, when all breakpoints are gone.
    pub(super) fn into_locations(self) -> Vec<(Description, u64)> {
        self.gone.into_values().collect()
    }

    /// Returns the number of locations that were not kept and had no hit in any process.
    pub(super) fn count_silent(&self) -> usize {
        self.silent.iter().filter(|place| !self.gone.contains_key(place)).count()
    }

    /// Calls `visit` with the address and the hits of each breakpoint that is there; the hits in code that is gone are in [`Tally::gone`].
    pub(super) fn present<'a>(
        &self,
        session: &Session,
        spaces: &'a HashMap<Pid, Space>,
        mut visit: impl FnMut(&'a Space, u64, u64),
    ) {
        for space in spaces.values() {
            let done = self.done.get(&space.pid);
            for breakpoint in session.breakpoints(space.pid).filter(|b| !space.roles.contains_key(&b.id())) {
                let hits = done.map_or_else(|| space.hits(&breakpoint), |done| done.uncounted(space, &breakpoint));
                visit(space, breakpoint.address().0, hits);
            }
        }
    }

    /// Forgets processes that ended: they have no breakpoints any more.
    pub(super) fn prune(&mut self, spaces: &HashMap<Pid, Space>) {
        if self.done.len() > spaces.len() {
            self.done.retain(|pid, _| spaces.contains_key(pid));
        }
    }

    /// Modules were unmapped or replaced.
    pub(super) fn unloaded(&mut self, session: &Session, space: &Space) {
        for module in space.modules.gone() {
            self.collect(session, space, Some(module));
        }
    }

    /// A process was forked, with copies of the breakpoints.
    pub(super) fn forked(&mut self, event: &Event, child: Pid) {
        let done = self.done.get(&event.pid).cloned().unwrap_or_default();
        self.done.insert(child, done);
    }

    /// A process is about to lose its breakpoints.
    pub(super) fn ended(&mut self, session: &Session, space: &Space) {
        self.collect(session, space, None);
    }

    /// Adds the hits of the breakpoints in `module`, or of all breakpoints, to the tally.
    fn collect(&mut self, session: &Session, space: &Space, module: Option<&Module>) {
        let mut done = self.done.remove(&space.pid).unwrap_or_default();
        let mut last = None;
        for breakpoint in session.breakpoints(space.pid) {
            let (id, address, hits) = (breakpoint.id(), breakpoint.address().0, done.uncounted(space, &breakpoint));
            last = last.max(Some(id));
            let is_there = module.is_none_or(|module| module.contains(address));
            let is_counted = Some(id) <= done.through || (hits == 0 && done.unloaded.contains_key(&id));
            if !is_there || space.roles.contains_key(&id) || is_counted {
                continue;
            }
            if module.is_some() {
                done.unloaded.insert(id, space.hits(&breakpoint));
            }
            let module = module.or_else(|| space.module(address));
            if hits == 0 && !self.all {
                self.silent.insert(place(module, address));
            } else {
                self.add(space.describe(module, address), hits);
            }
        }
        if module.is_none() {
            done = Done { through: last, unloaded: HashMap::new() };
        }
        self.done.insert(space.pid, done);
    }

    fn add(&mut self, description: Description, hits: u64) {
        let place = (description.image, description.in_file);
        self.gone.entry(place).or_insert((description, 0)).1 += hits;
    }
}

/// The location of an address in memory.
pub(super) fn place(module: Option<&Module>, address: u64) -> Place {
    let image = module.map(|module| module.image.number());
    (image, module.map_or(address, |module| module.in_file(address)))
}
