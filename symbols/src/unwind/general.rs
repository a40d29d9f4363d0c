//! The general registers of a frame.

/// The number of registers that are kept: on x86-64 16 and the return address, on arm64 31 and the stack pointer.
pub(crate) const COUNT: u16 = 32;

/// The general registers of a frame, by their numbers in debug information. Some may not be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct General([Option<u64>; COUNT as usize]);

impl General {
    pub(crate) fn get(&self, number: u16) -> Option<u64> {
        self.0.get(usize::from(number)).copied().flatten()
    }

    /// Sets a register, or forgets it. Other registers than general ones are not kept.
    pub(crate) fn set(&mut self, number: u16, value: Option<u64>) {
        if let Some(register) = self.0.get_mut(usize::from(number)) {
            *register = value;
        }
    }
}
