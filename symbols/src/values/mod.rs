//! Values of the types that debug information tells: read from the registers and the memory of a stopped thread.
//!
//! `place.rs` says where a value lies, `convention/` computes that for arguments and results, `expression.rs` evaluates what debug information
//! says, `entry.rs` tells it what a caller gave, `read.rs` makes data from bytes, of which some may be missing (`holes.rs`), `call.rs` reads all arguments of a call, and `operand/` those of static probes. `variables.rs` reads
//! what is in scope in a frame, and `node.rs` shows values as trees.

mod call;
mod convention;
mod data;
mod entry;
mod expression;
mod held;
mod holes;
mod node;
mod operand;
mod place;
mod read;
mod simple_location;
mod thread;
mod variables;

pub use self::call::{Argument, arguments, is_recordable, registers, result_memory, results};
pub use self::data::Data;
pub(crate) use self::expression::{Base, Entry, Frame as ExpressionFrame};
pub use self::held::Held;
pub use self::node::Node;
pub use self::operand::{Format, Operand, operand_values, operands};
pub use self::simple_location::{SimpleLocation, simple_location};
pub use self::thread::Thread;
pub use self::variables::{Local, variables};
pub use crate::unwind::general_register;
