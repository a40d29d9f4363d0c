//! The system call in which a thread blocks: registers tell of it at any time.

use libc::user_regs_struct;

use crate::Tid;

/// Nothing needs to be known.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct BlockedCall;

impl BlockedCall {
    /// Never one.
    pub(in crate::ptrace) fn of(_: Tid) -> Option<BlockedCall> {
        None
    }

    /// The kernel keeps it by itself, wherever the thread goes on.
    pub(in crate::ptrace) fn keep_rest(&self, _: &mut user_regs_struct) -> bool {
        false
    }
}
