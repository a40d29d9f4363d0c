//! Registers and memory of debuggees.

use super::super::{Tracer, arch};
use crate::{Address, Error, Pid, Registers, Result, Tid};

impl Tracer {
    pub(in crate::ptrace) fn registers_of(&self, tid: Tid) -> Result<Registers> {
        self.require_held(tid)?;
        Ok(Registers { raw: self.tracees.view(tid)? })
    }

    pub(in crate::ptrace) fn set_registers_of(&mut self, tid: Tid, registers: &Registers) -> Result<()> {
        self.require_held(tid)?;
        self.tracees.leave_slot(tid)?;
        let thread = self.tracees.thread_mut(tid)?;
        // A thread that is moved elsewhere does not pass the breakpoint that it was reported at.
        thread.reported_at = thread.reported_at.filter(|&at| at == registers.pc().0);
        arch::write(tid, &registers.raw)
    }

    fn require_held(&self, tid: Tid) -> Result<()> {
        let thread = self.tracees.thread(tid)?;
        if thread.is_held() && thread.stop().is_some() { Ok(()) } else { Err(Error::NotHeld(tid)) }
    }

    pub(in crate::ptrace) fn read_memory_of(&self, pid: Pid, address: Address, buffer: &mut [u8]) -> Result<usize> {
        let count = self.tracees.space_of(pid)?.read(address.0, buffer);
        if count == 0 && !buffer.is_empty() { Err(Error::Memory { pid, address }) } else { Ok(count) }
    }

    pub(in crate::ptrace) fn write_memory_of(&mut self, pid: Pid, address: Address, bytes: &[u8]) -> Result<()> {
        let count = self.tracees.space_of_mut(pid)?.write(address.0, bytes);
        if count == bytes.len() { Ok(()) } else { Err(Error::Memory { pid, address: address + count as u64 }) }
    }
}
