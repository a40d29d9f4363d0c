//! Follows a program and its children with breakpoints at the user's locations.

mod confirm;
mod covered;
mod follower;
mod gate;
mod inserter;
mod jumpless;
mod observed;
mod plan;
mod ruling;
mod running;
mod semaphore;
mod sieve;
mod stacks;
mod start;
mod summing;
mod told;
mod tracers;
mod watches;

pub(crate) use self::covered::{Covered, CoveredImage};
pub(crate) use self::follower::{Arrival, Sink};
pub(crate) use self::inserter::{Kind, Refused};
pub(crate) use self::observed::Observed;
pub(crate) use self::stacks::{tell_cut, with_stacks};
pub(crate) use self::start::{start, start_blocks, start_observed};
pub(crate) use self::summing::{Summed, Sums};
