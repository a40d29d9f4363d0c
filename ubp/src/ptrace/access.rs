//! Registers and memory of debuggees.

use super::{Tracer, arch};
use crate::{Address, Error, Pid, Registers, Result, Tid};

impl Tracer {
    pub(super) fn registers(&mut self, tid: Tid) -> Result<Registers> {
        self.require_held(tid)?;
        Ok(Registers { raw: self.view(tid)? })
    }

    pub(super) fn set_registers(&mut self, tid: Tid, registers: &Registers) -> Result<()> {
        self.require_held(tid)?;
        self.leave_slot(tid)?;
        let raw = &registers.raw;
        let thread = self.thread_mut(tid)?;
        // Moved elsewhere, it does not pass the breakpoint it was reported at.
        thread.at = thread.at.filter(|&at| at == registers.pc().0);
        arch::write(tid, raw)
    }

    fn require_held(&self, tid: Tid) -> Result<()> {
        let thread = self.thread(tid)?;
        if thread.held && thread.stop().is_some() { Ok(()) } else { Err(Error::NotHeld(tid)) }
    }

    pub(super) fn read_memory(&mut self, pid: Pid, address: Address, buffer: &mut [u8]) -> Result<usize> {
        let count = self.space_of(pid)?.read(address.0, buffer);
        if count == 0 && !buffer.is_empty() { Err(Error::Memory { pid, address }) } else { Ok(count) }
    }

    pub(super) fn write_memory(&mut self, pid: Pid, address: Address, bytes: &[u8]) -> Result<()> {
        let count = self.space_of_mut(pid)?.write(address.0, bytes);
        if count == bytes.len() { Ok(()) } else { Err(Error::Memory { pid, address: address + count as u64 }) }
    }
}
