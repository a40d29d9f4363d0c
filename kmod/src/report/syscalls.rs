// SPDX-License-Identifier: GPL-2.0

//! System calls of debuggees, as syscalls.c tells of them.

use core::mem::size_of;

use fastpath::{find, layout, Modes, Registers, Storage, BUDGET};
use kernel::ffi::c_int;
use wire::events::Event;

use crate::breakpoints::slot::{here, is_step, leave, leave_all};
use crate::channel::channel::time;
use crate::ffi::Mm;
use crate::mm::atomic::Atomic;
use crate::mm::interrupted_hits::Known;
use crate::process::traced_table::{self, TracedRef};
use crate::thread::hold::{hold, Reason};
use crate::vec::bytes;

/// `struct ntrace_syscall` (shim.h).
#[repr(C)]
struct Call {
    number: u64,
    machine: u64,
    /// What the call has returned.
    result: u64,
    /// The signal whose handler runs before the call is restarted, or 0.
    handled: u64,
    arguments: [u64; 6],
    /// 1 at its beginning, else 0.
    entering: u64,
}

const _: () = assert!(size_of::<Call>() == layout::NTRACE_SYSCALL_WORDS as usize * 8);

/// Whether a session wants to know of system calls of a process with this memory.
///
/// # Safety
/// There is nothing to vouch for: the address alone is looked up. It has the type that C calls.
#[no_mangle]
unsafe extern "C" fn ntrace_wants_syscalls(mm: *const Mm) -> bool {
    // SAFETY: nothing sleeps until the end of the function.
    let atomic = unsafe { Atomic::new() };
    let traced = traced_table::find(mm, atomic.section());
    traced.is_some_and(|traced| traced.attachments().iter().any(|attachment| attachment.choice.has_syscalls()))
}

/// The current thread begins a system call. Where its instruction was executed in a slot, the thread leaves the slot, but not in a step.
///
/// # Safety
/// `registers` are those of the current thread, and `mm` is its memory.
#[no_mangle]
unsafe extern "C" fn ntrace_syscall_begins(registers: *mut Registers, mm: *const Mm) {
    // SAFETY: the caller vouches for the registers. Their words are cells, and no other thread uses them.
    let registers = unsafe { &*registers };
    // SAFETY: nothing sleeps until `atomic` is dropped.
    let atomic = unsafe { Atomic::new() };
    if let Some(traced) = traced_table::find(mm, atomic.section()) {
        for storage in traced.space.storages.iter() {
            let arena = here(&storage);
            if !is_step(registers.pc(), &arena) {
                leave(registers, &arena, Modes::of_this_machine(), None);
            }
        }
    }
    drop(atomic);
}

/// The kernel makes a system call of the current thread once more, at once or after the handler of a signal. A breakpoint at its instruction does
/// not count that. `registers` are those that the thread has there.
///
/// # Safety
/// Nobody else uses `registers`, and `mm` is the memory of the current thread.
#[no_mangle]
unsafe extern "C" fn ntrace_syscall_restarts(registers: *mut Registers, mm: *const Mm, when: c_int) {
    // SAFETY: the caller vouches for the registers.
    let registers = unsafe { &*registers };
    // SAFETY: nothing sleeps until `atomic` is dropped.
    let atomic = unsafe { Atomic::new() };
    if let Some(traced) = traced_table::find(mm, atomic.section()) {
        let (space, mut budget) = (&traced.space, BUDGET);
        let mut is_at = |storage: &Storage| matches!(find(storage, registers.pc(), 0, &mut budget), Ok(Some(_)));
        if space.storages.iter().any(|storage| is_at(&storage)) {
            let is_later = when == layout::NTRACE_RESTART_BEHIND_HANDLER as c_int;
            space.interrupted.note(registers, if is_later { Known::Restarts } else { Known::Counted });
        }
    }
    drop(atomic);
}

/// The current thread may have returned from the handler of a signal.
///
/// # Safety
/// `registers` are those of the current thread, and `mm` is its memory.
#[no_mangle]
unsafe extern "C" fn ntrace_syscall_is_back(registers: *mut Registers, mm: *const Mm) {
    // SAFETY: the caller vouches for the registers. Their words are cells, and no other thread uses them.
    let registers = unsafe { &*registers };
    // SAFETY: nothing sleeps until `atomic` is dropped.
    let atomic = unsafe { Atomic::new() };
    if let Some(traced) = traced_table::find(mm, atomic.section()) {
        traced.space.interrupted.come_back(registers);
    }
    drop(atomic);
}

/// The current thread begins a system call, or has ended one. Each session that wants to know of the call is told, in the order of their
/// attachments.
///
/// # Safety
/// `registers` are those of the current thread, `mm` is its memory, and `call` can be read.
#[no_mangle]
unsafe extern "C" fn ntrace_syscall(registers: *mut Registers, mm: *const Mm, call: *const Call) {
    // SAFETY: the caller vouches for all three. The registers' words are cells, and no other thread uses them.
    let (registers, call) = unsafe { (&*registers, &*call) };
    let mut id = 0;
    while let Some(found) = TracedRef::find(mm) {
        let Some(attachment) = found.traced().attachment_behind(id) else { return };
        id = attachment.id;
        if !attachment.choice.has_syscall(call.number) {
            continue;
        }
        let (time, debuggee, thread) = (time(), attachment.debuggee, attachment.channel().opener.this_thread());
        let Call { number, machine, result, handled, .. } = *call;
        let arguments = bytes(&call.arguments);
        let (event, reason) = if call.entering != 0 {
            (Event::SyscallEntered { time, debuggee, thread, number, machine, arguments }, Reason::Entered)
        } else {
            let signal = handled;
            (
                Event::SyscallReturned { time, debuggee, thread, number, machine, result, signal, arguments },
                Reason::Returned,
            )
        };
        if attachment.choice.holds() {
            attachment.tell(&event);
            leave_all(found.space(), registers);
            hold(&attachment, reason, registers);
        } else {
            attachment.tell_one_of_many(&event);
        }
    }
}
