//! The address space of one process: its modules, its breakpoints and the names of its addresses.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use ubp::{Access, Breakpoint, BreakpointId, Pid, Registers, Session, StackCopy, Tid, WatchId};
use ubp_symbols::{Images, Module, Modules, StaticProbe};

use super::description::{Description, describe, static_probe};
use super::semaphores::Semaphores;

/// Why ntrace set a breakpoint that the user did not ask for.
#[derive(Debug, Clone)]
pub(crate) enum Role {
    /// The breakpoint is at a function that returns the address of the function to use.
    Resolver {
        /// The names by which the user asked for the function.
        names: Vec<String>,
        /// The number of the location that asked for it.
        number: usize,
    },
    /// The breakpoint is at a resolver's return address.
    Resolved {
        /// The names by which the user asked for the function.
        names: Vec<String>,
        /// The number of the location that asked for it.
        number: usize,
        /// The thread that called the resolver.
        tid: Tid,
    },
    /// The breakpoint is at the program's entry point, where the libraries that it depends on are loaded.
    Entry,
    /// The breakpoint is at the C library's `ptrace`.
    Ptrace,
    /// Hits are wanted from here on.
    Begin,
    /// No more hits are wanted.
    End,
}

/// Memory that the user asked to watch.
#[derive(Debug)]
pub(crate) struct Watched {
    /// The user's text.
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) length: u64,
    pub(crate) access: Access,
}

/// The address space of one process.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) pid: Pid,
    pub(crate) modules: Modules,
    /// The names by which the user asked for breakpoints, by address in memory.
    pub(crate) labels: HashMap<u64, Rc<[String]>>,
    /// The numbers of the locations of the command line that mean an address in memory.
    pub(crate) asked: HashMap<u64, BTreeSet<usize>>,
    /// The semaphores of static probes that ntrace raised.
    pub(crate) semaphores: Semaphores,
    /// The addresses in memory with a breakpoint, and those where a filter makes no sense.
    pub(crate) inserted: HashSet<u64>,
    /// The breakpoints that ntrace set for itself.
    pub(crate) roles: HashMap<BreakpointId, Role>,
    /// The watchpoints.
    pub(crate) watches: HashMap<WatchId, Rc<Watched>>,
    /// The hits of each breakpoint that the tracer found unwanted.
    pub(crate) unwanted: HashMap<BreakpointId, u64>,
    /// The descriptions of addresses that were hit.
    pub(crate) descriptions: HashMap<u64, Rc<Description>>,
}

impl Space {
    /// Returns the space of a process whose memory map has not been read yet.
    pub(crate) fn new(pid: Pid) -> Space {
        Space {
            pid,
            modules: Modules::new(pid),
            labels: HashMap::new(),
            asked: HashMap::new(),
            semaphores: Semaphores::default(),
            inserted: HashSet::new(),
            roles: HashMap::new(),
            watches: HashMap::new(),
            unwanted: HashMap::new(),
            descriptions: HashMap::new(),
        }
    }

    /// Returns the space of a forked child. Its breakpoints are copies with the parent's ids, which begin without hits. `shares`: it runs in
    /// the memory of its parent, whose space has the semaphores.
    pub(crate) fn fork(&self, child: Pid, shares: bool) -> Space {
        let semaphores = if shares { Semaphores::default() } else { self.semaphores.fork(child) };
        Space {
            pid: child,
            modules: self.modules.fork(child),
            labels: self.labels.clone(),
            asked: self.asked.clone(),
            semaphores,
            inserted: self.inserted.clone(),
            roles: self.roles.clone(),
            watches: self.watches.clone(),
            unwanted: HashMap::new(),
            descriptions: self.descriptions.clone(),
        }
    }

    /// The wanted hits of a breakpoint.
    pub(crate) fn hits(&self, breakpoint: &Breakpoint) -> u64 {
        breakpoint.hits().saturating_sub(self.unwanted.get(&breakpoint.id()).copied().unwrap_or(0))
    }

    /// Reads the memory map again and returns the new modules.
    pub(crate) fn update(&mut self, session: &mut Session, images: &mut Images) -> ubp::Result<Vec<Module>> {
        let before = self.modules.gone().len();
        let new = self.modules.update(session, images)?;
        let gone = self.modules.gone().get(before..).unwrap_or_default();
        if !new.is_empty() || !gone.is_empty() {
            self.descriptions.clear();
        }
        self.inserted.retain(|address| !gone.iter().any(|module| module.contains(*address)));
        Ok(new)
    }

    /// Forgets the modules that are gone, and the names in them.
    pub(crate) fn forget_gone(&mut self) {
        let gone = self.modules.take_gone();
        self.semaphores.forget_gone(&gone);
        self.asked.retain(|address, _| !gone.iter().any(|module| module.contains(*address)));
        self.labels.retain(|address, _| !gone.iter().any(|module| module.contains(*address)));
    }

    /// Notes names by which the user asked for an address in memory.
    pub(crate) fn label(&mut self, address: u64, names: &[String]) {
        let known = self.labels.get(&address).map(|known| known.to_vec()).unwrap_or_default();
        let all: Vec<String> = known.iter().chain(names.iter().filter(|name| !known.contains(name))).cloned().collect();
        self.labels.insert(address, Rc::from(all));
        self.descriptions.remove(&address);
    }

    /// The static probe by whose name the user asked for an address in memory, and its module.
    pub(crate) fn static_probe(&self, address: u64) -> Option<(&Module, &StaticProbe)> {
        let names = self.labels.get(&address)?;
        let module = self.module(address)?;
        static_probe(&module.image, module.in_file(address), names).map(|probe| (module, probe))
    }

    /// Returns the module that contains an address in memory.
    pub(crate) fn module(&self, address: u64) -> Option<&Module> {
        self.modules.at(address)
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

    /// Returns the return addresses of a held thread's callers, the innermost first. `at_start`: see [`Modules::callers`].
    pub(crate) fn callers(&mut self, session: &mut Session, registers: &Registers, at_start: bool) -> Vec<u64> {
        self.modules.callers(session, registers, at_start)
    }

    /// As [`Space::callers`] of a thread that ran on, and whether the copy of its stack ended before they did.
    pub(crate) fn callers_in(&mut self, stack: &StackCopy, at_start: bool) -> (Vec<u64>, bool) {
        self.modules.callers_in(stack, at_start)
    }
}
