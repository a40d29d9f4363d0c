//! Types and functions from debug information (DWARF).
//!
//! `units.rs` reads entries and follows references, `resolve.rs` makes types from them, `libraries.rs` knows the strings and vectors of the
//! languages' libraries, and `functions.rs` finds the function at an address. `variables.rs` finds what is in scope at any address (`scope.rs`): `extents.rs`
//! knows the addresses of functions, `call_sites.rs` what their callers give, `blocks.rs` the blocks around an address, `rows.rs` its source line, and `placed.rs` where something lies there
//! (`location.rs`).

mod blocks;
mod call_site;
mod call_sites;
mod extents;
mod function;
mod functions;
mod inlined;
mod libraries;
mod location;
mod model;
mod placed;
mod resolve;
mod rows;
mod scope;
mod store;
mod units;
mod variables;

pub(crate) use self::call_site::CallSite;
pub use self::function::{Function, Parameter};
pub(crate) use self::function::{Known, Linkage};
pub use self::inlined::Inlined;
pub(crate) use self::location::Location;
pub use self::model::{Language, Length, Member, Sequence, Shape, Structure, Type, TypeError, TypeId, Variant};
pub(crate) use self::scope::Lies;
pub use self::scope::{Scope, Variable};
pub use self::store::Types;
