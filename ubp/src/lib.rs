//! User breakpoints: any number of threads pass them, and none is ever lifted to let a thread pass.
//!
//! A breakpoint's instruction is emulated, or runs as a copy in a *slot*, which lies with the breakpoint table in an *arena*, a
//! mapping in the debuggee's own memory. No thread waits for another, none misses a hit, and the program sees nothing of it: its
//! signal handlers, system calls, children and memory are as they would be without.
//!
//! [`core`] is the table and its algorithms, without `std`, for a kernel as well. With the feature `std` (on by default) there is
//! the process layer over ptrace(2): a [`Session`] spawns programs or attaches to processes, and delivers [`Event`]s.
//!
//! ```
//! use std::process::{Command, Stdio};
//! use ubp::{EventKind, Session, Spec};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut session = Session::new()?;
//! let mut command = Command::new("/bin/true");
//! command.stdout(Stdio::null());
//! let pid = session.spawn(command)?;
//!
//! // Nothing of the program has run yet. Count how often its entry point is executed.
//! let entry = session.process(pid).and_then(|process| process.auxv().entry()).ok_or("no entry point")?;
//! let breakpoint = session.insert(pid, &[Spec::count(entry)])?[0]?;
//! session.resume(pid.leader())?;
//!
//! let mut hits = 0;
//! while let Some(event) = session.wait()? {
//!     if let EventKind::Exited(status) = event.kind {
//!         assert_eq!(status, 0);
//!         hits = session.breakpoint(pid, breakpoint).map_or(0, |breakpoint| breakpoint.hits());
//!     }
//!     if event.is_held() {
//!         session.resume(event.tid)?;
//!     }
//! }
//! assert_eq!(hits, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # What a tracer must know
//! - A session belongs to the thread that made it, and a thread has one session.
//! - A tracer that is killed by `SIGKILL` leaves its breakpoints. Programs that it spawned are killed with it ([`Options::exit_kill`]). In
//!   processes that it attached to, and in others that outlive it, a handler of `SIGTRAP` answers each breakpoint that is met, and takes it
//!   away; a session that attaches later removes the rest. A program that handles, ignores or blocks `SIGTRAP` itself has no such help, nor one
//!   that cannot write to its code through /proc/self/mem. A tool that attaches to processes of others does best to run its session in
//!   a worker process that no terminal signal reaches, and to call [`Session::detach`] on `SIGTERM`.
//!
//! # What the program can notice
//! - A hit while the program blocks `SIGTRAP` outside of a signal handler makes the kernel forget the handler that it may have for
//!   that signal.
//! - `epoll_wait` and other calls with a relative timeout that the kernel does not restart begin it anew after an interruption.
//! - Such a call may end with `EINTR` by a signal to the process that the program ignores, where another thread takes that signal:
//!   the kernel queues ignored signals of traced processes, and wakes one thread for a signal that any may take.
//! - A process that outlives the tracer has a handler for `SIGTRAP` where it has set none. One that it sets later is forgotten by the kernel
//!   at a hit in a signal handler that blocks `SIGTRAP`.
//! - Data that is read from the very bytes of a site, other than by an emulated instruction, holds the breakpoint instruction.
//!
//! On arm64 in addition:
//! - A system call that the kernel does not restart by itself ends with `EINTR` by a signal that the program ignores, whichever thread
//!   takes it, where the kernel does not tell its first argument any more (6.12.117 does not); and after a group stop, as it would alone.
//! - A site out of reach (±128 MiB) of all free memory costs a second trap, and cannot stand on a load-exclusive.
#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(target_arch = "aarch64")]
#[path = "arch/arm64/mod.rs"]
pub mod arch;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[path = "arch/x86/mod.rs"]
pub mod arch;
pub mod core;

#[cfg(feature = "std")]
mod address;
#[cfg(feature = "std")]
mod backend;
#[cfg(feature = "std")]
mod breakpoint;
#[cfg(feature = "std")]
mod error;
#[cfg(feature = "std")]
mod event;
#[cfg(feature = "std")]
mod kernel;
#[cfg(feature = "std")]
mod loader;
#[cfg(feature = "std")]
mod machine;
#[cfg(feature = "std")]
mod memory;
#[cfg(feature = "std")]
mod options;
#[cfg(feature = "std")]
mod process;
#[cfg(feature = "std")]
mod ptrace;
#[cfg(feature = "std")]
mod registers;
#[cfg(feature = "std")]
mod session;
#[cfg(feature = "std")]
mod signal;
#[cfg(feature = "std")]
mod stdio;

#[cfg(feature = "std")]
pub use self::{
    address::{Address, Pid, Tid},
    breakpoint::{Breakpoint, BreakpointId, Comparison, Condition, Method, Operand, Report, Spec},
    error::{Error, InsertError, InsertReason, Result},
    event::{Event, EventKind},
    machine::Arch,
    options::{Mechanism, Options},
    process::{Auxv, Mapping, Process},
    registers::Registers,
    session::Session,
    signal::Signal,
    stdio::Stdio,
};
/// The program to spawn, as the standard library describes it.
#[cfg(feature = "std")]
pub use std::process::Command;
