// SPDX-License-Identifier: GPL-2.0

//! What hits read without a lock. These files use nothing but `crate::atomic`, so that the package `tests/models` compiles them too, and runs
//! them in every order that the memory model allows.

mod chain;
mod marks;
mod sequence;
mod table;

pub use chain::{Chain, Linked};
pub use marks::Marks;
pub use sequence::Sequence;
pub use table::{Note, Record, Table};
