//! What is known of a thread.

use insn::x86::Bits;
use libc::user_regs_struct;

use super::arch::Class;
use crate::item::Code;

/// What a thread is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Made, attached to or seized, and not seen to stop yet.
    New,
    /// Runs one instruction.
    Stepping,
    /// Runs several that cannot be stepped one by one.
    Running,
    /// Comes to a system call, anew or again.
    Entering,
    /// Is in a system call.
    InCall,
    /// Runs another program; the call that did it has not returned yet.
    InExec,
    /// Is given a signal, or nothing, and stops before it runs anything.
    Asked,
    /// Stopped as by SIGSTOP, until SIGCONT.
    Listening,
}

/// A thread that is recorded.
pub(super) struct Thread {
    pub(super) pid: u32,
    pub(super) state: State,
    /// The state to return to from a stop that is no matter of the program's flow.
    pub(super) resumed: State,
    /// At the instruction that is next.
    pub(super) before: Before,
    pub(super) bits: Option<Option<Bits>>,
    /// The system call that it has left will be restarted, unless a signal handler comes first.
    pub(super) may_restart: bool,
    /// The program blocks SIGTRAP, which is kept unblocked while it is stepped: else the kernel would forget its handler.
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
        Thread { pid, state, resumed: state, before, bits: None, may_restart: false, blocks_trap: false }
    }

    /// Whether it is sure to report soon.
    pub(super) fn is_short(&self) -> bool {
        matches!(self.state, State::Stepping | State::Running | State::Entering)
    }
}
