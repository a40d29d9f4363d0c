//! The address space of one process: its modules, its breakpoints and the names of its addresses.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use ubp::{Access, Breakpoint, BreakpointId, Pid, Registers, Session, Tid, WatchId};
use ubp_symbols::{Images, Module, Modules};

use super::description::{Description, describe};

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
#[derive(Debug, Clone)]
pub(crate) struct Space {
    pub(crate) pid: Pid,
    pub(crate) modules: Modules,
    /// The names by which the user asked for breakpoints, by address in memory.
    pub(crate) labels: HashMap<u64, Rc<[String]>>,
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
            inserted: HashSet::new(),
            roles: HashMap::new(),
            watches: HashMap::new(),
            unwanted: HashMap::new(),
            descriptions: HashMap::new(),
        }
    }

    /// Returns the space of a forked child. Its breakpoints are copies with the parent's ids, which begin without hits.
    pub(crate) fn fork(&self, child: Pid) -> Space {
        Space { pid: child, modules: self.modules.fork(child), unwanted: HashMap::new(), ..self.clone() }
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
        self.labels.retain(|address, _| !gone.iter().any(|module| module.contains(*address)));
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
}
