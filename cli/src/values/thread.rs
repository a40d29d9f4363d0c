//! A record of a thread as a source of values.

use ubp::Record;
use ubp_symbols::values::Thread;

use crate::native;

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
