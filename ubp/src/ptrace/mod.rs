//! The back end over ptrace(2).

use std::os::fd::{AsFd, BorrowedFd};

use crate::*;

#[derive(Debug)]
pub(crate) struct Tracer {
    file: std::fs::File,
}

#[allow(unused_variables)]
impl Tracer {
    pub(crate) fn new(options: Options) -> Result<Tracer> {
        let file =
            std::fs::File::open("/proc/self/stat").map_err(|source| Error::System { call: "open", id: 0, source })?;
        Ok(Tracer { file })
    }
    pub(crate) fn spawn(&mut self, command: Command) -> Result<Pid> {
        Err(Error::NoSuchProcess(Pid(0)))
    }
    pub(crate) fn take_stdio(&mut self, pid: Pid) -> Stdio {
        Stdio::default()
    }
    pub(crate) fn attach(&mut self, pid: Pid) -> Result<Pid> {
        Err(Error::NoSuchProcess(pid))
    }
    pub(crate) fn detach(&mut self, pid: Pid) -> Result<()> {
        Err(Error::NoSuchProcess(pid))
    }
    pub(crate) fn next_event(&mut self, block: bool) -> Result<Option<Event>> {
        Ok(None)
    }
    pub(crate) fn resume(&mut self, tid: Tid) -> Result<()> {
        Err(Error::NoSuchThread(tid))
    }
    pub(crate) fn resume_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        Err(Error::NoSuchThread(tid))
    }
    pub(crate) fn interrupt(&mut self, pid: Pid) -> Result<()> {
        Err(Error::NoSuchProcess(pid))
    }
    pub(crate) fn process(&self, pid: Pid) -> Option<&Process> {
        None
    }
    pub(crate) fn processes(&self) -> impl Iterator<Item = &Process> {
        std::iter::empty()
    }
    pub(crate) fn insert(&mut self, pid: Pid, specs: &[Spec]) -> Result<Vec<Result<BreakpointId, InsertError>>> {
        Err(Error::NoSuchProcess(pid))
    }
    pub(crate) fn remove(&mut self, pid: Pid, ids: &[BreakpointId]) -> Result<()> {
        Err(Error::NoSuchProcess(pid))
    }
    pub(crate) fn breakpoint(&self, pid: Pid, id: BreakpointId) -> Option<&Breakpoint> {
        None
    }
    pub(crate) fn breakpoints(&self, pid: Pid) -> impl Iterator<Item = &Breakpoint> {
        std::iter::empty()
    }
    pub(crate) fn registers(&mut self, tid: Tid) -> Result<Registers> {
        Err(Error::NoSuchThread(tid))
    }
    pub(crate) fn set_registers(&mut self, tid: Tid, registers: &Registers) -> Result<()> {
        Err(Error::NoSuchThread(tid))
    }
    pub(crate) fn read_memory(&mut self, pid: Pid, address: Address, buffer: &mut [u8]) -> Result<usize> {
        Err(Error::NoSuchProcess(pid))
    }
    pub(crate) fn write_memory(&mut self, pid: Pid, address: Address, bytes: &[u8]) -> Result<()> {
        Err(Error::NoSuchProcess(pid))
    }
    pub(crate) fn call(&mut self, tid: Tid, function: Address, args: &[u64]) -> Result<u64> {
        Err(Error::NoSuchThread(tid))
    }
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
