//! Registers and memory of debuggees.

use stepping::Progress;

use super::super::sys::insist;
use super::super::{Tracer, arch};
use crate::arch::pc as pc_of;
use crate::{Address, Error, NoJump, Pid, Registers, Result, Tid};

impl Tracer {
    pub(in crate::ptrace) fn registers_of(&self, tid: Tid) -> Result<Registers> {
        self.require_held(tid)?;
        Ok(Registers { raw: self.tracees.view(tid)? })
    }

    pub(in crate::ptrace) fn set_registers_of(&mut self, tid: Tid, registers: &Registers) -> Result<()> {
        self.require_held(tid)?;
        let before = arch::read(tid)?;
        if let Err(error) = arch::write(tid, &registers.raw) {
            // The kernel sets registers up to the first value that it refuses.
            insist(|| arch::write(tid, &before))?;
            return Err(error);
        }
        let place = self.tracees.space_at(tid)?.place(pc_of(&before));
        let thread = self.tracees.thread_mut(tid)?;
        let pc = place.as_ref().map_or(pc_of(&before), |(_, place)| place.pc);
        if pc != registers.pc().0 {
            thread.armed.end_pass();
        }
        // A thread in a slot was counted at its site.
        let site = place.filter(|(_, place)| place.progress == Progress::Before).map(|(_, place)| place.pc);
        // A thread that is moved elsewhere does not pass the breakpoint that it was reported at.
        thread.reported_at = thread.reported_at.or(site).filter(|&at| at == registers.pc().0);
        if place.is_some() {
            thread.end_slot();
        }
        Ok(())
    }

    pub(super) fn require_held(&self, tid: Tid) -> Result<()> {
        let thread = self.tracees.thread(tid)?;
        if thread.is_held() && thread.stop().is_some() { Ok(()) } else { Err(Error::NotHeld(tid)) }
    }

    pub(in crate::ptrace) fn read_memory_of(&self, pid: Pid, address: Address, buffer: &mut [u8]) -> Result<usize> {
        let count = self.tracees.space_of(pid)?.read(address.0, buffer);
        if count == 0 && !buffer.is_empty() { Err(Error::Memory { pid, address }) } else { Ok(count) }
    }

    pub(in crate::ptrace) fn write_memory_of(&mut self, pid: Pid, address: Address, bytes: &[u8]) -> Result<()> {
        let heads = self.tracees.space_of(pid)?.jumps_by(address.0..address.0.saturating_add(bytes.len() as u64));
        if !self.clear_heads(pid, &heads, NoJump::NotOfFile)? {
            return Err(Error::Uninterruptible(pid.leader()));
        }
        let space = self.tracees.space_of_mut(pid)?;
        // A write that would end in the middle changes nothing.
        let mut before = vec![0; bytes.len()];
        let there = space.read(address.0, &mut before);
        let count = if there == bytes.len() { space.write(address.0, bytes) } else { there };
        if there == bytes.len() && count == there {
            return Ok(());
        }
        if there == bytes.len() {
            space.write(address.0, before.get(..count).unwrap_or(&[]));
        }
        Err(Error::Memory { pid, address: address + count as u64 })
    }
}
