//! What the server keeps of a process.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use ubp::{BreakpointId, Pid, Session, Signal, Tid, WatchId};

use crate::agent::Expression;
use crate::arch::{self, Description};

/// A breakpoint that the client inserted.
#[derive(Clone, Debug)]
pub(crate) struct Inserted {
    /// `None` where the memory is not executable: a thread that gets there faults, which the client takes for the hit. gdb puts the return
    /// address of functions that it calls on the stack.
    pub(crate) id: Option<BreakpointId>,
    /// Conditions, of which one must hold, that are evaluated here; empty if there are none, or if the breakpoint's own condition says the same.
    pub(crate) conditions: Vec<Expression>,
    /// What is run at a hit.
    pub(crate) commands: Vec<Expression>,
}

/// What a thread was last told to do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doing {
    /// It steps while it is in this range; an empty range: one instruction.
    pub(crate) stepping: Option<Range<u64>>,
    /// It is to stop for the client.
    pub(crate) pausing: bool,
    /// It waits in a vfork that the client was told of.
    pub(crate) vforking: bool,
    /// A signal that arrived while the client looks at the stopped program, and that it does not want to see.
    pub(crate) owed: Option<Signal>,
}

/// A process.
#[derive(Clone, Debug)]
pub(crate) struct Inferior {
    pub(crate) attached: bool,
    pub(crate) description: Description,
    /// By address.
    pub(crate) breakpoints: BTreeMap<u64, Inserted>,
    /// By the packet's type and address.
    pub(crate) watchpoints: BTreeMap<(u64, u64), WatchId>,
    pub(crate) threads: HashMap<Tid, Doing>,
    /// It runs in its parent's memory, as a child of vfork(2) does until it executes a program.
    pub(crate) is_guest: bool,
    /// The client has let it go while it still runs in its parent's memory: it is detached when it leaves that.
    pub(crate) leaving: bool,
}

impl Inferior {
    pub(crate) fn new(session: &mut Session, pid: Pid, attached: bool) -> Inferior {
        let arch = session.process(pid).map(|process| process.arch());
        let vector =
            session.vector_registers(pid.leader()).ok().and_then(|all| all.get(WIDEST)).map_or(0, |all| all.len());
        let description = arch::description(arch.unwrap_or(HOST), vector);
        Inferior {
            attached,
            description,
            breakpoints: BTreeMap::new(),
            watchpoints: BTreeMap::new(),
            threads: HashMap::new(),
            is_guest: false,
            leaving: false,
        }
    }

    /// The child of a process: the breakpoints are copies, or the same in a vfork.
    pub(crate) fn child(&self, is_guest: bool) -> Inferior {
        Inferior { threads: HashMap::new(), is_guest, leaving: false, ..self.clone() }
    }

    /// The process executed another program.
    pub(crate) fn begin_program(&mut self, session: &mut Session, pid: Pid) {
        let fresh = Inferior::new(session, pid, self.attached);
        *self = Inferior { leaving: self.leaving, ..fresh };
    }

    pub(crate) fn doing(&mut self, tid: Tid) -> &mut Doing {
        self.threads.entry(tid).or_default()
    }
}

#[cfg(target_arch = "x86_64")]
const HOST: ubp::Arch = ubp::Arch::X86_64;
#[cfg(target_arch = "aarch64")]
const HOST: ubp::Arch = ubp::Arch::Arm64;
/// A vector register, whose length says what the processor has.
const WIDEST: ubp::arch::Reg = ubp::arch::Reg::vector(0);
