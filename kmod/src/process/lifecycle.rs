// SPDX-License-Identifier: GPL-2.0

//! Lives of traced processes: threads begin, processes fork, execute, end.

use core::mem::ManuallyDrop;
use core::ptr;

use kernel::ffi::{c_int, c_void};
use kernel::prelude::*;
use kernel::sync::Arc;
use wire::commands::option;
use wire::events::Event;

use crate::breakpoints::teardown::{self, Threads};
use crate::channel::channel::{Adoptee, Note};
use crate::ffi::{self, Task};
use crate::hit::hit::{self, Read};
use crate::mm::space_table::{self, User};
use crate::process::attachment::{Watch, Why};
use crate::process::debuggee::Debuggee;
use crate::thread::held::{time, Held, Reason};
use fastpath::Registers;

/// Takes a reference to a watch.
///
/// # Safety
/// It is one that `Watch` gave to lives.c, and lives.c has it still.
#[no_mangle]
unsafe extern "C" fn ntrace_watch_hold(watch: *const Watch) {
    // SAFETY: the debuggee, which has a reference, takes it from lives.c before it gives that up.
    let watch = ManuallyDrop::new(unsafe { Arc::from_raw(watch) });
    let _ = Arc::into_raw(Arc::clone(&watch));
}

/// The thread that runs here ends.
///
/// # Safety
/// As for `ntrace_watch_hold`.
#[no_mangle]
unsafe extern "C" fn ntrace_thread_ended(watch: &Watch) {
    watch.forget_this();
    let thread = watch.channel.thread();
    watch.channel.note(Note { time: time(), debuggee: watch.debuggee, thread, status: None });
}

/// The process that runs here has ended.
///
/// # Safety
/// As for `ntrace_watch_hold`.
#[no_mangle]
unsafe extern "C" fn ntrace_ended(watch: &Watch, status: c_int) {
    watch.end();
    let status = Some(status as u32);
    watch.channel.note(Note { time: time(), debuggee: watch.debuggee, thread: 0, status });
}

/// A thread was made that has this memory. Says whether it is to come by before it runs.
///
/// # Safety
/// Called in a read-side section of RCU, before the thread runs.
#[no_mangle]
unsafe extern "C" fn ntrace_born(mm: *mut c_void, thread: *mut Task) -> c_int {
    // SAFETY: the caller's promise.
    let Some(space) = (unsafe { space_table::find(mm) }) else { return 0 };
    let mut called = 0;
    for watch in space.watches().iter() {
        // SAFETY: the thread is there, and the namespace is the opener's, which has it.
        let number = unsafe { ffi::ntrace_thread_number(thread, watch.channel.opener.namespace()) };
        match watch.call(number as u64, Why::Born) {
            Ok(()) => called = 1,
            Err(_) => watch.channel.miss(),
        }
    }
    called
}

/// A process was forked. Says whether it is to come by before it runs, or that there is no memory for that.
///
/// # Safety
/// Called in a read-side section of RCU, before the new process runs.
#[no_mangle]
unsafe extern "C" fn ntrace_forked(parent: *mut c_void, child: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { space_table::fork(parent, child) } {
        Ok(copied) => c_int::from(copied),
        Err(error) => error.to_errno(),
    }
}

/// A thread is on its way to user mode. Where it is a process' first way it is a debuggee from now on, or has the breakpoints
/// taken out that it was forked with.
///
/// # Safety
/// Called by a thread with its registers.
#[no_mangle]
unsafe extern "C" fn ntrace_begun(registers: *mut Registers, mm: *mut c_void) {
    // SAFETY: nothing sleeps in it.
    let read = unsafe { Read::new() };
    // SAFETY: a read-side section began.
    let space = unsafe { space_table::find(mm) }.filter(|space| space.take_forked());
    // SAFETY: it is the first time, though a session may trace the process by now: the space remembers that it was taken.
    let user = space.map(|space| unsafe { User::of_forked(space) });
    drop(read);
    // SAFETY: the caller's promise.
    let registers = unsafe { &mut *registers };
    if let Some(user) = user {
        forked(user, registers);
    }
    executed(registers);
}

/// The process that runs here was forked and is about to run.
fn forked(user: User, registers: &mut Registers) {
    hit::leave_slots(user.space(), registers);
    let heirs = user.space().take_heirs();
    let mut children = KVec::new();
    // Without memory for it none is traced.
    let is_room = children.reserve(heirs.len(), GFP_KERNEL_ACCOUNT).is_ok();
    for heir in heirs.iter().filter(|heir| is_room && heir.options & option::CHILDREN != 0) {
        let child = adopt(heir, true);
        let _ = child.map(|(child, _)| children.push((heir.owner, child), GFP_KERNEL_ACCOUNT));
    }
    user.space().disown();
    teardown::end(&Debuggee::of_nobody(user, false), Threads::This(registers));
    let child_of = |heir: &Watch| children.iter().find(|(owner, _)| *owner == heir.owner).map(|(_, child)| child);
    for heir in &heirs {
        tell_forked(heir, child_of(heir).map_or(0, |child| child.debuggee));
    }
    for (_, child) in children.iter().filter(|(_, child)| child.options & option::HOLD_NEW != 0) {
        Held::hold(child, Reason::Begun, registers);
    }
}

/// Tells that the process that runs here was made by a debuggee. What cannot be told is counted.
fn tell_forked(parent: &Watch, child: u64) {
    let (channel, debuggee) = (&parent.channel, parent.debuggee);
    let _ = channel.tell(&Event::Forked { time: time(), debuggee, process: channel.thread(), child });
}

/// The thread that runs here has the memory of a debuggee, and is about to run for the first time.
pub(crate) fn begun(watch: &Watch, registers: &mut Registers) {
    // SAFETY: it looks at the current thread.
    if unsafe { ffi::ntrace_thread_leads() } {
        // SAFETY: the place is this watch's.
        unsafe { ffi::ntrace_life_join(watch.life()) };
        tell_forked(watch, watch.debuggee);
    } else {
        let (channel, debuggee) = (&watch.channel, watch.debuggee);
        let _ = channel.tell(&Event::ThreadStarted { time: time(), debuggee, thread: channel.thread() });
    }
    if watch.options & option::HOLD_NEW != 0 {
        Held::hold(watch, Reason::Begun, registers);
    }
}

/// Where the process that runs here executes another program it is followed.
fn executed(registers: &mut Registers) {
    loop {
        let mut is_guest = false;
        // SAFETY: the place is this function's.
        let Some(before) = ptr::NonNull::new(unsafe { ffi::ntrace_life_due(&mut is_guest) }) else { return };
        // SAFETY: the callee took a reference for us.
        let before: Arc<Watch> = unsafe { Arc::from_raw(before.as_ptr().cast_const().cast()) };
        let follows = !is_guest || before.options & option::CHILDREN != 0;
        let now = if follows { adopt(&before, is_guest) } else { None };
        let debuggee = now.as_ref().map_or(0, |(now, _)| now.debuggee);
        if is_guest {
            tell_forked(&before, debuggee);
        }
        match now {
            Some((now, before)) => {
                let _ = now.channel.tell(&Event::Executed { time: time(), debuggee, before });
                if now.options & option::HOLD_EXECUTED != 0 {
                    Held::hold(&now, Reason::Executed, registers);
                }
            }
            None if !is_guest => {
                before.end();
                let ended = Event::Ended { time: time(), debuggee: before.debuggee, status: u64::MAX };
                let _ = before.channel.tell(&ended);
            }
            None => {}
        }
    }
}

/// A debuggee that is to be made.
struct Birth<'a> {
    heir: &'a Arc<Watch>,
    process: u64,
    is_new: bool,
    /// The number of what is kept of the program before.
    before: u64,
    made: Option<Arc<Watch>>,
}

/// Has a session trace the process that runs here as it traces another one, or traced it before; not where its opener may not.
fn adopt(heir: &Arc<Watch>, is_new: bool) -> Option<(Arc<Watch>, u64)> {
    let is_kept = !is_new && heir.options & option::KEEP != 0;
    let before = if is_kept { heir.channel.next_number() } else { 0 };
    let mut birth = Birth { heir, process: heir.channel.thread(), is_new, before, made: None };
    // A process may trace itself always: another thread has to ask.
    // SAFETY: the callee calls `bear` with this before it returns.
    unsafe { ffi::ntrace_memory_work(bear, (&raw mut birth).cast()) };
    birth.made.map(|made| (made, before))
}

/// # Safety
/// `birth` is one.
unsafe extern "C" fn bear(birth: *mut c_void) {
    // SAFETY: the caller's promise.
    let birth = unsafe { &mut *birth.cast::<Birth<'_>>() };
    let heir = birth.heir;
    let number = if birth.is_new { None } else { Some(heir.debuggee) };
    if let Ok(debuggee) = Debuggee::new(number, &heir.channel, birth.process, heir.options) {
        if teardown::inherit(&debuggee, heir.owner).is_ok() {
            birth.made = debuggee.watch();
            let adoptee = Adoptee { debuggee, is_new: birth.is_new, before: birth.before };
            if !heir.channel.adopt(adoptee) {
                birth.made = None;
            }
        }
    }
}
