//! Registers in a trace: which have changed, and by how much.

use crate::error::Problem;
use crate::item::{Machine, REGISTERS, Registers};
use crate::varint::{self, Cursor};

/// Registers in the order of their bits in a set of changes: what changes most stands first.
fn order(machine: Machine) -> &'static [usize] {
    const X86: [usize; 19] = [16, 0, 4, 2, 1, 6, 7, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18];
    const ARM64: [usize; REGISTERS] = [
        32, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
        29, 30, 31,
    ];
    match machine {
        Machine::X86(_) => &X86,
        Machine::Arm64 => &ARM64,
    }
}

impl Registers {
    /// Appends what has changed since `self`, which becomes `new`.
    pub(crate) fn write_changes(&mut self, machine: Machine, new: &Registers, out: &mut Vec<u8>) {
        let order = order(machine);
        let mut set = 0u64;
        for (bit, &at) in order.iter().enumerate() {
            set |= u64::from(self.0[at] != new.0[at]) << bit;
        }
        varint::put(out, set);
        for &at in order {
            if self.0[at] != new.0[at] {
                varint::put_signed(out, new.0[at].wrapping_sub(self.0[at]) as i64);
            }
        }
        *self = *new;
    }

    /// The inverse.
    pub(crate) fn read_changes(&mut self, machine: Machine, cursor: &mut Cursor, bytes: &[u8]) -> Result<(), Problem> {
        let order = order(machine);
        let set = cursor.number(bytes)?;
        if set >> order.len() != 0 {
            return Err(Problem::Registers(set));
        }
        for (bit, &at) in order.iter().enumerate() {
            if set >> bit & 1 != 0 {
                self.0[at] = self.0[at].wrapping_add_signed(cursor.signed(bytes)?);
            }
        }
        Ok(())
    }
}
