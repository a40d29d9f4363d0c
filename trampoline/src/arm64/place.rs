//! The meaning of each pc in a trampoline in terms of the program's own code.

use insn::arm64::Reg;
use stepping::arm64::Registers;
use stepping::{Fault, Memory};

use crate::Progress;

/// The most registers on the stack.
const MOST: usize = 3;
/// Registers in the order in which they lie on the stack.
pub(super) const SAVED: [u8; MOST] = [16, 17, 15];

/// The meaning of a pc in a trampoline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The pc in the program.
    pub pc: u64,
    /// The progress of the thread.
    pub progress: Progress,
    /// Whether the instruction belongs to a probe. A fault here is none of the program's.
    pub own: bool,
    /// Bytes to add to the stack pointer.
    pub(super) stack: u8,
    /// Number of registers on the stack.
    pub(super) saved: u8,
}

impl Place {
    /// Gives the registers the values that they have in the program: what a signal handler, a debugger or an unwinder must see.
    ///
    /// # Errors
    /// The stack cannot be read; registers are unchanged then.
    pub fn restore(&self, registers: &mut impl Registers, memory: &mut impl Memory) -> Result<(), Fault> {
        let pointer = registers.get(Reg::SP);
        let mut values = [0; MOST];
        for (value, slot) in values.iter_mut().zip(0..self.saved) {
            let mut bytes = [0; 8];
            memory.read(pointer.wrapping_add(8 * u64::from(slot)), &mut bytes)?;
            *value = u64::from_le_bytes(bytes);
        }
        for ((value, number), _) in values.into_iter().zip(SAVED).zip(0..self.saved) {
            registers.set(Reg::general(number.into()), value);
        }
        registers.set(Reg::SP, pointer.wrapping_add(self.stack.into()));
        registers.set(Reg::PC, self.pc);
        Ok(())
    }
}
