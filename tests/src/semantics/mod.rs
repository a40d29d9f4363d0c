//! Every opcode form against the processor: run in place, through each way that its plan allows, and from states in which
//! what `insn` says it does not read is changed.

mod encode;
mod excess;
mod extent;
pub mod manual;
mod perturb;
mod prepare;
mod skeleton;
mod variable;
mod view;
mod walk;

pub use encode::encode;
pub use excess::Excess;
pub use prepare::state_for;
pub use skeleton::{Fields, Operand, Skeleton, Space, skeletons};
pub use variable::variable;
pub use walk::{Report, Walk};
