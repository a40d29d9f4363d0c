//! Functions and source lines of Go programs.

mod functions;
mod lines;
mod table;

pub(super) use self::functions::functions;
pub(super) use self::lines::GoLines;
