//! Where a variable lies at an instruction, where one register and a distance tell it.

use gimli::Operation;

use crate::elf::{Arch, Cfa, Image};
use crate::types::{Lies, Location, Scope, Variable};

/// Where a variable lies at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimpleLocation {
    /// In a general register, by its number in debug information.
    Register(u16),
    /// In memory, so far from the address in a general register.
    Memory {
        /// The register's number in debug information.
        register: u16,
        /// The distance in bytes.
        offset: i64,
    },
    /// In memory, at an address in the file.
    Static(u64),
}

/// Where a variable of a scope lies at an address in the file, for a thread that is about to execute the instruction there. `None`: it has no place,
/// or its expression has more than one operation ([`variables`](super::variables::variables) reads it all the same), or the code is 32-bit, whose
/// registers have other numbers. `scope` is that of the address.
pub fn simple_location(image: &Image, address: u64, scope: &Scope, variable: &Variable) -> Option<SimpleLocation> {
    let Lies::At(location) = &variable.lies else { return None };
    if image.arch() == Arch::I386 {
        return None;
    }
    match single(location)? {
        Operation::Register { register } => Some(SimpleLocation::Register(register.0)),
        Operation::RegisterOffset { register, offset, .. } => {
            Some(SimpleLocation::Memory { register: register.0, offset })
        }
        Operation::Address { address } => Some(SimpleLocation::Static(address)),
        Operation::FrameOffset { offset } => {
            let (register, base) = match single(scope.frame_base.as_ref()?)? {
                Operation::CallFrameCFA => match image.unwind_rules(address)?.cfa {
                    Cfa::Register(register, base) => (register, base),
                    Cfa::Expression(_) => return None,
                },
                Operation::Register { register } => (register.0, 0),
                Operation::RegisterOffset { register, offset, .. } => (register.0, offset),
                _ => return None,
            };
            Some(SimpleLocation::Memory { register, offset: base.checked_add(offset)? })
        }
        _ => None,
    }
}

/// The only operation of an expression.
fn single(location: &Location) -> Option<Operation<crate::reader::Reader>> {
    let mut operations = location.expression.clone().operations(location.encoding);
    match (operations.next().ok()?, operations.next().ok()?) {
        (only, None) => only,
        _ => None,
    }
}
