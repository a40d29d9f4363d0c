//! The operations of a session, by name.

use std::os::fd::BorrowedFd;
use std::process::Command;

use super::Tracer;
use crate::backend::Backend;
use crate::{
    Address, Breakpoint, BreakpointId, Event, InsertError, Mechanism, Pid, Process, Registers, Result, Signal, Spec,
    Stdio, Tid,
};

impl Backend for Tracer {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Ptrace
    }
    fn spawn(&mut self, command: Command) -> Result<Pid> {
        Tracer::spawn(self, command)
    }
    fn take_stdio(&mut self, pid: Pid) -> Stdio {
        Tracer::take_stdio(self, pid)
    }
    fn attach(&mut self, pid: Pid) -> Result<Pid> {
        Tracer::attach(self, pid)
    }
    fn detach(&mut self, pid: Pid) -> Result<()> {
        self.shown(pid)?;
        Tracer::detach(self, pid)
    }
    fn leave(&mut self) {
        Tracer::leave(self);
    }
    fn next_event(&mut self, block: bool) -> Result<Option<Event>> {
        Tracer::next_event(self, block)
    }
    fn as_fd(&self) -> BorrowedFd<'_> {
        Tracer::as_fd(self)
    }
    fn resume(&mut self, tid: Tid) -> Result<()> {
        Tracer::resume(self, tid)
    }
    fn resume_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        Tracer::resume_with(self, tid, signal)
    }
    fn interrupt(&mut self, pid: Pid) -> Result<()> {
        Tracer::interrupt(self, pid)
    }
    fn process(&self, pid: Pid) -> Option<&Process> {
        Tracer::process(self, pid)
    }
    fn processes(&self) -> Box<dyn Iterator<Item = &Process> + '_> {
        Box::new(Tracer::processes(self))
    }
    fn insert(&mut self, pid: Pid, specs: &[Spec]) -> Result<Vec<Result<BreakpointId, InsertError>>> {
        Tracer::insert(self, pid, specs)
    }
    fn remove(&mut self, pid: Pid, ids: &[BreakpointId]) -> Result<()> {
        Tracer::remove(self, pid, ids)
    }
    fn breakpoint(&self, pid: Pid, id: BreakpointId) -> Option<Breakpoint> {
        Tracer::breakpoint(self, pid, id)
    }
    fn breakpoints(&self, pid: Pid) -> Box<dyn Iterator<Item = Breakpoint> + '_> {
        Box::new(Tracer::breakpoints(self, pid))
    }
    fn registers(&mut self, tid: Tid) -> Result<Registers> {
        Tracer::registers(self, tid)
    }
    fn set_registers(&mut self, tid: Tid, registers: &Registers) -> Result<()> {
        Tracer::set_registers(self, tid, registers)
    }
    fn read_memory(&mut self, pid: Pid, address: Address, buffer: &mut [u8]) -> Result<usize> {
        Tracer::read_memory(self, pid, address, buffer)
    }
    fn write_memory(&mut self, pid: Pid, address: Address, bytes: &[u8]) -> Result<()> {
        Tracer::write_memory(self, pid, address, bytes)
    }
    fn call(&mut self, tid: Tid, function: Address, args: &[u64]) -> Result<u64> {
        Tracer::call(self, tid, function, args)
    }
}
