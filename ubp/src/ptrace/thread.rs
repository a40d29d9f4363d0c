//! What the tracer knows of one thread.

use std::collections::VecDeque;

use libc::user_regs_struct;

use super::space::SlotId;
use super::sys::SigInfo;
use crate::arch::Reg;
use crate::{EventKind, Pid, Tid};

/// What a stopped thread is stopped by.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    /// A signal that is about to be delivered.
    Signal(SigInfo),
    /// The same, but the thread was used for something else since, so that the signal has to be sent anew.
    Moved(SigInfo),
    /// A trap of ours, in place of a signal.
    Trap,
    /// An interruption, outside of any system call.
    Event,
    /// The job control stop of its process.
    Group,
    /// Something inside of a system call, or its beginning.
    InSyscall,
    /// The end of a system call.
    Syscall,
}

/// Whether a thread runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Running,
    /// It is in the job control stop of its process, and reports when that ends.
    Listening,
    Stopped(Stop),
}

/// A single step under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) slot: SlotId,
    /// The step is to raise the fault that emulation met: the registers at the site, and how often it completed instead.
    pub(super) probe: Option<(user_regs_struct, u8)>,
}

/// An execution of an instruction that a signal handler interrupts: when the thread comes back to the site it is the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interrupted {
    pub(super) site: u64,
    pub(super) sp: u64,
}

/// So many interrupted executions are remembered; more are handlers that were left for good.
const EXECUTIONS: usize = 64;

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) tid: Tid,
    pub(super) pid: Pid,
    pub(super) state: State,
    /// Waits for the user's resume.
    pub(super) held: bool,
    /// So many uses the tracer itself has for it, stopped.
    pub(super) wanted: u32,
    /// The user asked for its interruption.
    pub(super) interrupted: bool,
    /// The system call in which it blocked when it was interrupted.
    pub(super) call: Option<super::arch::Call>,
    /// Is to be interrupted again when it runs.
    pub(super) again: bool,
    /// It has not reported yet that it exists.
    pub(super) new: bool,
    /// Waits in `vfork` for its child.
    pub(super) vforking: bool,
    /// Stops at system calls: the dynamic loader is at work.
    pub(super) loading: bool,
    /// The site that it was reported at, and which it is to pass when it goes on.
    pub(super) at: Option<u64>,
    /// What else there is to report of the present stop.
    pub(super) pending: VecDeque<EventKind>,
    pub(super) step: Option<Step>,
    /// Is about to enter a signal handler, and stops at its first instruction.
    pub(super) entering: bool,
    /// The same, by a signal that interrupts a system call in a slot; and where its stack is.
    pub(super) framing: Option<u64>,
    /// It stands at a breakpoint instruction that it ran into, not behind: the information of that trap, as the kernel made it.
    pub(super) stands: Option<SigInfo>,
    /// The register that the slot uses, and what it held.
    pub(super) scratch: Option<(Reg, u64)>,
    pub(super) executions: Vec<Interrupted>,
    /// Runs `rt_sigreturn`.
    pub(super) returning: bool,
    /// Where a `mov ss` ended that held off the program's own trap.
    pub(super) shadow: Option<u64>,
    /// Signals held back until the instruction in the slot is done.
    pub(super) deferred: Vec<SigInfo>,
    /// Signals sent anew, as they were.
    pub(super) resent: Vec<SigInfo>,
    /// The epoch of its space when it was last seen outside of all slots.
    pub(super) seen: u64,
}

impl Thread {
    pub(super) fn new(tid: Tid, pid: Pid) -> Thread {
        Thread {
            tid,
            pid,
            state: State::Running,
            held: false,
            wanted: 0,
            interrupted: false,
            call: None,
            again: false,
            new: false,
            vforking: false,
            loading: false,
            at: None,
            pending: VecDeque::new(),
            step: None,
            entering: false,
            framing: None,
            stands: None,
            scratch: None,
            executions: Vec::new(),
            returning: false,
            shadow: None,
            deferred: Vec::new(),
            resent: Vec::new(),
            seen: 0,
        }
    }

    /// A handler interrupts an execution that will go on when the handler returns.
    pub(super) fn interrupt_execution(&mut self, execution: Interrupted) {
        self.executions.retain(|old| *old != execution);
        self.executions.push(execution);
        if self.executions.len() > EXECUTIONS {
            self.executions.remove(0);
        }
    }

    pub(super) fn stop(&self) -> Option<Stop> {
        match self.state {
            State::Stopped(stop) => Some(stop),
            _ => None,
        }
    }
}
