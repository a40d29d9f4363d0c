//! Values that filters compare, and that aggregates take as keys and values.

use super::vocabulary::Field;
use crate::arch::{self, Reg};
use crate::{Arch, Operand};

/// A number that a thread or an event has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Value {
    /// An integer argument, from 0 to 5: of the function at whose first instruction the thread is, or of the system call that it is about to
    /// make.
    Argument(u8),
    /// A general register, the instruction pointer or the flags.
    Register(Reg),
    /// Memory at `base + offset`.
    Memory {
        /// A general register, or `None` for an absolute address.
        base: Option<Reg>,
        /// Offset from the base in bytes.
        offset: i64,
        /// Bytes: 1, 2, 4 or 8.
        size: u8,
    },
    /// A number of the event.
    Field(Field),
}

/// The number of arguments.
pub(super) const ARGUMENTS: u8 = 6;

impl Value {
    /// The operand of a breakpoint's condition that reads the same value at a breakpoint; `None` for a number of the event.
    pub fn operand(self, arch: Arch) -> Option<Operand> {
        match self {
            Value::Argument(number) if arch == Arch::I386 => {
                let offset = 4 + 4 * i64::from(number);
                (number < ARGUMENTS).then_some(Operand::Memory { base: Some(arch::STACK), offset, size: 4 })
            }
            Value::Argument(number) => arch::ARGUMENTS.get(usize::from(number)).map(|reg| Operand::Register(*reg)),
            Value::Register(register) => Some(Operand::Register(register)),
            Value::Memory { base, offset, size } => Some(Operand::Memory { base, offset, size }),
            Value::Field(_) => None,
        }
    }
}
