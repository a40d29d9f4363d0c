//! A caller, as frame pointers or unwind information lead to it.

/// A caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    /// The return address.
    pub(crate) address: u64,
    /// Its stack pointer behind the call.
    pub(crate) stack: u64,
    /// Its frame pointer.
    pub(crate) frame: u64,
}
