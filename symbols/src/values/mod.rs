//! Values of the types that debug information tells: read from the registers and the memory of a stopped thread.
//!
//! `place.rs` says where a value lies, `convention/` computes that for arguments and results, `expression.rs` evaluates what debug information
//! says, `read.rs` makes data from bytes, `call.rs` reads all arguments of a call, and `operand/` those of static probes.

mod call;
mod convention;
mod data;
mod expression;
mod operand;
mod place;
mod read;
mod thread;

pub use self::call::{Argument, arguments, is_recordable, registers, results};
pub use self::data::Data;
pub use self::operand::{Format, Operand, operand_values, operands};
pub use self::thread::Thread;
