//! What the stop of a thread means. The functions here decide how the thread continues; `resume` applies that.

pub(super) mod breakpoint;
mod cause;
mod clone;
mod deferred;
mod end;
mod exec;
mod handler;
mod interruption;
mod jump;
mod mask;
pub(super) mod pass;
mod record;
pub(super) mod report;
pub(super) mod signal;
mod single_step;
mod slot_trap;
pub(super) mod stepped;
mod syscall;
mod syscall_events;
mod tell;
pub(super) mod trap;
#[cfg(target_arch = "aarch64")]
#[path = "arm64/trapped.rs"]
mod trapped;
#[cfg(target_arch = "x86_64")]
#[path = "x86/trapped.rs"]
mod trapped;
mod watched;

use super::space::SlotId;
use super::thread::Due;
use crate::{EventKind, Tid};

/// How a stopped thread continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The thread stays stopped, or has ended.
    Stay,
    /// The thread waits for the user, who gets this event.
    Hold(EventKind),
    /// The thread continues as its stop asks: it gets the signal that it is stopped by, or passes the breakpoint that it was
    /// reported at.
    GoOn,
    /// The thread and the process that it made continue as their stops ask.
    GoOnWithChild(Tid),
    /// The user gets the signal that the thread is stopped by, if he asked for signals; otherwise the thread gets it.
    Signal(i32),
    /// The thread passes the site of this slot.
    Pass(SlotId),
    /// The thread has executed the instruction for which the user let it run.
    Stepped,
    /// The thread's next instruction is the breakpoint instruction at this site of this slot: it counts as executed.
    Arrive(SlotId, u64),
    /// The thread runs from where its registers say, and gets this signal; 0: none.
    Run(i32),
    /// The thread executes one instruction, and the signal that it is stopped by waits.
    Step,
    /// The thread runs into the signal that its last instruction raised.
    TrapFirst,
    /// The thread leaves the system call that it is in.
    LeaveCall(Option<Due>),
    /// The thread is no debuggee's any more, and is detached.
    Detach,
}
