// SPDX-License-Identifier: GPL-2.0

//! A thread at a breakpoint.

use kernel::ffi::{c_int, c_void};
use kernel::prelude::*;
use stepping::{Fault, Outcome};
use ubp::arch::{BEHIND, BREAKPOINT};
use ubp::core::{way, Entry, Error as TableError, Number, State, Way};
use wire::site::Site;

use crate::act::{self, Act};
use crate::arch::{self, Modes, Registers};
use crate::c;
use crate::held::{Held, Reason};
use crate::leave;
use crate::lives;
use crate::space::{self, mark, Space, Storage};
use crate::spaces::{self, User};
use crate::user::{self, Accesses, Part};
use crate::watch::Why;

/// So often a page is waited for before the processor is asked to raise the fault.
pub(crate) const TRIES: u32 = 16;

/// How a hit went.
pub(crate) enum Hit {
    /// Nothing of ours.
    Foreign,
    /// The thread goes on.
    Passed,
    /// The thread has done one instruction with its own trap flag set.
    SingleStep,
    /// There is a breakpoint instruction of the program itself, which the thread is due.
    Breakpoint,
    /// The same, or one of uprobes.
    Uprobe,
    /// Memory is to be brought in first; so many breakpoints have counted it.
    Absent { address: u64, write: bool, counted: usize },
    /// One breakpoint, the last of so many that have counted it, has something to do where one may wait; then it goes on.
    Acts { act: Act, counted: usize },
    /// The thread has carried out an instruction for which this owner's session let it go.
    Stepped { owner: u64 },
}

/// All breakpoints of a place have counted a hit.
const ALL: usize = space::MOST;

/// What C is told of a hit: shim.h has the same.
const FOREIGN: c_int = 0;
const PASSED: c_int = 1;
const SINGLE_STEP: c_int = 2;
const UPROBE: c_int = 3;
/// It has to wait; the number of breakpoints that have counted it is added.
const LATER: c_int = 4;

/// The active entry of a site in an arena; who finds it goes on with the number of its slot.
#[inline(always)]
fn find(storage: &Storage, site: u64, counted: usize) -> Result<Option<(Number, Entry)>, Hit> {
    match storage.arena(Part(storage.base)).find(site) {
        Ok(Some((number, entry))) if entry.state == State::Active => Ok(Some((number, entry))),
        Err(TableError::Inaccessible(at)) => {
            Err(Hit::Absent { address: storage.base.wrapping_add(at.offset), write: false, counted })
        }
        _ => Ok(None),
    }
}

/// A thread has run into a breakpoint instruction, which so many breakpoints have counted. Whatever cannot be done at once changes
/// nothing but that number.
fn hit(space: &Space, registers: &mut Registers, counted: usize, may_wait: bool) -> Hit {
    let site = registers.pc().wrapping_sub(BEHIND);
    let mut first = None;
    let mut place = 0;
    for storage in space.storages() {
        if storage.contains(site) {
            return leave_slot(space, registers, &storage, site, may_wait);
        }
        if !storage.reaches(site) {
            continue;
        }
        let (number, entry) = match find(&storage, site, place) {
            Ok(Some(found)) => found,
            Ok(None) => continue,
            Err(absent) => return absent,
        };
        if place >= counted {
            if let Some(hit) = count(&storage, number, &entry, place, may_wait) {
                return hit;
            }
        }
        place += 1;
        if first.is_none() {
            let slot = storage.arena(Part(storage.base)).slot(number);
            let emulated = if entry.mark & mark::SLOT == 0 { Some(entry) } else { None };
            first = Some((slot, emulated));
        }
    }
    let Some((slot, emulated)) = first else { return gone(registers, site) };
    let Some(entry) = emulated else {
        registers.set_pc(slot);
        return Hit::Passed;
    };
    match way(&entry, registers.mode(Modes::of_this_machine())) {
        Ok(Way::Slot) => {
            registers.set_pc(slot);
            Hit::Passed
        }
        Ok(Way::Emulate(emulate)) => match run(registers, &emulate, site, slot, place) {
            Hit::Breakpoint if arch::UPROBE == entry.bytes() => Hit::Uprobe,
            hit => hit,
        },
        // Somebody wrote to the table: the thread cannot be helped.
        Err(_) => Hit::Foreign,
    }
}

/// Counts a hit of one breakpoint, which is number `place` at its site. Says what stands in the way, or is to be done.
#[inline(always)]
fn count(storage: &Storage, number: Number, entry: &Entry, place: usize, may_wait: bool) -> Option<Hit> {
    let record = storage.record(number);
    let absent = |write| Some(Hit::Absent { address: record, write, counted: place });
    if entry.mark & mark::ACTS == 0 {
        return if user::add(record) { None } else { absent(true) };
    }
    let mut words = [[0; 8]; Site::WORDS];
    if !may_wait || !user::read(record, words.as_flattened_mut()) {
        return absent(false);
    }
    let Some(count) = user::count(record) else { return absent(true) };
    let mut words = words.map(u64::from_ne_bytes);
    words[0] = entry.site;
    // Nonsense, which somebody else wrote, does nothing.
    let site = Site::from_words(&words).ok()?;
    Some(Hit::Acts { act: Act { owner: storage.owner, site, count }, counted: place + 1 })
}

/// Emulates the instruction of a site.
pub(crate) fn run(
    registers: &mut Registers,
    emulate: &ubp::arch::Emulate,
    site: u64,
    slot: u64,
    counted: usize,
) -> Hit {
    let mut memory = Accesses::default();
    let before = registers.pc();
    registers.set_pc(site);
    // Whatever fails changes nothing.
    match registers.emulate(emulate, &mut memory) {
        Ok(Outcome::SingleStep) => Hit::SingleStep,
        Ok(Outcome::Breakpoint) => {
            registers.set_pc(before);
            Hit::Breakpoint
        }
        Err(Fault::Page(address)) => {
            registers.set_pc(before);
            Hit::Absent { address, write: memory.wrote, counted }
        }
        // The processor itself raises the fault, or does what cannot be done here.
        Ok(Outcome::Slot) | Err(_) => {
            registers.set_pc(slot);
            Hit::Passed
        }
        Ok(_) => Hit::Passed,
    }
}

/// No breakpoint stands there any more, or none of ours.
fn gone(registers: &mut Registers, site: u64) -> Hit {
    let mut bytes = BREAKPOINT;
    if !user::read(site, &mut bytes) {
        return Hit::Absent { address: site, write: false, counted: 0 };
    }
    if bytes == BREAKPOINT {
        return Hit::Foreign;
    }
    registers.set_pc(site);
    Hit::Passed
}

/// A thread has come to the end of a slot that has no way back of its own.
fn leave_slot(space: &Space, registers: &mut Registers, storage: &Storage, pc: u64, may_wait: bool) -> Hit {
    let arena = storage.arena(Part(storage.base));
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
    if leave::leave(registers, &arena, Modes::of_this_machine(), Some(&space.again)) {
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
    let Some(space) = (unsafe { spaces::find(mm) }) else { return FOREIGN };
    // SAFETY: the caller's promise.
    let registers = unsafe { &mut *registers };
    let is_again = space.again.take(registers, registers.pc().wrapping_sub(BEHIND));
    let before = if is_again { ALL } else { 0 };
    match hit(space, registers, before, false) {
        Hit::Foreign | Hit::Breakpoint => FOREIGN,
        Hit::Passed | Hit::Stepped { .. } => PASSED,
        Hit::SingleStep => SINGLE_STEP,
        Hit::Uprobe => UPROBE,
        Hit::Absent { counted, .. } | Hit::Acts { counted, .. } => LATER + counted.max(before) as c_int,
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
    let (mut counted, mut tries) = (counted as usize, 0);
    while let Some(user) = User::find(mm) {
        // SAFETY: nothing sleeps until it ends.
        let read = unsafe { Read::new() };
        let hit = hit(user.space(), registers, counted, true);
        drop(read);
        match hit {
            Hit::Foreign | Hit::Breakpoint => return FOREIGN,
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
                act::act(user.space(), &act, registers);
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
                    return if raised { PASSED } else { FOREIGN };
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

/// Brings a page in as an access of the program would. Says whether it can be accessed now.
pub(crate) fn bring_in(address: u64, write: bool) -> bool {
    // SAFETY: the address is the user's, which the callee looks after.
    unsafe {
        if write {
            c::fault_in_safe_writeable(address as *const c_void, 1) == 0
        } else {
            c::fault_in_readable(address as *const c_void, 1) == 0
        }
    }
}

/// Sends a thread to the copy of its instruction, for the processor to raise the fault.
fn raise(space: &Space, registers: &mut Registers) -> bool {
    let site = registers.pc().wrapping_sub(BEHIND);
    let near = space.storages().filter(|storage| storage.reaches(site));
    let found = near.filter_map(|storage| Some((storage, find(&storage, site, 0).ok()??.0))).next();
    let Some((storage, number)) = found else { return false };
    registers.set_pc(storage.arena(Part(storage.base)).slot(number));
    true
}

/// A signal is about to be delivered: its frame and its address are to show the program's own code. Gives the address in the
/// program for one in a slot, else the same. An instruction that faults comes again, and is counted again.
///
/// # Safety
/// As for `ntrace_hit`.
#[no_mangle]
unsafe extern "C" fn ntrace_signal(registers: *mut Registers, mm: *mut c_void, address: u64, is_fault: bool) -> u64 {
    // SAFETY: the caller's promise.
    let Some(space) = (unsafe { spaces::find(mm) }) else { return address };
    // SAFETY: the caller's promise.
    let registers = unsafe { &mut *registers };
    let modes = Modes::of_this_machine();
    let mut shown = address;
    for storage in space.storages() {
        let arena = storage.arena(Part(storage.base));
        if let Some(place) = leave::original(address, registers, &arena, modes) {
            shown = place.pc;
        }
        if leave::is_step(registers.pc(), &arena) {
            // It is held at the first instruction of the handler.
            let _ = space.watch(storage.owner).map(|watch| watch.call_this());
        }
        leave::leave(registers, &arena, modes, (!is_fault).then_some(&space.again));
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
        unsafe { c::ntrace_read_lock() };
        Read
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        // SAFETY: `new` began it.
        unsafe { c::ntrace_read_unlock() };
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
        let Some((watch, why)) = user.space().calling() else { return };
        leave_slots(user.space(), registers);
        if why == Why::Born {
            lives::begun(&watch, registers);
        } else {
            Held::hold(&watch, Reason::Asked, registers);
        }
    }
}

/// Puts the thread that runs here where it would be without breakpoints.
pub(crate) fn leave_slots(space: &Space, registers: &mut Registers) {
    // SAFETY: nothing sleeps until it ends.
    let read = unsafe { Read::new() };
    for storage in space.storages() {
        let arena = storage.arena(Part(storage.base));
        leave::leave(registers, &arena, Modes::of_this_machine(), Some(&space.again));
    }
    drop(read);
}
