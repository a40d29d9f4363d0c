//! What values are read from: a held thread, or a record of one.

use ubp::{Address, Event, Record, Registers, Session, VectorRegisters};
use ubp_symbols::values::Thread;

use crate::native;

/// A held thread.
pub(super) struct Held<'a> {
    session: &'a mut Session,
    event: &'a Event,
    registers: &'a Registers,
    /// The vector registers once they are read; `None` inside if they cannot be.
    vectors: Option<Option<VectorRegisters>>,
}

impl<'a> Held<'a> {
    pub(super) fn new(session: &'a mut Session, event: &'a Event, registers: &'a Registers) -> Held<'a> {
        Held { session, event, registers, vectors: None }
    }
}

impl Thread for Held<'_> {
    fn general(&mut self, number: u16) -> Option<u64> {
        self.registers.get(native::general(number)?)
    }

    fn vector(&mut self, number: u16) -> Option<Vec<u8>> {
        let Held { session, event, vectors, .. } = self;
        let vectors = vectors.get_or_insert_with(|| session.vector_registers(event.tid).ok());
        vectors.as_ref()?.get(native::vector(number)?)
    }

    fn read(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        self.session.read_memory(self.event.pid, Address(address), buffer).unwrap_or(0)
    }
}

/// A record: it has the integer arguments, and the memory to which they point.
pub(super) struct Recorded<'a>(pub(super) &'a Record);

impl Thread for Recorded<'_> {
    fn general(&mut self, number: u16) -> Option<u64> {
        let place = native::ARGUMENTS.iter().position(|known| *known == number)?;
        self.0.arguments.get(place).copied()
    }

    fn vector(&mut self, _: u16) -> Option<Vec<u8>> {
        None
    }

    fn read(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        let place = self.0.arguments.iter().position(|argument| *argument == address);
        let known = place.map(|place| self.0.text(place)).unwrap_or_default();
        let read = known.len().min(buffer.len());
        if let (Some(target), Some(bytes)) = (buffer.get_mut(..read), known.get(..read)) {
            target.copy_from_slice(bytes);
        }
        read
    }
}
