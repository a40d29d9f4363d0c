//! The interface between a session and its mechanism.
//!
//! The interface names nothing of ptrace, so that a kernel that keeps breakpoints itself can implement it. The methods of
//! [`Session`](crate::Session) document the operations; this file documents what every mechanism must observe in addition.

use std::fmt;
use std::os::fd::BorrowedFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{
    Access, Address, Aggregated, Aggregation, AggregationError, AggregationId, Breakpoint, BreakpointId, Error, Event,
    Follow, FollowId, InsertError, Mechanism, Pid, Process, Record, RegisterSet, Registers, Result, Signal, SignalInfo,
    Spec, Stdio, Syscalls, ThreadInfo, Tid, VectorRegisters, WatchId,
};

/// Whether a call for an event may wait for one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Blocking<'a> {
    Never,
    Always,
    /// Until the flag is set. It is looked at before each wait, and when a signal handler has run in the waiting thread.
    Unless(&'a AtomicBool),
}

impl Blocking<'_> {
    pub(crate) fn may_block(self) -> bool {
        match self {
            Blocking::Never => false,
            Blocking::Always => true,
            Blocking::Unless(flag) => !flag.load(Ordering::Acquire),
        }
    }
}

/// A mechanism. When dropped, it detaches from every process as [`Backend::detach`] does.
pub(crate) trait Backend: fmt::Debug {
    fn mechanism(&self) -> Mechanism;
    fn spawn(&mut self, command: Command) -> Result<Pid>;
    fn take_stdio(&mut self, pid: Pid) -> Stdio;
    fn attach(&mut self, pid: Pid) -> Result<Pid>;
    fn detach(&mut self, pid: Pid) -> Result<()>;
    fn follow(&mut self, _: &Follow) -> Result<FollowId> {
        Err(self.unsupported("trace programs that others start"))
    }
    fn unfollow(&mut self, _: FollowId) -> Result<()> {
        Ok(())
    }
    fn aggregate(&mut self, _: &Aggregation) -> Result<AggregationId> {
        Err(self.unsupported("sum hits up where they happen"))
    }
    fn end_aggregation(&mut self, _: AggregationId) -> Result<()> {
        Ok(())
    }
    /// Reads an aggregation, and empties it if that is asked for.
    fn aggregated(&mut self, _: AggregationId, _: bool) -> Result<Aggregated> {
        Err(Error::Aggregation(AggregationError::Unknown))
    }
    fn has_aggregation(&self, _: AggregationId) -> bool {
        false
    }
    /// Detaches from all processes; the calling thread is about to end.
    fn leave(&mut self) {}

    /// The next event; waits for one if the call may block. Events of one thread come in the order in which they happened. Hits that are only counted
    /// may be handled meanwhile; their counts are right when the event after them is returned.
    fn next_event(&mut self, blocking: Blocking<'_>) -> Result<Option<Event>>;
    /// Readable when [`Backend::next_event`] may have an event.
    fn as_fd(&self) -> BorrowedFd<'_>;
    fn resume(&mut self, tid: Tid) -> Result<()>;
    fn resume_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()>;
    fn interrupt(&mut self, pid: Pid) -> Result<()>;
    /// Lets a held thread execute one instruction.
    fn step(&mut self, tid: Tid) -> Result<()>;
    fn step_with(&mut self, _: Tid, _: Option<Signal>) -> Result<()> {
        Err(self.unsupported("step with another signal"))
    }
    /// Lets a held thread run to `address`, to where its stack pointer is at most 64 KiB above `frame`, if that is given.
    fn run_to(&mut self, tid: Tid, address: Address, frame: Option<u64>) -> Result<()>;
    fn interrupt_thread(&mut self, tid: Tid) -> Result<()>;
    /// Returns when all threads of the process are held; no event is lost.
    fn stop(&mut self, _: Pid) -> Result<()> {
        Err(self.unsupported("stop a process and wait for that"))
    }
    fn is_held(&self, tid: Tid) -> bool;
    fn threads(&self, pid: Pid) -> Result<Vec<ThreadInfo>>;
    fn signal_info(&self, _: Tid) -> Result<Option<SignalInfo>> {
        Err(self.unsupported("tell a thread's signal"))
    }
    fn trace_syscalls(&mut self, _: Pid, _: Syscalls) -> Result<()> {
        Err(self.unsupported("report system calls"))
    }
    fn watch(&mut self, _: Pid, _: Address, _: u64, _: Access) -> Result<WatchId> {
        Err(self.unsupported("watch memory"))
    }
    fn unwatch(&mut self, _: Pid, _: WatchId) -> Result<()> {
        Err(self.unsupported("watch memory"))
    }

    /// Whether two processes run in the same memory.
    fn shares_memory(&self, _: Pid, _: Pid) -> bool {
        false
    }
    fn process(&self, pid: Pid) -> Option<&Process>;
    fn processes(&self) -> Box<dyn Iterator<Item = &Process> + '_>;

    /// Inserts all breakpoints together: a breakpoint must not cost a system call.
    fn insert(&mut self, pid: Pid, specs: &[Spec]) -> Result<Vec<Result<BreakpointId, InsertError>>>;
    /// Removes all breakpoints together.
    fn remove(&mut self, pid: Pid, ids: &[BreakpointId]) -> Result<()>;
    /// The breakpoint with its present counts.
    fn breakpoint(&self, pid: Pid, id: BreakpointId) -> Option<Breakpoint>;
    fn breakpoints(&self, pid: Pid) -> Box<dyn Iterator<Item = Breakpoint> + '_>;

    /// Takes the recorded hits.
    fn take_records(&mut self) -> Vec<Record> {
        Vec::new()
    }
    /// The number of hits that were not recorded, or overwritten, before the last [`Backend::take_records`].
    fn lost_records(&self) -> u64 {
        0
    }

    /// The registers of a held thread, with slot addresses translated to original ones.
    fn registers(&self, tid: Tid) -> Result<Registers>;
    fn set_registers(&mut self, tid: Tid, registers: &Registers) -> Result<()>;
    fn register_set(&self, _: Tid, _: RegisterSet) -> Result<Vec<u8>> {
        Err(self.unsupported("read register sets"))
    }
    fn set_register_set(&mut self, _: Tid, _: RegisterSet, _: &[u8]) -> Result<()> {
        Err(self.unsupported("write register sets"))
    }
    fn vector_registers(&self, _: Tid) -> Result<VectorRegisters> {
        Err(self.unsupported("read vector registers"))
    }
    fn set_vector_registers(&mut self, _: Tid, _: &VectorRegisters) -> Result<()> {
        Err(self.unsupported("write vector registers"))
    }
    /// Reads the original bytes in place of breakpoint instructions.
    fn read_memory(&self, pid: Pid, address: Address, buffer: &mut [u8]) -> Result<usize>;
    fn write_memory(&mut self, pid: Pid, address: Address, bytes: &[u8]) -> Result<()>;
    fn call(&mut self, tid: Tid, function: Address, args: &[u64]) -> Result<u64>;

    /// The error for an operation that only another mechanism supports.
    fn unsupported(&self, what: &'static str) -> Error {
        Error::Unsupported { mechanism: self.mechanism(), what }
    }
}
