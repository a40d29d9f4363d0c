//! How processes become debuggees, and how they are let go.

mod attach;
pub(super) mod detach;
pub(super) mod release;
mod requeue;
mod seize;
mod sharers;
mod spawn;
mod take_over;

pub(crate) use self::spawn::{end, release, start_program as start};
