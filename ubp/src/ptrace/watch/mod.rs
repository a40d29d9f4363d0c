//! Watchpoints of one address space, and the debug registers that observe them.

mod armed;
pub(crate) mod piece;
mod watches;

pub(in crate::ptrace) use self::armed::Armed;
pub(crate) use self::watches::{Hit, Watches};
