// SPDX-License-Identifier: GPL-2.0

//! Entry points of threads that run into a breakpoint, return to user mode or get a signal.

use fastpath::layout;
use fastpath::{find, gone, mark, Hit, Modes, Registers, Storage, ALL, BUDGET};
use kernel::bindings;
use kernel::ffi::{c_int, c_ulong, c_void};
use ubp::arch::BEHIND;
use ubp::core::Error as TableError;

use crate::breakpoints::slot::{here, is_step, leave, leave_all, original};
use crate::ffi::{self, Mm};
use crate::hit::actions;
use crate::mm::atomic::{bring_in, Atomic, Section, MOST_FAULTS};
use crate::mm::interrupted_hits::Known;
use crate::mm::space::Space;
use crate::process::attachment::Cause;
use crate::process::lifecycle;
use crate::process::traced_table::{self, TracedRef};
use crate::thread::hold::{hold, Reason};

/// The answers of `ntrace_hit` (shim.h).
const FOREIGN: c_int = layout::NTRACE_FOREIGN as c_int;
const PASSED: c_int = layout::NTRACE_PASSED as c_int;
const SINGLE_STEP: c_int = layout::NTRACE_SINGLE_STEP as c_int;
const UPROBE: c_int = layout::NTRACE_UPROBE as c_int;
/// The hit has to wait. The number of breakpoints that have counted it is added.
const LATER: c_int = layout::NTRACE_LATER as c_int;
/// `LATER`, counted by all breakpoints, stays below the other marks of a trap frame.
const _: () = assert!(layout::NTRACE_LATER + ALL as u64 <= layout::NTRACE_AGAIN);

const SIGTRAP: c_int = layout::NTRACE_SIGTRAP as c_int;

/// Why `ntrace_registers_seen` is called (shim.h).
const STOP: c_int = layout::NTRACE_STOP as c_int;
const FAULT: c_int = layout::NTRACE_FAULT as c_int;

/// Handles a hit that `counted` breakpoints have counted. A hit that has to wait changes nothing but that number.
#[inline(always)]
fn hit(space: &Space, registers: &Registers, counted: usize, may_wait: bool) -> Hit {
    match fastpath::hit(&space.storages, registers, counted, may_wait) {
        Hit::InSlot(storage) => leave_slot(space, registers, &storage, may_wait),
        hit => hit,
    }
}

/// Handles the breakpoint instruction at the end of a slot.
#[inline(never)]
fn leave_slot(space: &Space, registers: &Registers, storage: &Storage, may_wait: bool) -> Hit {
    let pc = registers.pc().wrapping_sub(BEHIND);
    let arena = here(storage);
    let Some((number, _)) = arena.slot_at(pc) else { return Hit::Foreign };
    let is_step = match arena.entry(number) {
        Err(TableError::Inaccessible(at)) => {
            return Hit::Absent { address: storage.base.wrapping_add(at.offset), write: false, counted: 0 };
        }
        entry => entry.is_ok_and(|entry| entry.mark & mark::STEP != 0),
    };
    if is_step && !may_wait {
        return Hit::Absent { address: pc, write: false, counted: 0 };
    }
    let before = registers.pc();
    registers.set_pc(pc);
    if leave(registers, &arena, Modes::of_this_machine(), Some(&space.interrupted)) {
        return if is_step { Hit::Stepped { owner: storage.owner } } else { Hit::Passed };
    }
    registers.set_pc(before);
    Hit::Foreign
}

/// Handles the breakpoint trap of the current thread.
///
/// # Safety
/// Called in a read-side section of RCU. `registers` are those of the current thread, and `mm` is its memory.
#[no_mangle]
unsafe extern "C" fn ntrace_hit(registers: *mut Registers, mm: *const Mm) -> c_int {
    // SAFETY: the caller's read-side section lasts until this function returns.
    let section = unsafe { Section::of_caller() };
    let Some(traced) = traced_table::find(mm, &section) else { return FOREIGN };
    let space = &traced.space;
    // SAFETY: the caller vouches for the registers. Their words are cells, and no other thread uses them.
    let registers = unsafe { &*registers };
    let before = match space.interrupted.take(registers, registers.pc().wrapping_sub(BEHIND), || space.sequence()) {
        None => 0,
        Some(Known::Counted | Known::Restarts) => ALL,
        Some(Known::Foreign(_)) => return FOREIGN,
        Some(Known::Uprobe(_)) => return UPROBE,
    };
    let mut seen = None;
    loop {
        return match hit(space, registers, before, false) {
            Hit::Foreign => match (seen, space.sequence()) {
                (Some(seen), now) if seen == now => FOREIGN,
                (None, now) if now % 2 == 0 => {
                    seen = Some(now);
                    continue;
                }
                // Breakpoints change: there may be one that was not found.
                _ => LATER + before as c_int,
            },
            Hit::Breakpoint | Hit::InSlot(_) => FOREIGN,
            Hit::Passed | Hit::Stepped { .. } => PASSED,
            Hit::Syscall => to_syscall(),
            Hit::SingleStep => SINGLE_STEP,
            Hit::Uprobe => UPROBE,
            Hit::Absent { counted, .. } | Hit::Acts { counted, .. } | Hit::Long { counted } => {
                LATER + counted.max(before) as c_int
            }
        };
    }
}

/// Handles a hit that had to wait, where the current thread may sleep. Returns what `ntrace_hit` returns, and the number of changes of
/// breakpoints before that was found.
///
/// # Safety
/// `registers` are those of the current thread, `mm` is its memory, and `changes` can be written.
#[no_mangle]
unsafe extern "C" fn ntrace_hit_sleeping(
    registers: *mut Registers,
    mm: *const Mm,
    counted: c_int,
    changes: *mut c_ulong,
) -> c_int {
    // SAFETY: the caller vouches for the registers and for the number. The registers' words are cells, and no other thread uses them.
    let (registers, changes) = unsafe { (&*registers, &mut *changes) };
    let site = registers.pc().wrapping_sub(BEHIND);
    let (mut counted, mut tries) = (counted as usize, 0);
    while let Some(found) = TracedRef::find(mm) {
        *changes = found.space().sequence() as c_ulong;
        // SAFETY: nothing sleeps until `atomic` is dropped.
        let atomic = unsafe { Atomic::new() };
        let hit = hit(found.space(), registers, counted, true);
        drop(atomic);
        match hit {
            // Nothing has changed during the search.
            Hit::Foreign if found.space().sequence() as c_ulong == *changes && *changes % 2 == 0 => return FOREIGN,
            // A breakpoint that is not found while breakpoints change is looked for again.
            Hit::Foreign => {
                if !pause() {
                    // A signal comes first. The thread runs into the breakpoint instruction again.
                    registers.set_pc(site);
                    if counted >= ALL {
                        found.space().interrupted.note(registers, Known::Counted);
                    }
                    return PASSED;
                }
            }
            Hit::Breakpoint | Hit::InSlot(_) | Hit::Long { .. } => return FOREIGN,
            Hit::Passed => return PASSED,
            Hit::Syscall => return to_syscall(),
            Hit::SingleStep => return SINGLE_STEP,
            Hit::Uprobe => return UPROBE,
            Hit::Stepped { owner } => {
                if let Some(attachment) = found.traced().attachment(owner) {
                    hold(&attachment, Reason::Stepped, registers);
                }
                return PASSED;
            }
            Hit::Acts { act, counted: now } => {
                counted = now;
                registers.set_pc(site);
                actions::act(found.traced(), &act, registers);
                if registers.pc() != site {
                    // The session has sent the thread elsewhere.
                    return PASSED;
                }
                registers.set_pc(site.wrapping_add(BEHIND));
            }
            Hit::Absent { address, write, counted: now } => {
                counted = now.max(counted);
                tries += 1;
                if tries > MOST_FAULTS || !bring_in(address, write) {
                    // SAFETY: nothing sleeps until `atomic` is dropped.
                    let atomic = unsafe { Atomic::new() };
                    let raised = raise(found.space(), registers);
                    drop(atomic);
                    if !raised {
                        // SAFETY: the function sends the signal to the current thread.
                        unsafe { ffi::force_sig(SIGTRAP) };
                    }
                    return PASSED;
                }
            }
        }
    }
    // No session traces the process any more.
    match gone(registers, registers.pc().wrapping_sub(BEHIND)) {
        Hit::Passed => PASSED,
        _ => FOREIGN,
    }
}

/// The current thread is about to make a system call in a slot, and leaves the slot when it does (report/syscalls.c).
#[inline(never)]
fn to_syscall() -> c_int {
    // SAFETY: both functions look at and change the current thread alone.
    unsafe {
        if ffi::ntrace_syscalls_supported() {
            ffi::ntrace_syscalls_this();
        }
    }
    PASSED
}

/// Sleeps for a tick of the clock. Returns false if a signal is pending.
fn pause() -> bool {
    // SAFETY: the callers may sleep.
    unsafe { bindings::schedule_timeout_interruptible(1) };
    // SAFETY: the function looks at the current thread.
    unsafe { !ffi::ntrace_thread_is_signalled() }
}

/// Makes the current thread, whose hit had to wait and got this answer, run into the breakpoint instruction again. That trap gets the same
/// answer at once, unless breakpoints change meanwhile. `changes` is the number that `ntrace_hit_sleeping` gave.
///
/// # Safety
/// `registers` are those of the current thread, and `mm` is its memory.
#[no_mangle]
unsafe extern "C" fn ntrace_hit_again(registers: *mut Registers, mm: *const Mm, answer: c_int, changes: c_ulong) {
    // SAFETY: the caller vouches for the registers. Their words are cells, and no other thread uses them.
    let registers = unsafe { &*registers };
    registers.set_pc(registers.pc().wrapping_sub(BEHIND));
    if let Some(found) = TracedRef::find(mm) {
        let changes = changes as u32;
        let known = if answer == UPROBE { Known::Uprobe(changes) } else { Known::Foreign(changes) };
        found.space().interrupted.note(registers, known);
    }
}

/// Sends a thread to the copy of its instruction, so that the processor raises the fault.
fn raise(space: &Space, registers: &Registers) -> bool {
    let site = registers.pc().wrapping_sub(BEHIND);
    let near = space.storages.iter().filter(|storage| storage.serves(site));
    let mut budget = BUDGET;
    let found = near.filter_map(|storage| Some((storage, find(&storage, site, 0, &mut budget).ok()??.0))).next();
    let Some((storage, number)) = found else { return false };
    registers.set_pc(here(&storage).slot(number));
    true
}

/// Takes the current thread out of its slot before a debugger, a signal handler or a core dump sees its registers. Returns the address
/// in the program for the address of a fault in a slot, otherwise `address` itself. An instruction that has not run traps again, and is
/// counted again only if it faults. No lock is taken: the caller holds the one of the process' signals, and interrupts are disabled.
///
/// # Safety
/// Called in a read-side section of RCU. `registers` are those of the current thread, and `mm` is its memory.
#[no_mangle]
unsafe extern "C" fn ntrace_registers_seen(
    registers: *mut Registers,
    mm: *const Mm,
    address: *mut c_void,
    why: c_int,
) -> *mut c_void {
    // SAFETY: the caller's read-side section lasts until this function returns.
    let section = unsafe { Section::of_caller() };
    let Some(traced) = traced_table::find(mm, &section) else { return address };
    let space = &traced.space;
    // SAFETY: the caller vouches for the registers. Their words are cells, and no other thread uses them.
    let registers = unsafe { &*registers };
    let modes = Modes::of_this_machine();
    let mut shown = address;
    for storage in space.storages.iter() {
        let arena = here(&storage);
        if let Some(place) = original(address as u64, registers, &arena, modes) {
            shown = place.pc as *mut c_void;
        }
        let steps = is_step(registers.pc(), &arena);
        if steps {
            // A thread that only stops goes on with its step afterwards.
            if why == STOP {
                continue;
            }
            // The thread is held at the first instruction of the signal's handler, and again at the breakpoint to which it returns.
            // SAFETY: the function sets a flag of the current thread.
            unsafe { ffi::ntrace_thread_notify_this() };
        }
        leave(registers, &arena, modes, (why != FAULT && !steps).then_some(&space.interrupted));
    }
    shown
}

/// Takes the requests to the current thread, which returns to user mode.
///
/// # Safety
/// `registers` are those of the current thread, and `mm` is its memory.
#[no_mangle]
unsafe extern "C" fn ntrace_take_requests(registers: *mut Registers, mm: *const Mm) {
    // SAFETY: the caller vouches for the registers. Their words are cells, and no other thread uses them.
    let registers = unsafe { &*registers };
    while let Some(found) = TracedRef::find(mm) {
        let Some((attachment, cause)) = found.traced().take_request(registers.pc()) else { return };
        leave_all(found.space(), registers);
        if cause == Cause::New {
            lifecycle::begun(&attachment, registers);
        } else {
            hold(&attachment, Reason::Asked, registers);
        }
    }
}
