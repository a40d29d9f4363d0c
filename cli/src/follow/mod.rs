//! Follows a program and its children with breakpoints at the user's locations.

mod confirm;
mod follower;
mod inserter;
mod plan;
mod running;
mod start;
mod told;
mod tracers;

pub(crate) use self::follower::{Arrival, Sink};
pub(crate) use self::inserter::{Kind, Refused};
pub(crate) use self::start::start;
