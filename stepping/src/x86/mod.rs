//! x86-64 and i386.

mod assemble;
mod class;
mod emulate;
mod plan;
mod refuse;
mod slot;

pub use emulate::{Emulate, Outcome, Registers};
pub use plan::{Plan, plan};
pub use refuse::Refusal;
pub use slot::{Code, Exit, Place, Progress, SLOT_SIZE, Scratch, Slot};
