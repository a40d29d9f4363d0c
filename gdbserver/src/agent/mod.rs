//! Agent expressions: conditions and commands of breakpoints that the client has compiled (GDB manual, "The GDB Agent Expression Mechanism").

mod evaluate;
mod lower;
mod op;
mod print;

pub(crate) use self::evaluate::{World, evaluate};
pub(crate) use self::lower::lower;
pub(crate) use self::op::Expression;
