//! Registers and memory of debuggees.

use wire::commands::{Command, Reply};

use super::{Kernel, arch, cannot, failed};
use crate::memory::word;
use crate::{Address, Error, Pid, Registers, Result, Tid};

/// Bytes of one command, so that its reply is shorter than the longest message.
const CHUNK: usize = 1 << 20;

impl Kernel {
    pub(super) fn registers(&self, tid: Tid) -> Result<Registers> {
        let pid = self.pid_of_held(tid)?;
        let told = self.channel.ask(Command::Registers { thread: tid.0 as u64 }, |told| {
            told.map(|reply| match reply {
                Reply::Registers { registers } => arch::registers(registers),
                _ => None,
            })
        })?;
        let raw = told.map_err(|failure| failed(pid, "registers", failure))?;
        raw.map(|raw| Registers { raw }).ok_or(cannot("show registers of such a program"))
    }

    pub(super) fn set_registers(&self, tid: Tid, registers: &Registers) -> Result<()> {
        let pid = self.pid_of_held(tid)?;
        let bytes = arch::bytes(&registers.raw);
        let set = Command::SetRegisters { thread: tid.0 as u64, registers: &bytes };
        let told = self.channel.ask(set, |told| told.map(drop))?;
        told.map_err(|failure| failed(pid, "set_registers", failure))
    }

    pub(super) fn read_memory(&self, pid: Pid, address: Address, buffer: &mut [u8]) -> Result<usize> {
        let debuggee = self.debuggee(pid)?.number;
        let mut done = 0;
        for part in buffer.chunks_mut(CHUNK) {
            let (at, length) = (address + done as u64, part.len() as u64);
            let read = Command::ReadMemory { debuggee, address: at.0, length };
            let count = self.channel.ask(read, |told| match told {
                Ok(Reply::ReadMemory { bytes }) => {
                    part.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                    bytes.len()
                }
                _ => 0,
            })?;
            done += count;
            if count < part.len() {
                break;
            }
        }
        if done == 0 && !buffer.is_empty() { Err(Error::Memory { pid, address }) } else { Ok(done) }
    }

    pub(super) fn write_memory(&mut self, pid: Pid, address: Address, bytes: &[u8]) -> Result<()> {
        let debuggee = self.debuggee(pid)?.number;
        for (number, part) in bytes.chunks(CHUNK).enumerate() {
            let at = address + (number * CHUNK) as u64;
            let write = Command::WriteMemory { debuggee, address: at.0, bytes: part };
            let told = self.channel.ask(write, |told| told.map(drop))?;
            told.map_err(|failure| failed(pid, "write_memory", failure))?;
        }
        Ok(())
    }

    /// Reads a word of `width` bytes.
    pub(super) fn read_word(&self, pid: Pid, address: u64, width: usize) -> Option<u64> {
        word(&|at, buffer| self.read(pid, at, buffer), address, width)
    }

    /// Reads memory, and returns the number of bytes read: 0 where there is none.
    pub(super) fn read(&self, pid: Pid, address: u64, buffer: &mut [u8]) -> usize {
        self.read_memory(pid, Address(address), buffer).unwrap_or(0)
    }
}
