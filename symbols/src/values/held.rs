//! A held thread as a source of values.

use ubp::{Address, Pid, Registers, Session, Tid, VectorRegisters};

use super::thread::Thread;
use crate::unwind::{general_register, vector_register};

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
}

impl Thread for Held<'_> {
    fn general(&mut self, number: u16) -> Option<u64> {
        self.registers.get(general_register(number)?)
    }

    fn vector(&mut self, number: u16) -> Option<Vec<u8>> {
        let Held { session, tid, vectors, .. } = self;
        let vectors = vectors.get_or_insert_with(|| session.vector_registers(*tid).ok());
        vectors.as_ref()?.get(vector_register(number)?)
    }

    fn read(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        self.session.read_memory(self.pid, Address(address), buffer).unwrap_or(0)
    }
}
