//! A held thread as a source of values.

use ubp::{Address, Arch, Pid, Registers, Session, Tid, VectorRegisters};

use super::thread::Thread;
use crate::unwind::{Reg, THREAD_POINTER, general_register, vector_register};

/// A thread that a session holds: its registers and its memory.
#[derive(Debug)]
pub struct Held<'a> {
    session: &'a Session,
    pid: Pid,
    tid: Tid,
    registers: &'a Registers,
    /// The vector registers once they are read; `None` inside if they cannot be.
    vectors: Option<Option<VectorRegisters>>,
}

impl<'a> Held<'a> {
    /// A thread of a process with these general registers ([`Session::registers`]). The vector registers are read when they are first needed.
    pub fn new(session: &'a Session, pid: Pid, tid: Tid, registers: &'a Registers) -> Held<'a> {
        Held { session, pid, tid, registers, vectors: None }
    }

    /// A register that is kept with the vector registers.
    fn apart(&mut self, register: Reg) -> Option<Vec<u8>> {
        let Held { session, tid, vectors, .. } = self;
        vectors.get_or_insert_with(|| session.vector_registers(*tid).ok()).as_ref()?.get(register)
    }
}

impl Thread for Held<'_> {
    fn general(&mut self, number: u16) -> Option<u64> {
        self.registers.get(general_register(number)?)
    }

    fn vector(&mut self, number: u16) -> Option<Vec<u8>> {
        self.apart(vector_register(number)?)
    }

    fn thread_pointer(&mut self) -> Option<u64> {
        if self.registers.arch() == Arch::I386 {
            return None;
        }
        let apart = |held: &mut Self| Some(u64::from_le_bytes(*held.apart(THREAD_POINTER)?.first_chunk()?));
        self.registers.get(THREAD_POINTER).or_else(|| apart(self))
    }

    fn read(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        self.session.read_memory(self.pid, Address(address), buffer).unwrap_or(0)
    }
}
