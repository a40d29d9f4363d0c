//! Registers in a trace: which have changed, and by how much.

use crate::error::Problem;
use crate::item::{REGISTERS, Registers};
use crate::varint::{self, Cursor};

/// Registers in the order of their bits in a set of changes: what changes most stands first.
const ORDER: [usize; REGISTERS] = [16, 0, 4, 2, 1, 6, 7, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18];

impl Registers {
    /// Appends what has changed since `self`, which becomes `new`.
    pub(crate) fn write_changes(&mut self, new: &Registers, out: &mut Vec<u8>) {
        let mut set = 0u64;
        for (bit, &at) in ORDER.iter().enumerate() {
            set |= u64::from(self.0[at] != new.0[at]) << bit;
        }
        varint::put(out, set);
        for &at in &ORDER {
            if self.0[at] != new.0[at] {
                varint::put_signed(out, new.0[at].wrapping_sub(self.0[at]) as i64);
            }
        }
        *self = *new;
    }

    /// The inverse.
    pub(crate) fn read_changes(&mut self, cursor: &mut Cursor, bytes: &[u8]) -> Result<(), Problem> {
        let set = cursor.number(bytes)?;
        if set >> REGISTERS != 0 {
            return Err(Problem::Registers(set));
        }
        for (bit, &at) in ORDER.iter().enumerate() {
            if set >> bit & 1 != 0 {
                self.0[at] = self.0[at].wrapping_add_signed(cursor.signed(bytes)?);
            }
        }
        Ok(())
    }
}
