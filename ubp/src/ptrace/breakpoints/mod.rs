//! Breakpoints in a debuggee, inserted and removed by threads that are stopped already.

pub(super) mod arenas;
pub(super) mod jump_memory;
#[cfg(target_arch = "aarch64")]
#[path = "arm64/leads.rs"]
mod leads;
#[cfg(target_arch = "x86_64")]
#[path = "x86/leads.rs"]
mod leads;
pub(super) mod loader;
pub(super) mod sites;
pub(super) mod trap_handler;
