//! The operations of a session, by name.

use std::os::fd::BorrowedFd;
use std::process::Command;

use super::sys::own_tid;
use super::{HAS_SESSION, Tracer};
use crate::backend::{Backend, Blocking};
use crate::descriptors::drop_reserve;
use crate::{
    Access, Address, Aggregated, Aggregation, AggregationId, Breakpoint, BreakpointId, Event, InsertError, Mechanism,
    Pid, Process, Record, RegisterSet, Registers, Result, Signal, SignalInfo, Spec, Stdio, Syscalls, ThreadInfo, Tid,
    VectorRegisters, WatchId,
};

impl Backend for Tracer {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Ptrace
    }
    fn spawn(&mut self, command: Command) -> Result<Pid> {
        self.spawn_program(command)
    }
    fn take_stdio(&mut self, pid: Pid) -> Stdio {
        let debuggee = self.tracees.debuggees.get_mut(&pid);
        debuggee.map(|debuggee| std::mem::take(&mut debuggee.stdio)).unwrap_or_default()
    }
    fn attach(&mut self, pid: Pid) -> Result<Pid> {
        self.attach_process(pid)
    }
    fn detach(&mut self, pid: Pid) -> Result<()> {
        self.tracees.shown_process(pid)?;
        self.detach_process(pid)?;
        self.detach_orphans()
    }
    fn aggregate(&mut self, aggregation: &Aggregation) -> Result<AggregationId> {
        self.declare_aggregation(aggregation)
    }
    fn end_aggregation(&mut self, id: AggregationId) -> Result<()> {
        self.tracees.sums.end(id);
        Ok(())
    }
    fn aggregated(&mut self, id: AggregationId, take: bool) -> Result<Aggregated> {
        self.read_aggregation(id, take)
    }
    fn has_aggregation(&self, id: AggregationId) -> bool {
        self.tracees.sums.has(id)
    }
    fn leave(&mut self) {
        self.detach_all();
        let _ = self.reports.await_needy(&mut self.tracees);
        self.reports.departing.forget_departing();
    }
    fn next_event(&mut self, blocking: Blocking<'_>) -> Result<Option<Event>> {
        self.take_next_event(blocking)
    }
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reports.descriptor()
    }
    fn resume(&mut self, tid: Tid) -> Result<()> {
        self.resume_thread(tid)
    }
    fn resume_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        self.resume_thread_with(tid, signal)
    }
    fn step(&mut self, tid: Tid) -> Result<()> {
        self.step_thread(tid)
    }
    fn step_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        self.step_thread_with(tid, signal)
    }
    fn run_to(&mut self, tid: Tid, address: Address, frame: Option<u64>) -> Result<()> {
        self.run_thread_to(tid, address, frame)
    }
    fn interrupt(&mut self, pid: Pid) -> Result<()> {
        self.interrupt_process(pid)
    }
    fn interrupt_thread(&mut self, tid: Tid) -> Result<()> {
        self.interrupt_running(tid)
    }
    fn stop(&mut self, pid: Pid) -> Result<()> {
        self.stop_process(pid)
    }
    fn is_held(&self, tid: Tid) -> bool {
        self.is_thread_held(tid)
    }
    fn threads(&self, pid: Pid) -> Result<Vec<ThreadInfo>> {
        self.threads_with_states(pid)
    }
    fn signal_info(&self, tid: Tid) -> Result<Option<SignalInfo>> {
        self.signal_info_of(tid)
    }
    fn trace_syscalls(&mut self, pid: Pid, syscalls: Syscalls) -> Result<()> {
        self.choose_syscalls(pid, syscalls)
    }
    fn watch(&mut self, pid: Pid, address: Address, length: u64, access: Access) -> Result<WatchId> {
        self.watch_memory(pid, address, length, access)
    }
    fn unwatch(&mut self, pid: Pid, id: WatchId) -> Result<()> {
        self.unwatch_memory(pid, id)
    }
    fn shares_memory(&self, pid: Pid, other: Pid) -> bool {
        let space = |pid| self.tracees.debuggee(pid).ok().map(|debuggee| debuggee.space);
        space(pid).is_some() && space(pid) == space(other)
    }
    fn process(&self, pid: Pid) -> Option<&Process> {
        self.tracees.shown_process(pid).ok()
    }
    fn processes(&self) -> Box<dyn Iterator<Item = &Process> + '_> {
        Box::new(self.tracees.shown_processes())
    }
    fn insert(&mut self, pid: Pid, specs: &[Spec]) -> Result<Vec<Result<BreakpointId, InsertError>>> {
        self.insert_breakpoints(pid, specs)
    }
    fn remove(&mut self, pid: Pid, ids: &[BreakpointId]) -> Result<()> {
        self.remove_breakpoints(pid, ids)
    }
    fn breakpoint(&self, pid: Pid, id: BreakpointId) -> Option<Breakpoint> {
        self.breakpoint_of(pid, id)
    }
    fn breakpoints(&self, pid: Pid) -> Box<dyn Iterator<Item = Breakpoint> + '_> {
        self.breakpoints_of(pid)
    }
    fn take_records(&mut self) -> Vec<Record> {
        self.take_all_records()
    }
    fn lost_records(&self) -> u64 {
        self.tracees.lost
    }
    fn registers(&self, tid: Tid) -> Result<Registers> {
        self.registers_of(tid)
    }
    fn set_registers(&mut self, tid: Tid, registers: &Registers) -> Result<()> {
        self.set_registers_of(tid, registers)
    }
    fn register_set(&self, tid: Tid, set: RegisterSet) -> Result<Vec<u8>> {
        self.register_set_of(tid, set)
    }
    fn set_register_set(&mut self, tid: Tid, set: RegisterSet, bytes: &[u8]) -> Result<()> {
        self.set_register_set_of(tid, set, bytes)
    }
    fn vector_registers(&self, tid: Tid) -> Result<VectorRegisters> {
        self.vector_registers_of(tid)
    }
    fn set_vector_registers(&mut self, tid: Tid, registers: &VectorRegisters) -> Result<()> {
        self.set_vector_registers_of(tid, registers)
    }
    fn read_memory(&self, pid: Pid, address: Address, buffer: &mut [u8]) -> Result<usize> {
        self.read_memory_of(pid, address, buffer)
    }
    fn write_memory(&mut self, pid: Pid, address: Address, bytes: &[u8]) -> Result<()> {
        self.write_memory_of(pid, address, bytes)
    }
    fn call(&mut self, tid: Tid, function: Address, args: &[u64]) -> Result<u64> {
        self.call_function(tid, function, args)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // In a copy of the process, which fork(2) made, the calling thread traces nothing.
        if self.tid != own_tid() {
            return;
        }
        self.detach_all();
        // Without a tracer that takes their reports departing threads would stay stopped for ever.
        let _ = self.reports.await_departing(&mut self.tracees, Blocking::Always);
        drop_reserve();
        HAS_SESSION.set(false);
    }
}
