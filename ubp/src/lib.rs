//! Breakpoints in running programs, hundreds of thousands at once, that are never removed to let a thread pass.
//!
//! A debugger's usual breakpoint is lifted while a thread steps over it: the other threads are stopped meanwhile, or miss it. This crate
//! emulates the instruction at a breakpoint, or runs a copy of it in a *slot*. Slots and the breakpoint table lie in an *arena*, a
//! mapping in the debuggee's own memory. No thread waits for another, no hit is missed, and signal handlers, system calls, children
//! and memory of the program are as they would be without breakpoints.
//!
//! A [`Session`] spawns programs or attaches to processes, inserts breakpoints and delivers [`Event`]s. It works over ptrace(2), or
//! over the kernel module ntrace where that is loaded ([`Mechanism`]). [`Session::modules`] names the files that are mapped as code, with their
//! bias and build ID. The crate `ntrace-ubp-symbols` reads their symbols and source lines, and finds the callers of a thread.
//!
//! # Example
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
//! // The program is held at its first instruction. Count how often its entry point is executed.
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
//! More examples are in the folder `examples`: `count` counts executions of addresses, `registers_at_the_entry_point` shows registers at a
//! breakpoint, `hold_by_condition` holds a thread only if a condition holds, `watch_writes` tells which code writes to memory, `log_syscalls`
//! logs system calls.
//!
//! # Features
//!
//! - `std` (default): sessions over ptrace(2), on Linux, for x86-64 (with i386 programs) and arm64.
//! - `async` (default): [`Session::events`], for asynchronous code on any reactor. It has no dependency.
//! - `module` (default): sessions over the kernel module. Without it [`Mechanism::Kernel`] fails with [`Error::Unsupported`], and
//!   [`Mechanism::Auto`] is ptrace.
//! - `rules` (default): [`rules`], a layer above the session.
//! - Without `std` the crate is `no_std` and consists of [`core`] and [`arch`]: the breakpoint table and its algorithms, without allocation and
//!   without panics, as the kernel module uses them.
//!
//! # Jumps
//!
//! A breakpoint that only counts can be a jump ([`Spec::patch`]): a hit costs some nanoseconds, because no thread enters the kernel. This works
//! over ptrace in programs of 64-bit x86 and of arm64, where the code of a jump only counts. On x86 it does not matter whether the program branches
//! into the bytes that a jump replaces (`ntrace-trampoline` says how), but each such branch costs a trap, so that [`Patch::Auto`] looks for branches
//! there. On arm64 a jump replaces one instruction.
//! [`Breakpoint::no_jump`] tells why a site has no jump ([`NoJump`]).
//!
//! - On x86 one jump serves the sites of a basic block, if each instruction from its own on has one. A thread that branches into the block traps once.
//! - While jumps come or go, all threads of the memory are stopped. [`Session::insert`] and [`Session::write_memory`] fail with
//!   [`Error::Uninterruptible`] if a jump has to go and a thread cannot be stopped within a second; a removed breakpoint's jump stays then, and
//!   counts for nobody.
//! - A breakpoint at the site of a jump, or within its bytes, that needs a trap makes the jump a breakpoint instruction. Its counts go on.
//! - A signal handler sees the program's own pc. It may see other values in registers and flags that the code overwrites before it reads them.
//! - A forked child has counters and a ring of its own, which begin at zero.
//! - A record names its thread by the base of fs, which the tracer looks at when it sees the thread stop. Records of a thread that changes the base by
//!   itself are told of the process's first thread, and so are those of processes that share memory and base, other than by vfork(2).
//! - Hits that code has recorded count when they are taken ([`Session::take_records`]), and at the end of the process.
//! - If the tracer is killed, the program runs on and the jumps count on. A later session that attaches removes them; the memory that they led to
//!   stays mapped.
//!
//! # Guarantees
//!
//! - After [`Session::detach`] the original bytes are back, no thread is in a slot, and the arena is unmapped.
//! - A breakpoint that cannot be passed correctly is refused when it is inserted, with a reason ([`InsertReason`]).
//! - Memory of a debuggee is not trusted: whatever it contains, only the debuggee can be harmed.
//! - The minimal Rust version is 1.85. Raising it is a minor version change.
//!
//! # What a tracer must know
//!
//! - A session belongs to the thread that made it, and a thread has one session. A [`SessionBuilder`] can be moved to that thread.
//! - A tracer that is killed by `SIGKILL` leaves its breakpoints behind. Programs that it spawned are killed with it
//!   ([`Options::exit_kill`]). In other processes a handler of `SIGTRAP` answers each breakpoint that is hit and removes it; a later session
//!   that attaches removes the rest. This does not work in a program that ignores or blocks `SIGTRAP`, or that cannot
//!   write to its code through /proc/self/mem. A tool that attaches to other users' processes should run its session in a worker process
//!   that no terminal signal reaches, and should call [`Session::detach`] on `SIGTERM`.
//!
//! # Waiting, signals and other children
//!
//! Over ptrace(2) a session waits by waitid(2) in its own thread. It installs no signal handler and looks at no signal: the process may
//! block, ignore or handle `SIGCHLD`, with `SA_NOCLDWAIT` and `SA_NOCLDSTOP` too. The kernel sends `SIGCHLD` to the process for stops of
//! debuggees all the same, so a handler of the process' own runs often, and a signalfd(2) tells of pids that its owner does not know.
//!
//! - A session takes no report of a child that it does not trace. Several threads may have a session each.
//! - A session's descriptor ([`AsFd`](std::os::fd::AsFd)) is served by a thread that blocks all signals. It exists from the first use of
//!   the descriptor on. A hit takes longer while that thread passes it on: [`Session::wait`] is the fast way, and
//!   [`Session::wait_unless`] is one that another thread can end.
//! - [`Session::wait`] polls before it sleeps ([`Options::busy_wait`]).
//! - A wait of *another* thread for any child (`waitpid(-1, …)`, or for a process group) takes reports of debuggees, because the kernel
//!   shows a tracee to all threads of the tracer's process; `__WNOTHREAD` avoids that. A session with [`Options::others_wait`] finds stops
//!   that were taken so, and a debuggee whose end was taken, of which it can report neither status nor event. Without the option
//!   the debuggee stays stopped. A wait for any child in the session's *own* thread, between two calls, is the same case.
//! - A copy of the process that fork(2) makes has no session: one that is dropped there does nothing.
//! - A child that the session's thread made by clone(2) with another signal than `SIGCHLD`, and that has a report which nobody takes, makes
//!   the session look for reports every 10 milliseconds instead of sleeping.
//!
//! # What the program can notice
//!
//! - If a thread hits a breakpoint while it blocks `SIGTRAP` outside of a signal handler, the kernel resets the process's handler for
//!   that signal, if there is one.
//! - `epoll_wait` and other calls with a relative timeout that the kernel does not restart begin their timeout anew after an interruption.
//! - Such a call may return `EINTR` for a signal that the program ignores, if the signal is sent to the process and another thread takes it:
//!   the kernel queues ignored signals of traced processes, and wakes one thread for a signal that any may take.
//! - A process that outlives the tracer has a handler for `SIGTRAP`, and for `SIGILL`, `SIGSEGV` and `SIGBUS` where jumps need that. On x86-64 it
//!   takes the place of the program's own, and calls that for the program's signals; elsewhere the program keeps its own. If it sets one later,
//!   the kernel resets that handler at a hit in a signal handler that blocks `SIGTRAP`.
//! - The program reads the breakpoint instruction if it reads the bytes of a site as data, except by an emulated instruction.
//!
//! On arm64 in addition:
//!
//! - A system call that the kernel does not restart by itself returns `EINTR` for a signal that the program ignores, whichever thread takes
//!   it, if the kernel no longer reports the call's first argument (6.12.117 does not); and after a group stop, as it would without a tracer.
//! - A site that is out of reach (±128 MiB) of all free memory costs a second trap, and cannot be on a load-exclusive.
#![cfg_attr(not(feature = "std"), no_std)]
// Without some parts, what serves them alone is used by nobody.
#![cfg_attr(not(all(feature = "module", feature = "rules")), allow(dead_code, unused_imports))]

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
mod aggregate;
#[cfg(feature = "std")]
mod aggregation;
#[cfg(feature = "std")]
mod backend;
#[cfg(feature = "std")]
mod breakpoint;
#[cfg(feature = "std")]
mod builder;
#[cfg(feature = "std")]
mod clock;
#[cfg(feature = "std")]
mod condition;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod cpu;
#[cfg(feature = "std")]
mod descriptors;
#[cfg(feature = "std")]
mod error;
#[cfg(feature = "std")]
mod event;
#[cfg(feature = "async")]
mod events;
#[cfg(feature = "std")]
mod follow;
#[cfg(feature = "module")]
mod kernel;
#[cfg(feature = "std")]
mod loader;
#[cfg(feature = "std")]
mod machine;
#[cfg(feature = "std")]
mod memory;
#[cfg(feature = "std")]
mod module;
#[cfg(feature = "std")]
mod options;
#[cfg(feature = "std")]
mod patch;
#[cfg(feature = "std")]
mod process;
#[cfg(feature = "std")]
mod ptrace;
#[cfg(feature = "std")]
mod record;
#[cfg(feature = "std")]
mod registers;
#[cfg(feature = "std")]
mod returns;
#[cfg(feature = "rules")]
pub mod rules;
#[cfg(feature = "std")]
mod session;
#[cfg(feature = "std")]
mod signal;
#[cfg(feature = "std")]
mod signal_info;
#[cfg(feature = "std")]
mod spec;
#[cfg(feature = "std")]
mod stdio;
#[cfg(feature = "std")]
mod syscalls;
#[cfg(feature = "std")]
mod thread_info;
#[cfg(feature = "std")]
mod watch;

#[cfg(feature = "async")]
pub use self::events::{Events, Readiness};
#[cfg(feature = "std")]
pub use self::{
    address::{Address, Pid, Tid},
    aggregate::{Aggregate, Bucket, Table, Values},
    aggregation::{Aggregated, Aggregation, AggregationError, AggregationId, AggregationKey},
    breakpoint::{Breakpoint, BreakpointId, Method},
    builder::SessionBuilder,
    condition::{Comparison, Condition, ConditionProblem, Operand},
    error::{Error, InsertError, InsertReason, Result},
    event::{Event, EventKind, Hit},
    follow::{Follow, FollowError, FollowId},
    machine::Arch,
    module::{BuildId, Module},
    options::{Buffer, Mechanism, Options, WhenFull},
    patch::{NoJump, Patch},
    process::{Auxv, Mapping, Process},
    ptrace::{JumpCode, JumpSurvey, JumpSurveyed},
    record::{Record, StackCopy},
    registers::{RegisterSet, Registers, VectorRegisters},
    returns::{Call, Entered, Returns},
    session::Session,
    signal::Signal,
    signal_info::{Origin, SignalInfo},
    spec::{Report, Spec},
    stdio::Stdio,
    syscalls::{Syscall, SyscallResult, SyscallReturn, Syscalls},
    thread_info::{ThreadInfo, ThreadState},
    watch::{Access, WatchError, WatchId, WatchReason},
};
/// The program to spawn, as the standard library describes it.
#[cfg(feature = "std")]
pub use std::process::Command;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
