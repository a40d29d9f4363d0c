// SPDX-License-Identifier: GPL-2.0

//! Uprobes that come and go where breakpoints are.

use fastpath::arch::UPROBE;
use kernel::ffi::{c_ulong, c_void};
use ubp::arch::BREAKPOINT;

use crate::hit::hit::Read;
use crate::mm::space_table::{self, User};
use crate::process::debuggee::Debuggee;

/// Whether some session traces who has this memory.
///
/// # Safety
/// There is a reference to the description.
#[no_mangle]
unsafe extern "C" fn ntrace_is_traced(mm: *mut c_void) -> bool {
    // SAFETY: nothing sleeps in it.
    let _read = unsafe { Read::new() };
    // SAFETY: a read-side section began.
    unsafe { space_table::find(mm) }.is_some()
}

/// Whether a breakpoint stands at a place, and no uprobe.
///
/// # Safety
/// There is a reference to the memory, and the lock of its mappings is held.
#[no_mangle]
unsafe extern "C" fn ntrace_is_alone(mm: *mut c_void, at: c_ulong) -> bool {
    let Some(user) = User::find(mm) else { return false };
    let debuggee = Debuggee::of_nobody(user, true);
    let found = debuggee.active(at as u64).next();
    found.is_some_and(|found| UPROBE != found.entry.bytes())
}

/// Uprobes have set or taken out one of theirs, so that `bytes` stand there without breakpoints.
///
/// # Safety
/// As for `ntrace_is_traced`, and `bytes` are as many as a breakpoint instruction's.
#[no_mangle]
unsafe extern "C" fn ntrace_probed(mm: *mut c_void, at: c_ulong, bytes: *const [u8; BREAKPOINT.len()]) {
    if let Some(user) = User::find(mm) {
        // Where it cannot be, the breakpoint or the uprobe goes on without the other.
        // SAFETY: the caller's promise.
        let _ = Debuggee::of_nobody(user, false).overwrite(at as u64, unsafe { &*bytes }, true);
    }
}
