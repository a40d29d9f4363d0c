//! The hardware oracle: what the processor itself says of an encoding.
//!
//! The first n bytes of an encoding are put at the end of an executable page, the page after it is not executable, and a traced child
//! steps on them. While the fault is an instruction fetch at the boundary, n is too short. Otherwise the processor has read a whole
//! instruction: it executed, faulted on its operands or for want of privilege, or it is undefined. The length of an undefined
//! encoding is not architectural; only what was executed or faulted after decoding is a truth about length.

mod child;
mod compare;
mod cpu;
mod explain;
mod generate;

pub use child::{Child, Outcome};
pub use compare::{Report, compare};
pub use cpu::{has_feature, vendor};
pub use explain::{Class, Explanations};
pub use generate::Generator;
