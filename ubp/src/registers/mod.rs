//! Registers of a thread: the general ones, register sets as the kernel lays them out, and those of a set by name.

mod general;
mod part;
mod set;
mod vector;

pub use self::general::Registers;
pub(crate) use self::part::Part;
pub use self::set::RegisterSet;
pub(crate) use self::vector::Image;
pub use self::vector::VectorRegisters;
