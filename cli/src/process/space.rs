//! The address space of one process: its modules, its breakpoints and the names of its addresses.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use ubp::{BreakpointId, Mapping, Pid, Registers, Session, Tid};

use super::description::{Description, describe};
use super::images::Images;
use super::module::Module;
use super::unwind::Unwinder;
use crate::symbols::Image;

/// Why ntrace set a breakpoint that the user did not ask for.
#[derive(Debug, Clone)]
pub(crate) enum Role {
    /// The breakpoint is at a function that returns the address of the function to use.
    Resolver {
        /// The names by which the user asked for the function.
        names: Vec<String>,
    },
    /// The breakpoint is at a resolver's return address.
    Resolved {
        /// The names by which the user asked for the function.
        names: Vec<String>,
        /// The thread that called the resolver.
        tid: Tid,
    },
    /// The breakpoint is at the program's entry point, where the libraries that it depends on are loaded.
    Entry,
    /// The breakpoint is at the C library's `ptrace`.
    Ptrace,
}

/// The address space of one process.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    pub(crate) pid: Pid,
    /// All modules, in the order of the memory map.
    pub(crate) modules: Vec<Module>,
    /// The modules that were unmapped, or whose file changed, since the last [`Space::forget_gone`].
    pub(crate) gone: Vec<Module>,
    /// The names by which the user asked for breakpoints, by address in memory.
    pub(crate) labels: HashMap<u64, Rc<[String]>>,
    /// The addresses in memory with a breakpoint.
    pub(crate) inserted: HashSet<u64>,
    /// The breakpoints that ntrace set for itself.
    pub(crate) roles: HashMap<BreakpointId, Role>,
    /// The descriptions of addresses that were hit.
    pub(crate) descriptions: HashMap<u64, Rc<Description>>,
    /// The unwinder for the current modules. It is made when it is first needed.
    unwinder: Option<Unwinder>,
}

impl Space {
    /// Returns the space of a process whose memory map has not been read yet.
    pub(crate) fn new(pid: Pid) -> Space {
        Space {
            pid,
            modules: Vec::new(),
            gone: Vec::new(),
            labels: HashMap::new(),
            inserted: HashSet::new(),
            roles: HashMap::new(),
            descriptions: HashMap::new(),
            unwinder: None,
        }
    }

    /// Returns the space of a forked child. Its breakpoints are copies with the parent's ids.
    pub(crate) fn fork(&self, child: Pid) -> Space {
        Space { pid: child, unwinder: None, ..self.clone() }
    }

    /// Reads the memory map again and returns the new modules.
    pub(crate) fn update(&mut self, session: &mut Session, images: &mut Images) -> ubp::Result<Vec<Module>> {
        let Some(process) = session.process(self.pid) else { return Ok(Vec::new()) };
        let maps = process.maps()?;
        let mut modules: Vec<Module> = Vec::new();
        let mut known: HashMap<_, Option<Rc<Image>>> = HashMap::new();
        for map in maps.iter().filter(|map| map.execute) {
            let look = || images.of(session, self.pid, map, &maps);
            let image = known.entry((map.device, map.inode, &map.path)).or_insert_with(look).clone();
            let Some(module) = image.and_then(|image| module_of(image, map)) else { continue };
            match modules.iter_mut().find(|other| other.is_same(&module)) {
                Some(other) => other.code.extend(module.code),
                None => modules.push(module),
            }
        }
        let is_new = |module: &&Module| !self.modules.iter().any(|old| old.is_same(module));
        let new: Vec<Module> = modules.iter().filter(is_new).cloned().collect();
        let is_gone = |old: &&Module| !modules.iter().any(|module| module.is_same(old));
        let gone: Vec<Module> = self.modules.iter().filter(is_gone).cloned().collect();
        if !new.is_empty() || !gone.is_empty() {
            self.descriptions.clear();
            self.unwinder = None;
        }
        self.inserted.retain(|address| !gone.iter().any(|module| module.contains(*address)));
        self.gone.extend(gone);
        self.modules = modules;
        Ok(new)
    }

    /// Forgets the modules that are gone, and the names in them.
    pub(crate) fn forget_gone(&mut self) {
        let gone = std::mem::take(&mut self.gone);
        self.labels.retain(|address, _| !gone.iter().any(|module| module.contains(*address)));
    }

    /// Returns the module that contains an address in memory.
    pub(crate) fn module(&self, address: u64) -> Option<&Module> {
        self.modules.iter().find(|module| module.contains(address))
    }

    /// Describes an address in memory. The description is kept.
    pub(crate) fn description(&mut self, address: u64) -> Rc<Description> {
        if let Some(description) = self.descriptions.get(&address) {
            return Rc::clone(description);
        }
        let description = Rc::new(self.describe(self.module(address), address));
        self.descriptions.insert(address, Rc::clone(&description));
        description
    }

    /// Describes an address in memory that is in `module`, which may be unmapped by now.
    pub(crate) fn describe(&self, module: Option<&Module>, address: u64) -> Description {
        describe(module, self.labels.get(&address).cloned(), address, address)
    }

    /// Describes a return address. The call instruction before it determines the function and the line.
    pub(crate) fn describe_caller(&self, return_address: u64) -> Description {
        let call = return_address.wrapping_sub(1);
        describe(self.module(call), self.labels.get(&return_address).cloned(), return_address, call)
    }

    /// Returns the return addresses of a held thread's callers, the innermost first.
    ///
    /// `at_start` states that the thread is at a function's first instruction, whose frame is not set up yet.
    pub(crate) fn callers(&mut self, session: &mut Session, registers: &Registers, at_start: bool) -> Vec<u64> {
        let unwinder = self.unwinder.get_or_insert_with(|| Unwinder::new(&self.modules));
        unwinder.callers(session, self.pid, &self.modules, registers, at_start)
    }
}

fn module_of(image: Rc<Image>, map: &Mapping) -> Option<Module> {
    let bias = bias(&image, map)?;
    Some(Module { image, bias, code: vec![range_of(map)] })
}

fn range_of(map: &Mapping) -> Range<u64> {
    map.start.0..map.end.0
}

fn bias(image: &Image, map: &Mapping) -> Option<u64> {
    if map.path.as_deref().is_some_and(|path| path == Path::new("[vdso]")) {
        let first = image.segments().first()?;
        return Some(map.start.0.wrapping_sub(first.address.wrapping_sub(first.file.start)));
    }
    image.bias(map.start.0, map.offset)
}
