// SPDX-License-Identifier: GPL-2.0

//! The lifecycle of traced processes: new threads, fork, exec and exit.

use core::mem::ManuallyDrop;
use core::ptr;

use fastpath::Registers;
use kernel::ffi::{c_int, c_void};
use kernel::prelude::*;
use kernel::sync::Arc;
use wire::commands::option;
use wire::events::Event;

use crate::breakpoints::slot;
use crate::breakpoints::table::Breakpoints;
use crate::breakpoints::teardown::{self, Threads};
use crate::channel::channel::{time, Note};
use crate::ffi::{self, Mm, Task};
use crate::follow::newcomer;
use crate::mm::atomic::{Atomic, Section};
use crate::mm::remote::Remote;
use crate::process::adoption::{self, Terms};
use crate::process::attachment::{Attachment, Cause};
use crate::process::traced_table::{self, TracedRef};
use crate::thread::hold::{hold, Reason};

/// Takes a reference to an attachment.
///
/// # Safety
/// `attachment` is an attachment that lifecycle.c knows.
#[no_mangle]
unsafe extern "C" fn ntrace_attachment_get(attachment: *const Attachment) {
    // SAFETY: the pointer came from an `Arc`, whose debuggee removes it from lifecycle.c before it gives its reference up.
    // `ManuallyDrop` leaves that reference alone.
    let attachment = ManuallyDrop::new(unsafe { Arc::from_raw(attachment) });
    let _ = Arc::into_raw(Arc::clone(&attachment));
}

/// The current thread ends.
///
/// # Safety
/// `attachment` is an attachment that lifecycle.c knows.
#[no_mangle]
unsafe extern "C" fn ntrace_thread_ended(attachment: &Attachment) {
    attachment.withdraw_this();
    let (channel, debuggee) = (attachment.channel(), attachment.debuggee);
    channel.note(Note { time: time(), debuggee, thread: channel.opener.this_thread(), status: None });
}

/// The current process has ended.
///
/// # Safety
/// `attachment` is an attachment that lifecycle.c knows.
#[no_mangle]
unsafe extern "C" fn ntrace_process_ended(attachment: &Attachment, status: c_int) {
    attachment.end();
    let status = Some(status as u32);
    attachment.channel().note(Note { time: time(), debuggee: attachment.debuggee, thread: 0, status });
    attachment.at_end.queue();
}

/// A thread with this memory was made. Returns whether it must be notified before it runs.
///
/// # Safety
/// Called in a read-side section of RCU, before the thread runs.
#[no_mangle]
unsafe extern "C" fn ntrace_thread_created(mm: *const Mm, thread: *mut Task) -> c_int {
    // SAFETY: the caller's read-side section lasts until this function returns.
    let section = unsafe { Section::of_caller() };
    let Some(traced) = traced_table::find(mm, &section) else { return 0 };
    let mut requested = 0;
    for attachment in traced.attachments().iter() {
        if attachment.choice.has_syscalls() {
            // SAFETY: the thread has not run, so it has not ended.
            unsafe { ffi::ntrace_syscalls_of(thread) };
        }
        // SAFETY: the thread has not run, so it has not ended.
        let number = unsafe { attachment.channel().opener.number_of(thread) };
        match attachment.request(number, Cause::New) {
            Ok(()) => requested = 1,
            Err(_) => attachment.channel().miss(),
        }
    }
    requested
}

/// A process was forked. Returns whether it must be notified before it runs, or an error number if there is no memory for that.
///
/// # Safety
/// Called in a read-side section of RCU, before the new process runs. It has its memory.
#[no_mangle]
unsafe extern "C" fn ntrace_forked(parent: *const Mm, child: &Mm) -> c_int {
    // SAFETY: the caller is in a read-side section of RCU, and the child has not run.
    match unsafe { traced_table::fork(parent, child) } {
        Ok(copied) => c_int::from(copied),
        Err(error) => error.to_errno(),
    }
}

/// A thread with TIF_UPROBE returns to user mode. The first return after a fork or an exec makes debuggees of the process, or removes
/// the breakpoints that it was forked with.
///
/// # Safety
/// `registers` are those of the current thread, and `mm` is its memory.
#[no_mangle]
unsafe extern "C" fn ntrace_first_return(registers: *mut Registers, mm: *const Mm) {
    // SAFETY: nothing sleeps until `atomic` is dropped.
    let atomic = unsafe { Atomic::new() };
    let traced = traced_table::find(mm, atomic.section()).filter(|traced| traced.take_forked());
    // SAFETY: `take_forked` has returned true.
    let traced = traced.map(|traced| unsafe { TracedRef::of_forked(traced) });
    drop(atomic);
    // SAFETY: the caller vouches for the registers. Their words are cells, and no other thread uses them.
    let registers = unsafe { &*registers };
    if let Some(traced) = traced {
        forked(traced, registers);
    }
    executed(registers);
    newcomer::arrive(registers);
}

/// The current process was forked and is about to run for the first time.
fn forked(copy: TracedRef, registers: &Registers) {
    let (traced, space) = (copy.traced(), copy.space());
    slot::leave_all(space, registers);
    let heirs = traced.take_heirs();
    let mut children = KVec::new();
    // Without memory for the list, no session traces the child.
    let is_room = children.reserve(heirs.len(), GFP_KERNEL_ACCOUNT).is_ok();
    // The end of a debuggee is told even if the channel is full. Where nobody reads, there are no more debuggees to end.
    for heir in heirs.iter().filter(|heir| is_room && heir.options & option::CHILDREN != 0) {
        heir.channel().wait_for_room(|| heir.is_over());
        if heir.channel().is_full() {
            continue;
        }
        let child = adopt(heir, true);
        if let Some((child, _)) = &child {
            if child.watches.copy(&heir.watches) {
                space.storages.watch();
            }
        }
        let _ = child.map(|(child, _)| children.push((heir.id, child), GFP_KERNEL_ACCOUNT));
    }
    traced.disown();
    teardown::end(&Breakpoints::new(space, Remote::new(space.mm(), 0), 0), Threads::This(registers));
    drop(copy);
    let child_of = |heir: &Attachment| children.iter().find(|(id, _)| *id == heir.id).map(|(_, child)| child);
    for heir in &heirs {
        tell_forked(heir, child_of(heir).map_or(0, |child| child.debuggee));
    }
    for (_, child) in children.iter().filter(|(_, child)| child.options & option::HOLD_NEW != 0) {
        hold(child, Reason::Begun, registers);
    }
}

/// Removes the breakpoints of processes that were forked with some and have not run, because a thread that waits for memory before it first
/// runs may do so for long. No session is left, and no process with breakpoints has run since.
pub(crate) fn end_copies() {
    // SAFETY: the function calls `end_copies_here` once, which takes no data.
    unsafe { ffi::ntrace_work_run(end_copies_here, ptr::null_mut()) };
}

/// # Safety
/// There is nothing to vouch for. It has the type of a kernel thread's function, and such a thread is not killed.
unsafe extern "C" fn end_copies_here(_: *mut c_void) {
    while let Some(copy) = TracedRef::take_copy() {
        let (traced, space) = (copy.traced(), copy.space());
        let heirs = traced.take_heirs();
        let _paying = heirs.first().map(|heir| heir.channel().opener.pay());
        traced.disown();
        teardown::end(&Breakpoints::new(space, Remote::new(space.mm(), 0), 0), Threads::All);
    }
}

/// Tells that a debuggee has made the current process.
fn tell_forked(parent: &Attachment, child: u64) {
    let process = parent.channel().opener.this_thread();
    parent.tell(&Event::Forked { time: time(), debuggee: parent.debuggee, process, child });
}

/// The current thread has the memory of a debuggee and is about to run for the first time.
pub(crate) fn begun(attachment: &Attachment, registers: &Registers) {
    if !attachment.watches.begin_this() {
        attachment.channel().miss();
    }
    // SAFETY: the function looks at the current thread.
    if unsafe { ffi::ntrace_thread_is_leader() } {
        // SAFETY: lifecycle.c has written to `life` alone, which lives as long as the attachment.
        unsafe { ffi::ntrace_life_add_guest(attachment.life()) };
        tell_forked(attachment, attachment.debuggee);
    } else {
        let thread = attachment.channel().opener.this_thread();
        attachment.tell(&Event::ThreadStarted { time: time(), debuggee: attachment.debuggee, thread });
    }
    if attachment.options & option::HOLD_NEW != 0 {
        hold(attachment, Reason::Begun, registers);
    }
}

/// Follows the current process if it executes another program than the one that sessions trace.
fn executed(registers: &Registers) {
    loop {
        let mut is_guest = false;
        // SAFETY: the function writes to `is_guest`.
        let Some(before) = ptr::NonNull::new(unsafe { ffi::ntrace_life_take_executed(&mut is_guest) }) else { return };
        // SAFETY: the function has called `ntrace_attachment_get` for the pointer that it returns; this `Arc` owns that reference.
        let before: Arc<Attachment> = unsafe { Arc::from_raw(before.as_ptr().cast_const().cast()) };
        if is_guest {
            before.watches.end_this();
        } else {
            before.watches.clear();
        }
        let follows = !is_guest || before.options & option::CHILDREN != 0;
        let now = if follows { adopt(&before, is_guest) } else { None };
        let debuggee = now.as_ref().map_or(0, |(now, _)| now.debuggee);
        if is_guest {
            tell_forked(&before, debuggee);
        }
        if !is_guest && before.options & option::KEEP != 0 {
            before.end();
            before.at_end.queue();
        }
        match now {
            Some((now, before)) => {
                now.tell(&Event::Executed { time: time(), debuggee, before });
                if now.options & option::HOLD_EXECUTED != 0 {
                    hold(&now, Reason::Executed, registers);
                }
            }
            None if !is_guest => {
                before.end();
                before.tell(&Event::Ended { time: time(), debuggee: before.debuggee, status: u64::MAX });
            }
            None => {}
        }
    }
}

/// Attaches a session to the current process, in the way in which the session traces its parent or traced it before exec. Returns
/// the attachment and the new number of the debuggee before. Fails where the opener may not trace the process.
fn adopt(heir: &Arc<Attachment>, is_new: bool) -> Option<(Arc<Attachment>, u64)> {
    let registry = &heir.registry;
    let is_kept = !is_new && heir.options & option::KEEP != 0;
    let before = if is_kept { registry.next_number() } else { 0 };
    let number = if is_new { None } else { Some(heir.debuggee) };
    let terms = Terms { registry, options: heir.options, number, before, heir: Some(heir) };
    adoption::adopt(&terms).ok().map(|made| (made, before))
}
