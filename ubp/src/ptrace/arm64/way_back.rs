//! The way back of a thread that makes a system call for the tracer: there is none, because no instruction takes all registers
//! at once.

use libc::user_regs_struct;

use crate::{Arch, Tid};

/// The frame for the way back: none.
pub(in crate::ptrace) fn way_back(_: Tid, _: &mut user_regs_struct, _: Arch, _: u64) -> Option<Vec<u8>> {
    None
}
