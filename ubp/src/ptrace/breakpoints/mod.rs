//! Breakpoints in a debuggee, inserted and removed by threads that are stopped already.

pub(super) mod arenas;
pub(super) mod jump_memory;
pub(super) mod loader;
pub(super) mod sites;
pub(super) mod trap_handler;
