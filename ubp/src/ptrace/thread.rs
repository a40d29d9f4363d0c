//! What the tracer knows about one thread.

use std::collections::VecDeque;

use libc::user_regs_struct;

use super::arch;
use super::armed::Armed;
use super::before::Before;
use super::calls::Calls;
use super::space::SlotId;
use super::sys::SigInfo;
use crate::arch::Reg;
use crate::{EventKind, Pid, SignalInfo, Tid};

/// Why a thread is stopped.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    /// A signal-delivery-stop.
    Signal(SigInfo),
    /// A signal-delivery-stop in which the tracer used the thread for something else since, so that the signal has to be
    /// sent once more.
    Moved(SigInfo),
    /// A signal-delivery-stop of a trap that is the tracer's own: another signal can take its place.
    Trap,
    /// A `PTRACE_EVENT_STOP` outside of any system call.
    Event,
    /// A group-stop.
    Group,
    /// A stop inside of a system call, or at its beginning.
    InSyscall,
    /// A syscall-exit-stop.
    Syscall,
}

/// Whether a thread runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Running,
    /// In a group-stop, of which the kernel reports the end (`PTRACE_LISTEN`).
    Listening,
    Stopped(Stop),
}

/// What the tracer does at the thread's next `PTRACE_EVENT_STOP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Report the thread, which is new.
    Started,
    /// Report the process that the thread made.
    Forked(Pid),
    /// Report the program that the thread executed.
    Exec,
    /// Look at the code that the thread mapped.
    Mapped,
}

/// A single step over the instruction of a site, under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) slot: SlotId,
    /// The step shall raise the fault that the emulation met: the registers at the site, and how often the step completed
    /// instead.
    pub(super) probe: Option<(user_regs_struct, u8)>,
}

/// How a thread runs.
#[expect(clippy::large_enum_variant, reason = "there is one per thread, and a step shall not allocate")]
#[derive(Clone, Copy, Debug)]
pub(super) enum Run {
    Free,
    /// By one instruction in a slot.
    Step(Step),
    /// Up to the first instruction of the signal handler that the thread is about to enter.
    IntoHandler {
        /// The tracer unblocks `SIGTRAP` there.
        unblock_trap: bool,
        /// The handler interrupts a system call in a slot, and its frame has to be corrected: the stack pointer before.
        frame_below: Option<u64>,
    },
}

/// Where the user lets a thread run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Goal {
    /// On.
    #[default]
    None,
    /// Past one instruction; the place where the processor's single step began.
    Step(Option<Before>),
    /// No further: the instruction is executed, and the user learns of something else before.
    Stepped,
    /// To a site ([`Space::add_target`](super::space::Space::add_target)).
    Site {
        site: u64,
        /// The stack pointer of the frame to which the thread runs. A function that frees its arguments returns up to 64 KiB above it.
        frame: Option<u64>,
    },
}

/// The most bytes of arguments that a return frees (SDM vol. 2B, RET).
const FREED: u64 = 0xffff;

impl Goal {
    pub(super) fn is_step(self) -> bool {
        matches!(self, Goal::Step(_))
    }

    /// Whether a thread at a site, with this stack pointer, is where it was to run.
    pub(super) fn is_reached(self, at: u64, sp: u64) -> bool {
        match self {
            Goal::Site { site, frame } => site == at && frame.is_none_or(|frame| sp.wrapping_sub(frame) <= FREED),
            _ => false,
        }
    }
}

/// Whether a thread waits for the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Hold {
    #[default]
    Not,
    /// The user has an event of the thread, and resumes the thread.
    ForUser,
}

/// An execution of an instruction that a signal handler interrupts. A thread that comes back to the site with the same stack
/// pointer continues this execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interrupted {
    pub(super) site: u64,
    pub(super) sp: u64,
}

/// The number of interrupted executions that the tracer remembers. A handler that a thread left by a jump never returns, so
/// the oldest execution makes room.
const EXECUTIONS: usize = 64;

/// An interruption of the thread (`PTRACE_INTERRUPT`) that is under way.
#[derive(Debug, Default)]
pub(super) struct Interruption {
    /// The user asked for the stop and gets an event. Any other stop before it clears the kernel's interruption (`ptrace_stop` in
    /// kernel/signal.c), so the tracer interrupts the thread again when it runs.
    pub(super) for_user: bool,
    /// The system call in which the thread blocked when it was interrupted.
    pub(super) call: Option<arch::BlockedCall>,
}

/// What the tracer keeps about a thread in a slot.
#[derive(Debug, Default)]
pub(super) struct InSlot {
    /// The register that the slot uses, and the program's value of it.
    pub(super) scratch: Option<(Reg, u64)>,
    /// The end of an instruction (`mov ss`) that held off the program's own trap.
    pub(super) trap_held_off: Option<u64>,
    /// Signals that wait until the instruction in the slot is done.
    pub(super) deferred: Vec<SigInfo>,
}

/// The signal handlers that a thread runs in the midst of instructions at sites.
#[derive(Clone, Debug, Default)]
pub(super) struct Handlers {
    interrupted: Vec<Interrupted>,
    /// The thread is in `rt_sigreturn`.
    returning: bool,
}

impl Handlers {
    /// Whether a return from a handler may continue an execution.
    pub(super) fn is_any(&self) -> bool {
        !self.interrupted.is_empty()
    }

    /// A handler interrupts an execution, which continues when the handler returns.
    pub(super) fn interrupt(&mut self, execution: Interrupted) {
        self.forget(execution);
        self.interrupted.push(execution);
        if self.interrupted.len() > EXECUTIONS {
            self.interrupted.remove(0);
        }
    }

    /// The thread left an execution for good.
    pub(super) fn forget(&mut self, execution: Interrupted) {
        self.interrupted.retain(|old| *old != execution);
    }

    /// The thread begins a system call.
    pub(super) fn begin_call(&mut self, is_return: bool) {
        self.returning = is_return;
    }

    /// Whether the thread is in the return from a handler.
    pub(super) fn is_returning(&self) -> bool {
        self.returning
    }

    /// The thread ends a system call. Returns whether the call was the return from a handler.
    pub(super) fn end_call(&mut self) -> bool {
        std::mem::take(&mut self.returning)
    }

    /// The thread returned from a handler. Returns whether it continues an execution.
    pub(super) fn return_to(&mut self, execution: Interrupted) -> bool {
        let at = self.interrupted.iter().position(|old| *old == execution);
        if let Some(at) = at {
            self.interrupted.truncate(at);
        }
        at.is_some()
    }
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) tid: Tid,
    pub(super) pid: Pid,
    pub(super) state: State,
    pub(super) run: Run,
    pub(super) hold: Hold,
    pub(super) goal: Goal,
    /// The kernel would take the trap flag of the next single step for the program's ([`arch::owns_trap_flag`]).
    pub(super) owns_trap_flag: bool,
    /// A tracer that was killed may have begun a single step, whose trap is still to come: nothing clears the trap flag when a
    /// tracer ends (`__ptrace_unlink` in kernel/ptrace.c).
    pub(super) step_of_killed: bool,
    /// Further events of the present stop, which come before the thread continues.
    pub(super) untold: VecDeque<EventKind>,
    /// [`Session::stop`](crate::Session::stop) stopped the thread, and an event of it waits for the user.
    pub(super) has_untold: bool,
    /// The number of operations of the tracer that need the thread stopped.
    pub(super) pins: u32,
    pub(super) interruption: Interruption,
    pub(super) due: Option<Due>,
    /// The thread waits in vfork(2) for its child.
    pub(super) vforking: bool,
    /// The dynamic loader is at work: the thread stops at system calls.
    pub(super) loading: bool,
    /// The site of the reported breakpoint, which the thread passes when it continues.
    pub(super) reported_at: Option<u64>,
    /// The tracer moved the thread from behind a breakpoint instruction to it: the signal's information as the kernel made it.
    pub(super) rewound: Option<SigInfo>,
    pub(super) slot: InSlot,
    /// The instruction that the thread executes at a jump while the program single-steps itself.
    pub(super) traced_at: Option<u64>,
    /// The jump whose bytes the thread may enter without a branch of the program's: it passed the jump by a slot, whose way back leads to the
    /// instruction behind, or the tracer led it out of the trampoline.
    pub(super) passed: Option<u64>,
    pub(super) handlers: Handlers,
    pub(super) calls: Calls,
    pub(super) armed: Armed,
    /// The signal of the group-stop that the user knows of.
    pub(super) group_stop: Option<i32>,
    /// The original information of signals that the tracer sent once more.
    pub(super) resent: Vec<SigInfo>,
    /// The number of sites that the thread has come to since it ran last.
    pub(super) arrivals: u32,
    /// The epoch of the address space when the thread was last seen outside of all slots.
    pub(super) seen: u64,
}

impl Thread {
    pub(super) fn new(tid: Tid, pid: Pid) -> Thread {
        Thread {
            tid,
            pid,
            state: State::Running,
            run: Run::Free,
            hold: Hold::Not,
            goal: Goal::None,
            owns_trap_flag: false,
            step_of_killed: false,
            untold: VecDeque::new(),
            has_untold: false,
            pins: 0,
            interruption: Interruption::default(),
            due: None,
            vforking: false,
            loading: false,
            reported_at: None,
            rewound: None,
            slot: InSlot::default(),
            traced_at: None,
            passed: None,
            handlers: Handlers::default(),
            calls: Calls::default(),
            armed: Armed::default(),
            group_stop: None,
            resent: Vec::new(),
            arrivals: 0,
            seen: 0,
        }
    }

    pub(super) fn stop(&self) -> Option<Stop> {
        match self.state {
            State::Stopped(stop) => Some(stop),
            _ => None,
        }
    }

    /// The number of the signal whose delivery the thread is stopped for.
    pub(super) fn signal(&self) -> Option<crate::Signal> {
        match self.stop()? {
            Stop::Signal(info) | Stop::Moved(info) => Some(crate::Signal(info.signal())),
            _ => None,
        }
    }

    /// The signal whose delivery the thread is stopped for, and its origin.
    pub(super) fn signal_info(&self) -> Option<SignalInfo> {
        match self.stop()? {
            Stop::Signal(info) | Stop::Moved(info) => Some(info.parse()),
            _ => None,
        }
    }

    /// Whether the thread is stopped in a system call that it has to leave before it can be sent anywhere.
    pub(super) fn is_in_call(&self) -> bool {
        match self.stop() {
            Some(Stop::InSyscall) => true,
            Some(Stop::Syscall) => arch::CALLS_HIDE_REGISTERS,
            _ => false,
        }
    }

    /// Whether the user holds the thread at the beginning of a system call, which the kernel has not made.
    pub(super) fn is_held_at_entry(&self) -> bool {
        self.is_held() && self.calls.held_at_entry && matches!(self.stop(), Some(Stop::InSyscall))
    }

    pub(super) fn is_held(&self) -> bool {
        self.hold == Hold::ForUser
    }

    /// The single step under way.
    pub(super) fn step(&self) -> Option<&Step> {
        match &self.run {
            Run::Step(step) => Some(step),
            _ => None,
        }
    }

    /// The thread is moved out of its slot: a single step is over, and the slot's register has the program's value again.
    pub(super) fn end_slot(&mut self) {
        self.slot.scratch = None;
        if self.step().is_some() {
            self.run = Run::Free;
        }
    }

    pub(super) fn unpin(&mut self) {
        self.pins = self.pins.saturating_sub(1);
    }
}
