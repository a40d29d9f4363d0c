//! The remote serial protocol (GDB manual, "Remote Protocol"): packets, hexadecimal numbers, thread ids, signal numbers.

pub(crate) mod hex;
mod link;
pub(crate) mod signals;
mod thread_id;

pub(crate) use self::link::{Input, Link, MOST_BYTES};
pub(crate) use self::thread_id::{One, ThreadId};
