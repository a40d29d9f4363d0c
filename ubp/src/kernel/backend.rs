//! The session's operations, forwarded to the functions that implement them.

use std::os::fd::BorrowedFd;
use std::process::Command;

use super::Kernel;
use crate::backend::{Backend, Blocking};
use crate::{
    Access, Address, Aggregated, Aggregation, AggregationId, Breakpoint, BreakpointId, Event, Follow, FollowId,
    InsertError, Mechanism, Pid, Process, Record, Registers, Result, Signal, SignalInfo, Spec, Stdio, Syscalls,
    ThreadInfo, ThreadState, Tid, WatchId,
};

impl Backend for Kernel {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Kernel
    }
    fn spawn(&mut self, command: Command) -> Result<Pid> {
        Kernel::spawn(self, command)
    }
    fn take_stdio(&mut self, pid: Pid) -> Stdio {
        self.debuggees.get_mut(&pid).map(|debuggee| std::mem::take(&mut debuggee.stdio)).unwrap_or_default()
    }
    fn attach(&mut self, pid: Pid) -> Result<Pid> {
        Kernel::attach(self, pid)
    }
    fn detach(&mut self, pid: Pid) -> Result<()> {
        Kernel::detach(self, pid)
    }
    fn follow(&mut self, follow: &Follow) -> Result<FollowId> {
        Kernel::follow(self, follow)
    }
    fn unfollow(&mut self, id: FollowId) -> Result<()> {
        Kernel::unfollow(self, id)
    }
    fn aggregate(&mut self, aggregation: &Aggregation) -> Result<AggregationId> {
        Kernel::aggregate(self, aggregation)
    }
    fn end_aggregation(&mut self, id: AggregationId) -> Result<()> {
        Kernel::end_aggregation(self, id)
    }
    fn aggregated(&mut self, id: AggregationId, take: bool) -> Result<Aggregated> {
        Kernel::aggregated(self, id, take)
    }
    fn has_aggregation(&self, id: AggregationId) -> bool {
        self.aggregations.has(id)
    }
    fn next_event(&mut self, blocking: Blocking<'_>) -> Result<Option<Event>> {
        Kernel::next_event(self, blocking)
    }
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
    fn resume(&mut self, tid: Tid) -> Result<()> {
        Kernel::resume(self, tid)
    }
    fn resume_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        Kernel::resume_with(self, tid, signal)
    }
    fn step_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        Kernel::step_with(self, tid, signal)
    }
    fn signal_info(&self, tid: Tid) -> Result<Option<SignalInfo>> {
        Kernel::signal_info(self, tid)
    }
    fn watch(&mut self, pid: Pid, address: Address, length: u64, access: Access) -> Result<WatchId> {
        Kernel::watch(self, pid, address, length, access)
    }
    fn unwatch(&mut self, pid: Pid, id: WatchId) -> Result<()> {
        Kernel::unwatch(self, pid, id)
    }
    fn trace_syscalls(&mut self, pid: Pid, syscalls: Syscalls) -> Result<()> {
        Kernel::trace_syscalls(self, pid, syscalls)
    }
    fn step(&mut self, tid: Tid) -> Result<()> {
        Kernel::step(self, tid)
    }
    fn run_to(&mut self, tid: Tid, address: Address, frame: Option<u64>) -> Result<()> {
        Kernel::run_to(self, tid, address, frame)
    }
    fn interrupt(&mut self, pid: Pid) -> Result<()> {
        Kernel::interrupt(self, pid)
    }
    fn interrupt_thread(&mut self, tid: Tid) -> Result<()> {
        Kernel::interrupt_thread(self, tid)
    }
    fn is_held(&self, tid: Tid) -> bool {
        self.held.contains_key(&tid)
    }
    fn threads(&self, pid: Pid) -> Result<Vec<ThreadInfo>> {
        let known = |tid| self.held.contains_key(&tid).then_some(ThreadState::Held);
        let threads = self.debuggee(pid)?.process.threads.iter();
        Ok(threads.filter_map(|&tid| ThreadInfo::read(tid, known(tid))).collect())
    }
    fn process(&self, pid: Pid) -> Option<&Process> {
        self.debuggees.get(&pid).map(|debuggee| &debuggee.process)
    }
    fn processes(&self) -> Box<dyn Iterator<Item = &Process> + '_> {
        Box::new(self.debuggees.values().map(|debuggee| &debuggee.process))
    }
    fn insert(&mut self, pid: Pid, specs: &[Spec]) -> Result<Vec<Result<BreakpointId, InsertError>>> {
        Kernel::insert(self, pid, specs)
    }
    fn remove(&mut self, pid: Pid, ids: &[BreakpointId]) -> Result<()> {
        Kernel::remove(self, pid, ids)
    }
    fn take_records(&mut self) -> Vec<Record> {
        Kernel::take_all_records(self)
    }
    fn lost_records(&self) -> u64 {
        Kernel::all_lost(self)
    }
    fn breakpoint(&self, pid: Pid, id: BreakpointId) -> Option<Breakpoint> {
        Kernel::breakpoint(self, pid, id)
    }
    fn breakpoints(&self, pid: Pid) -> Box<dyn Iterator<Item = Breakpoint> + '_> {
        Box::new(Kernel::breakpoints(self, pid))
    }
    fn registers(&self, tid: Tid) -> Result<Registers> {
        Kernel::registers(self, tid)
    }
    fn set_registers(&mut self, tid: Tid, registers: &Registers) -> Result<()> {
        Kernel::set_registers(self, tid, registers)
    }
    fn read_memory(&self, pid: Pid, address: Address, buffer: &mut [u8]) -> Result<usize> {
        Kernel::read_memory(self, pid, address, buffer)
    }
    fn write_memory(&mut self, pid: Pid, address: Address, bytes: &[u8]) -> Result<()> {
        Kernel::write_memory(self, pid, address, bytes)
    }
    fn call(&mut self, tid: Tid, function: Address, args: &[u64]) -> Result<u64> {
        Kernel::call(self, tid, function, args)
    }
}
