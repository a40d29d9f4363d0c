//! Locations: their syntax, and their addresses in a file.

mod grammar;
mod marks;
mod missing;
mod near;
mod resolve;
mod watch;

pub(crate) use grammar::Location;
pub(crate) use marks::in_files;
pub(crate) use missing::{explain, explain_with_copies};
pub(crate) use watch::{Datum, Watch};
