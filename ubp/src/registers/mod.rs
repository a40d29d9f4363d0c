//! Registers of a thread: the general ones, register sets as the kernel lays them out, and those of a set by name.

mod general;
mod set;
mod vector;

pub use self::general::Registers;
pub use self::set::RegisterSet;
pub use self::vector::VectorRegisters;
pub(crate) use self::vector::{Image, Part};
