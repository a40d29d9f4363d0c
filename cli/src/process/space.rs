//! The code that is mapped in one process, and what stands where in it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use ubp::{BreakpointId, Mapping, Pid, Session, Tid};

use super::images::Images;
use super::names::Place;
use super::unwind::Unwinder;
use crate::symbols::Image;

/// A file that is mapped as code.
#[derive(Debug, Clone)]
pub(crate) struct Module {
    pub(crate) image: Rc<Image>,
    /// What is added to the file's addresses.
    pub(crate) bias: u64,
    /// Its code in memory.
    pub(crate) code: Vec<Range<u64>>,
}

impl Module {
    /// The address in memory of an address of the file's.
    pub(crate) fn place(&self, address: u64) -> u64 {
        let place = self.bias.wrapping_add(address);
        if self.image.arch() == crate::symbols::Arch::I386 { place & 0xffff_ffff } else { place }
    }
    /// The file's address of an address in memory.
    pub(crate) fn address(&self, place: u64) -> u64 {
        place.wrapping_sub(self.bias)
    }
    /// Whether an address in memory is this module's code.
    pub(crate) fn contains(&self, place: u64) -> bool {
        self.code.iter().any(|range| range.contains(&place))
    }

    fn same(&self, other: &Module) -> bool {
        Rc::ptr_eq(&self.image, &other.image) && self.bias == other.bias
    }
}

/// Why a breakpoint stands that nobody asked for.
#[derive(Debug, Clone)]
pub(crate) enum Role {
    /// At the function that returns the address of the function to use.
    Resolver {
        /// What it is called, for the function that is found.
        names: Vec<String>,
    },
    /// Where such a function returns to.
    Resolved {
        /// As of the resolver.
        names: Vec<String>,
        /// The thread that waits for the answer.
        tid: Tid,
    },
    /// At the program's entry: the libraries that it asks for are loaded.
    Entry,
    /// At ptrace(2) of the C library.
    Ptrace,
}

/// One process.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    pub(crate) pid: Pid,
    /// By address of the first code.
    pub(crate) modules: Vec<Module>,
    /// Modules that were unmapped, or whose file was changed, since [`Space::forget_gone`].
    pub(crate) gone: Vec<Module>,
    /// Names by which breakpoints were asked for, by address in memory.
    pub(crate) labels: HashMap<u64, Rc<[String]>>,
    /// Addresses at which a breakpoint stands.
    pub(crate) planted: HashSet<u64>,
    /// Breakpoints of our own.
    pub(crate) roles: HashMap<BreakpointId, Role>,
    /// What is known of addresses that were hit.
    pub(crate) places: HashMap<u64, Rc<Place>>,
    /// Set where code can be unwound.
    pub(crate) unwinder: Option<Unwinder>,
}

impl Space {
    /// A process of which nothing is known yet.
    pub(crate) fn new(pid: Pid) -> Space {
        Space {
            pid,
            modules: Vec::new(),
            gone: Vec::new(),
            labels: HashMap::new(),
            planted: HashSet::new(),
            roles: HashMap::new(),
            places: HashMap::new(),
            unwinder: None,
        }
    }

    /// The same for a forked child, whose breakpoints are copies with the same ids.
    pub(crate) fn fork(&self, child: Pid) -> Space {
        Space { pid: child, unwinder: None, ..self.clone() }
    }

    /// Reads the memory map anew and returns the modules that were not there before.
    pub(crate) fn update(&mut self, session: &mut Session, images: &mut Images) -> ubp::Result<Vec<Module>> {
        let Some(process) = session.process(self.pid) else { return Ok(Vec::new()) };
        let maps = process.maps()?;
        let mut modules: Vec<Module> = Vec::new();
        let mut known: HashMap<_, Option<Rc<Image>>> = HashMap::new();
        for map in maps.iter().filter(|map| map.execute) {
            let look = || images.of(session, self.pid, map, &maps);
            if let Some(image) = known.entry((map.device, map.inode, &map.path)).or_insert_with(look).clone()
                && let Some(bias) = bias(&image, map)
            {
                let code = vec![range_of(map)];
                let module = Module { image, bias, code };
                match modules.iter_mut().find(|other| other.same(&module)) {
                    Some(other) => other.code.extend(module.code),
                    None => modules.push(module),
                }
            }
        }
        let is_new = |module: &&Module| !self.modules.iter().any(|old| old.same(module));
        let fresh: Vec<Module> = modules.iter().filter(is_new).cloned().collect();
        let is_gone = |old: &&Module| !modules.iter().any(|module| module.same(old));
        let gone: Vec<Module> = self.modules.iter().filter(is_gone).cloned().collect();
        if !fresh.is_empty() || !gone.is_empty() {
            self.places.clear();
            self.unwinder = None;
        }
        self.planted.retain(|place| !gone.iter().any(|module| module.contains(*place)));
        self.gone.extend(gone);
        self.modules = modules;
        Ok(fresh)
    }

    /// Forgets the names in what is gone.
    pub(crate) fn forget_gone(&mut self) {
        let gone = std::mem::take(&mut self.gone);
        self.labels.retain(|place, _| !gone.iter().any(|module| module.contains(*place)));
    }

    /// The module that holds an address in memory.
    pub(crate) fn module(&self, place: u64) -> Option<&Module> {
        self.modules.iter().find(|module| module.contains(place))
    }
}

fn range_of(map: &Mapping) -> Range<u64> {
    map.start.0..map.end.0
}

fn bias(image: &Image, map: &Mapping) -> Option<u64> {
    if map.path.as_deref().is_some_and(|path| path == "[vdso]") {
        let first = image.segments().first()?;
        return Some(map.start.0.wrapping_sub(first.address.wrapping_sub(first.file.start)));
    }
    image.bias(map.start.0, map.offset)
}
