// SPDX-License-Identifier: GPL-2.0

//! A thread at a breakpoint.

use fastpath::{find, gone, mark, Hit, Modes, Registers, Storage, ALL};
use kernel::ffi::{c_int, c_void};
use ubp::arch::BEHIND;
use ubp::core::Error as TableError;

use crate::breakpoints::teardown::{here, is_step, leave, original};
use crate::ffi;
use crate::hit::actions;
use crate::mm::space::Space;
use crate::mm::space_table::{self, User};
use crate::process::attachment::Why;
use crate::process::lifecycle;
use crate::thread::held::{Held, Reason};

/// So often a page is waited for before the processor is asked to raise the fault.
pub(crate) const TRIES: u32 = 16;

/// What C is told of a hit: shim.h has the same.
const FOREIGN: c_int = 0;
const PASSED: c_int = 1;
const SINGLE_STEP: c_int = 2;
const UPROBE: c_int = 3;
/// It has to wait; the number of breakpoints that have counted it is added.
const LATER: c_int = 4;

const SIGTRAP: c_int = 5;

/// Why registers are going to be seen, of a thread that gets no signal, and of one whose instruction faulted: shim.h has the same.
const STOP: c_int = 0;
const FAULT: c_int = 2;

/// A thread has run into a breakpoint instruction, which so many breakpoints have counted. Whatever cannot be done at once changes
/// nothing but that number.
#[inline(always)]
fn hit(space: &Space, registers: &mut Registers, counted: usize, may_wait: bool) -> Hit {
    match fastpath::hit(&space.storages, registers, counted, may_wait) {
        Hit::InSlot(storage) => leave_slot(space, registers, &storage, may_wait),
        hit => hit,
    }
}

/// A thread has come to the end of a slot that has no way back of its own.
#[inline(never)]
fn leave_slot(space: &Space, registers: &mut Registers, storage: &Storage, may_wait: bool) -> Hit {
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
    if leave(registers, &arena, Modes::of_this_machine(), Some(&space.again)) {
        return if is_step { Hit::Stepped { owner: storage.owner } } else { Hit::Passed };
    }
    registers.set_pc(before);
    Hit::Foreign
}

/// A thread of the process that runs here has run into a breakpoint instruction.
///
/// # Safety
/// Called in a read-side section of RCU, with the registers of the thread that runs here.
#[no_mangle]
unsafe extern "C" fn ntrace_hit(registers: *mut Registers, mm: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    let Some(space) = (unsafe { space_table::find(mm) }) else { return FOREIGN };
    // SAFETY: the caller's promise.
    let registers = unsafe { &mut *registers };
    let is_again = space.again.take(registers, registers.pc().wrapping_sub(BEHIND));
    let before = if is_again { ALL } else { 0 };
    let mut seen = None;
    loop {
        return match hit(space, registers, before, false) {
            Hit::Foreign => match (seen, space.sequence()) {
                // It may have been there, and not been found.
                (_, now) if now % 2 != 0 => LATER + before as c_int,
                (Some(seen), now) if seen == now => FOREIGN,
                (_, now) => {
                    seen = Some(now);
                    continue;
                }
            },
            Hit::Breakpoint | Hit::InSlot(_) => FOREIGN,
            Hit::Passed | Hit::Stepped { .. } => PASSED,
            Hit::SingleStep => SINGLE_STEP,
            Hit::Uprobe => UPROBE,
            Hit::Absent { counted, .. } | Hit::Acts { counted, .. } => LATER + counted.max(before) as c_int,
        };
    }
}

/// A thread whose hit needs memory that was not there is on its way to user mode, and may wait. Answers as `ntrace_hit`.
///
/// # Safety
/// Called with the registers of the thread that runs here.
#[no_mangle]
unsafe extern "C" fn ntrace_hit_waiting(registers: *mut Registers, mm: *mut c_void, counted: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let registers = unsafe { &mut *registers };
    let site = registers.pc().wrapping_sub(BEHIND);
    let (mut counted, mut tries, mut is_settled) = (counted as usize, 0, false);
    while let Some(user) = User::find(mm) {
        let change = is_settled.then(|| user.space().change());
        // SAFETY: nothing sleeps until it ends.
        let read = unsafe { Read::new() };
        let hit = hit(user.space(), registers, counted, true);
        drop(read);
        drop(change);
        match hit {
            // What is not found while others change it is looked for again while nobody does.
            Hit::Foreign if !is_settled => is_settled = true,
            Hit::Foreign | Hit::Breakpoint | Hit::InSlot(_) => return FOREIGN,
            Hit::Passed => return PASSED,
            Hit::SingleStep => return SINGLE_STEP,
            Hit::Uprobe => return UPROBE,
            Hit::Stepped { owner } => {
                if let Some(watch) = user.space().watch(owner) {
                    Held::hold(&watch, Reason::Stepped, registers);
                }
                return PASSED;
            }
            Hit::Acts { act, counted: now } => {
                counted = now;
                registers.set_pc(site);
                actions::act(user.space(), &act, registers);
                if registers.pc() != site {
                    // It was sent elsewhere.
                    return PASSED;
                }
                registers.set_pc(site.wrapping_add(BEHIND));
            }
            Hit::Absent { address, write, counted: now } => {
                counted = now.max(counted);
                tries += 1;
                if tries > TRIES || !bring_in(address, write) {
                    // SAFETY: nothing sleeps until it ends.
                    let read = unsafe { Read::new() };
                    let raised = raise(user.space(), registers);
                    drop(read);
                    if !raised {
                        // SAFETY: it is the thread that runs here that gets it.
                        unsafe { ffi::force_sig(SIGTRAP) };
                    }
                    return PASSED;
                }
            }
        }
    }
    // The session has ended meanwhile.
    match gone(registers, registers.pc().wrapping_sub(BEHIND)) {
        Hit::Passed => PASSED,
        _ => FOREIGN,
    }
}

/// A thread on its way to user mode, whose hit had to wait, is to run into the breakpoint instruction once more; it is not counted then.
///
/// # Safety
/// Called with the registers of the thread that runs here.
#[no_mangle]
unsafe extern "C" fn ntrace_come_again(registers: *mut Registers, mm: *mut c_void) {
    // SAFETY: the caller's promise.
    let registers = unsafe { &mut *registers };
    registers.set_pc(registers.pc().wrapping_sub(BEHIND));
    if let Some(user) = User::find(mm) {
        user.space().again.note(registers);
    }
}

/// Brings a page in as an access of the program would. Says whether it can be accessed now.
pub(crate) fn bring_in(address: u64, write: bool) -> bool {
    // SAFETY: the address is the user's, which the callee looks after.
    unsafe {
        if write {
            ffi::fault_in_safe_writeable(address as *const c_void, 1) == 0
        } else {
            ffi::fault_in_readable(address as *const c_void, 1) == 0
        }
    }
}

/// Sends a thread to the copy of its instruction, for the processor to raise the fault.
fn raise(space: &Space, registers: &mut Registers) -> bool {
    let site = registers.pc().wrapping_sub(BEHIND);
    let near = space.storages.iter().filter(|storage| storage.serves(site));
    let found = near.filter_map(|storage| Some((storage, find(&storage, site, 0).ok()??.0))).next();
    let Some((storage, number)) = found else { return false };
    registers.set_pc(here(&storage).slot(number));
    true
}

/// The registers of the thread that runs here are going to be seen, and the address of a fault: they are to show the program's own
/// code. Gives the address in the program for one in a slot, else the same. Who has not carried the instruction out comes again, and is
/// counted again only where it faults. It takes no lock: the caller holds the one of the process' signals, by which interrupts may wait.
///
/// # Safety
/// As for `ntrace_hit`.
#[no_mangle]
unsafe extern "C" fn ntrace_seen(
    registers: *mut Registers,
    mm: *mut c_void,
    address: *mut c_void,
    why: c_int,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    let Some(space) = (unsafe { space_table::find(mm) }) else { return address };
    // SAFETY: the caller's promise.
    let registers = unsafe { &mut *registers };
    let modes = Modes::of_this_machine();
    let mut shown = address;
    for storage in space.storages.iter() {
        let arena = here(&storage);
        if let Some(place) = original(address as u64, registers, &arena, modes) {
            shown = place.pc as *mut c_void;
        }
        let steps = is_step(registers.pc(), &arena);
        if steps {
            // Who only stops is not done with its step.
            if why == STOP {
                continue;
            }
            // It is held at the first instruction of the handler, and then at the breakpoint that it comes back to.
            // SAFETY: it marks the current thread.
            unsafe { ffi::ntrace_thread_call_this() };
        }
        leave(registers, &arena, modes, (why != FAULT && !steps).then_some(&space.again));
    }
    shown
}

/// A read-side section of RCU.
pub(crate) struct Read;

impl Read {
    /// Begins one.
    ///
    /// # Safety
    /// Nothing sleeps while this is there.
    pub(crate) unsafe fn new() -> Read {
        // SAFETY: the caller's promise.
        unsafe { ffi::ntrace_read_lock() };
        Read
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        // SAFETY: `new` began it.
        unsafe { ffi::ntrace_read_unlock() };
    }
}

/// A thread is on its way to user mode, for whom some session may have asked.
///
/// # Safety
/// Called with the registers of the thread that runs here.
#[no_mangle]
unsafe extern "C" fn ntrace_called(registers: *mut Registers, mm: *mut c_void) {
    // SAFETY: the caller's promise.
    let registers = unsafe { &mut *registers };
    while let Some(user) = User::find(mm) {
        let Some((watch, why)) = user.space().calling(registers.pc()) else { return };
        leave_slots(user.space(), registers);
        if why == Why::Born {
            lifecycle::begun(&watch, registers);
        } else {
            Held::hold(&watch, Reason::Asked, registers);
        }
    }
}

/// Puts the thread that runs here where it would be without breakpoints.
pub(crate) fn leave_slots(space: &Space, registers: &mut Registers) {
    // SAFETY: nothing sleeps until it ends.
    let read = unsafe { Read::new() };
    for storage in space.storages.iter() {
        let arena = here(&storage);
        leave(registers, &arena, Modes::of_this_machine(), Some(&space.again));
    }
    drop(read);
}
