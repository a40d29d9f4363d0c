//! Watchpoints of one address space, and the debug registers that observe them.

mod armed;
pub(in crate::ptrace) mod piece;
mod watches;

pub(in crate::ptrace) use self::armed::Armed;
pub(in crate::ptrace) use self::watches::{Hit, Watches};
