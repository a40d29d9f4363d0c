//! The system call in which a thread blocks. The registers show it at any time, so nothing is kept here.

use libc::user_regs_struct;

use crate::Tid;

/// What has to be known about a system call: nothing.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct BlockedCall;

impl BlockedCall {
    /// Never returns anything.
    pub(in crate::ptrace) fn of(_: Tid) -> Option<BlockedCall> {
        None
    }

    /// Changes nothing: the kernel keeps the rest of a call's time, wherever the thread continues.
    pub(in crate::ptrace) fn keep_rest(&self, _: &mut user_regs_struct) -> bool {
        false
    }
}
