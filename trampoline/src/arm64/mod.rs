//! Branches and trampolines for A64.
//!
//! An instruction is as long as a branch, so that a `b` at a site covers nothing else, and the processor may write it while threads execute it
//! (Arm ARM B2.2.5). The trampoline must lie within 128 MiB of the site ([`branch`]). It must not lie in a guarded page (BTI), so that a
//! `br` in the place of a call is taken for one (Arm ARM D8.4.8).
//!
//! [`Site::count`] writes a trampoline: it pushes two or three registers, adds one to a counter, takes the registers back, and runs the copy
//! that `stepping` makes of the instruction. No flag changes.
//!
//! The procedure call standard has no red zone, but Go keeps the frame pointer of the caller in the eight bytes below the stack pointer: sixteen stay
//! as they are. A push that finds no stack faults at a place of the probe ([`Place::own`]) before the count, as on x86.

mod head;
mod place;
mod refuse;
mod site;

pub use crate::Progress;
pub use place::Place;
pub use refuse::Refusal;
pub use site::{Site, Trampoline, begins_trampoline, branch, branch_target};
