//! Watchpoints: memory that the processor's debug registers observe.

#[cfg(target_arch = "aarch64")]
#[path = "arm64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86.rs"]
mod arch;
mod piece;
mod watches;
mod watchpoint;

pub(crate) use self::arch::REGISTERS;
pub(crate) use self::piece::Piece;
pub(crate) use self::watches::{Hit, Watches};
pub use self::watchpoint::{Access, WatchError, WatchId, WatchReason};
