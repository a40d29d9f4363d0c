//! The meaning of each pc in a trampoline in terms of the program's own code.

use insn::x86::{Flags, Reg};
use stepping::x86::Registers;
use stepping::{Fault, Memory};

use super::saved::{FlagsAt, Saved, address};
use crate::Progress;

/// The meaning of a pc in a trampoline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Offset of the instruction in the trampoline.
    pub offset: u16,
    /// The pc in the program.
    pub pc: u64,
    /// The progress of the thread.
    pub progress: Progress,
    /// Whether the instruction belongs to a probe. A fault here is none of the program's.
    pub own: bool,
    /// The offset in the trampoline at which a thread must continue whose access to the program's memory faults here.
    pub fixup: Option<u16>,
    /// A register that holds an address in the trampoline, and the value that it should hold.
    pub(super) register: Option<(Reg, u64)>,
    /// Bytes to add to the stack pointer.
    pub(super) stack: u16,
    /// What lies on the stack.
    pub(super) saved: Saved,
    pub(super) flags: FlagsAt,
}

impl Place {
    /// A place that means nothing, to fill a table.
    pub const EMPTY: Place = Place {
        offset: u16::MAX,
        pc: 0,
        progress: Progress::Before,
        own: false,
        fixup: None,
        register: None,
        stack: 0,
        saved: Saved::NONE,
        flags: FlagsAt::Flags,
    };

    /// Gives the registers the values that they have in the program: what a signal handler, a debugger or an unwinder must see. Registers and
    /// flags that the code does not need may differ, unless the trampoline was assembled to keep all of them.
    ///
    /// # Errors
    /// The stack cannot be read; registers are unchanged then.
    pub fn restore(&self, registers: &mut impl Registers, memory: &mut impl Memory) -> Result<(), Fault> {
        let pointer = registers.get(Reg::RSP).wrapping_add(self.stack.into());
        let mut values = [0; Saved::MOST];
        for (value, (_, slot)) in values.iter_mut().zip(self.saved.slots()) {
            *value = word(memory, address(pointer, slot))?;
        }
        let accumulator = registers.get(Reg::RAX);
        match self.flags {
            FlagsAt::Flags => {}
            FlagsAt::Accumulator => set_flags(registers, accumulator, true),
            FlagsAt::AccumulatorButOverflow => set_flags(registers, accumulator, false),
            FlagsAt::Stack => {
                if let Some(slot) = self.saved.flags() {
                    set_flags(registers, word(memory, address(pointer, slot))?, true);
                }
            }
        }
        for (value, (register, _)) in values.into_iter().zip(self.saved.slots()) {
            registers.set(register, value);
        }
        if let Some((register, value)) = self.register {
            registers.set(register, value);
        }
        registers.set(Reg::RSP, pointer);
        registers.set(Reg::RIP, self.pc);
        Ok(())
    }
}

fn word(memory: &mut impl Memory, address: u64) -> Result<u64, Fault> {
    let mut bytes = [0; 8];
    memory.read(address, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Sets the arithmetic flags from what `lahf` and `seto %al` made of them.
fn set_flags(registers: &mut impl Registers, accumulator: u64, with_overflow: bool) {
    let [overflow, low, ..] = accumulator.to_le_bytes();
    let mask = Flags::STATUS.difference(Flags::OF).bits();
    let flags = registers.get(Reg::FLAGS);
    let mut set = flags & !u64::from(mask) | u64::from(u32::from(low) & mask);
    if with_overflow {
        let bit = u64::from(Flags::OF.bits());
        set = if overflow & 1 != 0 { set | bit } else { set & !bit };
    }
    registers.set(Reg::FLAGS, set);
}

/// The place of the instruction at `offset`, in a table that is sorted by offset.
pub fn place(places: &[Place], offset: u16) -> Option<&Place> {
    let index = places.binary_search_by_key(&offset, |place| place.offset).ok()?;
    places.get(index)
}
