//! A recorded thread and its state.

use insn::x86::Bits;
use libc::user_regs_struct;

use super::arch::Class;
use crate::item::Code;

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// New, attached or seized; it has not stopped yet.
    New,
    /// Runs one instruction.
    Stepping,
    /// Runs several that cannot be stepped one by one.
    Running,
    /// Runs to the entry of a system call, for the first time or again.
    Entering,
    /// Is in a system call.
    InCall,
    /// Has executed another program; the system call has not returned yet.
    InExec,
    /// Gets a signal, or none, and stops before it runs an instruction.
    Asked,
    /// Stopped as by SIGSTOP, until SIGCONT.
    Listening,
}

/// A thread that is recorded.
pub(super) struct Thread {
    pub(super) pid: u32,
    pub(super) state: State,
    /// Whether the thread is in the trace.
    pub(super) recorded: bool,
    /// The state to return to after a stop that does not concern the program's flow.
    pub(super) resumed: State,
    /// At the instruction that is next.
    pub(super) before: Before,
    pub(super) bits: Option<Option<Bits>>,
    /// The system call that the thread has left will restart, unless a signal handler runs first.
    pub(super) may_restart: bool,
    /// The program blocks SIGTRAP. The recorder keeps it unblocked while it steps, since the kernel would reset the handler.
    pub(super) blocks_trap: bool,
}

/// A thread before an instruction.
#[derive(Clone, Copy)]
pub(super) struct Before {
    pub(super) registers: user_regs_struct,
    pub(super) code: Code,
    pub(super) class: Class,
}

impl Thread {
    pub(super) fn new(pid: u32) -> Thread {
        // SAFETY: all-zero bytes are a valid value of this plain C structure.
        let registers = unsafe { std::mem::zeroed() };
        let before = Before { registers, code: Code::default(), class: Class::Plain };
        let state = State::New;
        Thread {
            pid,
            state,
            recorded: false,
            resumed: state,
            before,
            bits: None,
            may_restart: false,
            blocks_trap: false,
        }
    }

    /// Whether the thread will certainly report soon.
    pub(super) fn is_short(&self) -> bool {
        matches!(self.state, State::Stepping | State::Running | State::Entering)
    }
}
