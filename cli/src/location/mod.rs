//! Locations: how they are written, and where they are.

mod grammar;
mod missing;
mod pattern;
mod resolve;

pub(crate) use grammar::{Location, Place};
pub(crate) use missing::explain;
pub(crate) use resolve::{Search, Site};
