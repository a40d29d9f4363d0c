//! Instructions that move data between memory and a general register or an immediate: what a device's registers are accessed with.

mod access;
mod arithmetic;
mod decode;
mod run;

pub use access::{Mmio, Operation, Part};
pub use arithmetic::Arithmetic;
