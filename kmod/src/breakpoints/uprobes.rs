// SPDX-License-Identifier: GPL-2.0

//! Uprobes that are added and removed at breakpoints' addresses, as uprobes.c tells of them.

use fastpath::arch::UPROBE;
use kernel::ffi::{c_int, c_ulong};
use ubp::arch::BREAKPOINT;

use crate::breakpoints::table::Breakpoints;
use crate::ffi::Mm;
use crate::mm::atomic::Atomic;
use crate::mm::remote::Remote;
use crate::process::traced_table::{self, TracedRef};

/// Whether a session traces a process with this memory.
///
/// # Safety
/// The caller has a reference to `mm`.
#[no_mangle]
unsafe extern "C" fn ntrace_is_traced(mm: *const Mm) -> bool {
    // Nearly every process leaves here.
    if !traced_table::may_be_traced(mm) {
        return false;
    }
    // SAFETY: nothing sleeps until the end of the function.
    let atomic = unsafe { Atomic::new() };
    traced_table::find(mm, atomic.section()).is_some()
}

/// Whether a site has a breakpoint and no uprobe.
///
/// # Safety
/// The caller is a user of the memory and holds the lock of its mappings.
#[no_mangle]
unsafe extern "C" fn ntrace_has_only_breakpoint(mm: *const Mm, at: c_ulong) -> bool {
    let Some(found) = TracedRef::find(mm) else { return false };
    let space = found.space();
    // SAFETY: the caller is a user of the memory and holds the lock. `memory` is dropped before the function returns.
    let memory = unsafe { Remote::locked(space.mm()) };
    let entered = Breakpoints::new(space, memory, 0).active(at as u64).next();
    entered.is_some_and(|entered| UPROBE != entered.entry.bytes())
}

/// Takes note of a uprobe that was added or removed: without breakpoints, `bytes` would be at its address now.
///
/// # Safety
/// The caller has a reference to `mm`, and `bytes` has as many bytes as a breakpoint instruction.
#[no_mangle]
unsafe extern "C" fn ntrace_uprobe_changed(mm: *const Mm, at: c_ulong, bytes: *const [u8; BREAKPOINT.len()]) {
    if let Some(found) = TracedRef::find(mm) {
        let space = found.space();
        let breakpoints = Breakpoints::new(space, Remote::new(space.mm(), 0), 0);
        // After a failure either the breakpoint or the uprobe goes on without the other.
        // SAFETY: the caller vouches for `bytes`.
        let _ = breakpoints.overwrite(at as u64, unsafe { &*bytes }, true);
    }
}

/// Counts a trap of the current thread that is left to uprobes. Returns the number of its turn, or 0 if no session traces the process.
///
/// # Safety
/// `mm` is the memory of the current thread.
#[no_mangle]
unsafe extern "C" fn ntrace_handed(mm: *const Mm) -> c_int {
    // SAFETY: nothing sleeps until the end of the function.
    let atomic = unsafe { Atomic::new() };
    traced_table::find(mm, atomic.section()).map_or(0, |traced| traced.space.handed.begin())
}

/// The current thread's trap of that turn has been handled.
///
/// # Safety
/// `mm` is the memory of the current thread.
#[no_mangle]
unsafe extern "C" fn ntrace_handed_back(mm: *const Mm, turn: c_int) {
    // SAFETY: nothing sleeps until the end of the function.
    let atomic = unsafe { Atomic::new() };
    if let Some(traced) = traced_table::find(mm, atomic.section()) {
        traced.space.handed.end(turn);
    }
}
