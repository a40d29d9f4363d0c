//! Locations: their syntax, and their addresses in a file.

mod grammar;
mod missing;
mod module;
mod near;
mod pattern;
mod resolve;

pub(crate) use grammar::Location;
pub(crate) use missing::explain;
pub(crate) use resolve::{Search, Site};
