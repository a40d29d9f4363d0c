//! The back end over ptrace(2).
//!
//! Each room calls only those above it:
//!
//! - `sys`, `wait`, `status`, `blocked`, `pause`, `notify`, `before`, `syscall_stop`, `arch`: the kernel's interfaces;
//! - `armed`, `calls`, `jumps`, `record_clock`, `recorder`, `space`, `thread`, `tracees`: what the tracer knows; `events`: what the user has to learn;
//! - `reports`, `collect`: take reports from the kernel; `departing`, `rewind`, `plain_hit`, `goal`, `arming`;
//! - `remote`: system calls that a stopped thread makes for the tracer; `event_stop`, `leaving`, `resend`, `slot`;
//! - `breakpoints`: sites, arenas and the handler of `SIGTRAP`, by threads that are stopped already;
//! - `lifecycle/release`: the end of all that in one address space;
//! - `stops`: decides what a stop means;
//! - `resume`: applies the decision to the kernel;
//! - `stopping`: stops threads for operations; `operations`, `lifecycle`: the operations;
//! - `event_loop`, `backend`.

#[cfg(target_arch = "aarch64")]
#[path = "arm64/mod.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86/mod.rs"]
mod arch;
mod armed;
mod arming;
mod backend;
mod before;
mod blocked;
mod borrowed;
mod breakpoints;
mod calls;
mod collect;
mod departing;
mod event_loop;
mod event_stop;
mod events;
mod goal;
mod jumps;
mod leaving;
mod lifecycle;
mod notify;
mod operations;
mod pause;
mod plain_hit;
mod record_clock;
mod recorder;
mod remote;
mod reports;
mod resend;
mod resume;
mod rewind;
mod slot;
mod space;
mod status;
mod stopping;
mod stops;
mod sums;
mod sys;
mod syscall_stop;
mod thread;
mod tracees;
mod wait;

use std::cell::Cell;

pub(crate) use self::arch::arguments;
#[cfg(target_arch = "aarch64")]
pub(crate) use self::arch::landing_pads;
pub(crate) use self::borrowed::Borrowed;
use self::events::Events;
pub use self::jumps::{JumpCode, JumpSurvey, JumpSurveyed};
pub(crate) use self::lifecycle::{end, release, start};
use self::record_clock::Clock;
use self::reports::Reports;
pub(crate) use self::sys::send as send_signal;
use self::tracees::{SpaceId, Tracees};
use crate::descriptors::keep_reserve;
use crate::{Error, Options, Result};

thread_local! {
    static HAS_SESSION: Cell<bool> = const { Cell::new(false) };
}

/// The tracer: a thread of this process with its tracees.
#[derive(Debug)]
pub(crate) struct Tracer {
    /// The thread that traces.
    tid: i32,
    tracees: Tracees,
    reports: Reports,
    events: Events,
    /// The clock of records.
    clock: Clock,
    /// Address spaces in which a process has ended or executed another program: the user may know no process there any more.
    orphaned: Vec<SpaceId>,
}

impl Tracer {
    pub(crate) fn new(options: Options) -> Result<Tracer> {
        let reports = Reports::new(&options)?;
        if HAS_SESSION.replace(true) {
            return Err(Error::SecondSession);
        }
        keep_reserve();
        let (tid, tracees) = (sys::own_tid(), Tracees::new(options));
        Ok(Tracer { tid, tracees, reports, events: Events::default(), clock: Clock::new(), orphaned: Vec::new() })
    }
}
