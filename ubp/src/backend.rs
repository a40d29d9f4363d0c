//! What a session asks of the mechanism that it works by.
//!
//! Nothing here is of ptrace: a channel to a kernel that keeps the breakpoints itself can do all of it. What an operation promises
//! is said at the method of [`Session`](crate::Session) that has its name; what every mechanism has to keep to is said here.

use std::fmt;
use std::os::fd::BorrowedFd;
use std::process::Command;

use crate::{
    Address, Breakpoint, BreakpointId, Event, InsertError, Mechanism, Pid, Process, Registers, Result, Signal, Spec,
    Stdio, Tid,
};

/// A mechanism. Dropped, it lets every process go as [`Backend::detach`] does.
pub(crate) trait Backend: fmt::Debug {
    fn mechanism(&self) -> Mechanism;
    fn spawn(&mut self, command: Command) -> Result<Pid>;
    fn take_stdio(&mut self, pid: Pid) -> Stdio;
    fn attach(&mut self, pid: Pid) -> Result<Pid>;
    fn detach(&mut self, pid: Pid) -> Result<()>;
    /// Lets all processes go; the calling thread ends now.
    fn leave(&mut self) {}

    /// The next event in the order in which things happened to each thread; waits for one where `block`. Hits that are only
    /// counted may be served meanwhile; their counts are right when the event that follows them is returned.
    fn next_event(&mut self, block: bool) -> Result<Option<Event>>;
    /// Readable when [`Backend::next_event`] may have something.
    fn as_fd(&self) -> BorrowedFd<'_>;
    fn resume(&mut self, tid: Tid) -> Result<()>;
    fn resume_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()>;
    fn interrupt(&mut self, pid: Pid) -> Result<()>;

    fn process(&self, pid: Pid) -> Option<&Process>;
    fn processes(&self) -> Box<dyn Iterator<Item = &Process> + '_>;

    /// All of them at once: what one breakpoint costs must not be a system call.
    fn insert(&mut self, pid: Pid, specs: &[Spec]) -> Result<Vec<Result<BreakpointId, InsertError>>>;
    /// All of them at once.
    fn remove(&mut self, pid: Pid, ids: &[BreakpointId]) -> Result<()>;
    /// As it is now: its hits so far.
    fn breakpoint(&self, pid: Pid, id: BreakpointId) -> Option<Breakpoint>;
    fn breakpoints(&self, pid: Pid) -> Box<dyn Iterator<Item = Breakpoint> + '_>;

    /// Of a held thread, as if there were no slots.
    fn registers(&mut self, tid: Tid) -> Result<Registers>;
    fn set_registers(&mut self, tid: Tid, registers: &Registers) -> Result<()>;
    /// As if there were no breakpoints.
    fn read_memory(&mut self, pid: Pid, address: Address, buffer: &mut [u8]) -> Result<usize>;
    fn write_memory(&mut self, pid: Pid, address: Address, bytes: &[u8]) -> Result<()>;
    fn call(&mut self, tid: Tid, function: Address, args: &[u64]) -> Result<u64>;
}
