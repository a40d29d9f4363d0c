//! Types and functions from debug information (DWARF).
//!
//! `units.rs` reads entries and follows references, `resolve.rs` makes types from them, `libraries.rs` knows the strings and vectors of the
//! languages' libraries, and `functions.rs` finds the function at an address.

mod function;
mod functions;
mod libraries;
mod model;
mod resolve;
mod store;
mod units;

pub use self::function::{Function, Parameter};
pub(crate) use self::function::{Known, Linkage, Location};
pub use self::model::{Language, Length, Member, Sequence, Shape, Structure, Type, TypeError, TypeId, Variant};
pub use self::store::Types;
