// SPDX-License-Identifier: GPL-2.0

//! A process that has executed a program and has not run since.

use fastpath::Registers;
use kernel::sync::Arc;
use wire::commands::option;
use wire::events::Event;
use wire::{Failure, Status};

use crate::channel::channel::time;
use crate::ffi;
use crate::follow::rule::{self, Follow, Program};
use crate::mm::atomic::Atomic;
use crate::process::adoption::{adopt, is_permitted, Terms};
use crate::process::traced_table;
use crate::thread::hold::{hold, Reason};

/// The current thread is about to run for the first time since it executed a program, or returns to user mode otherwise. In the first case
/// the sessions trace it whose rules name it.
pub(crate) fn arrive(registers: &Registers) {
    // SAFETY: the function looks at the current thread.
    if !unsafe { ffi::ntrace_follow_take_newcomer() } {
        return;
    }
    let (mut program, mut id) = (Program::UNKNOWN, 0);
    while let Some(follow) = rule::next(&mut id) {
        if !is_known(&follow) && follow.names_this(&mut program) {
            follow_this(&follow, registers);
        }
    }
}

/// Whether the rule's session traces the current process already, or has ended.
fn is_known(follow: &Follow) -> bool {
    // SAFETY: nothing sleeps until `atomic` is dropped.
    let atomic = unsafe { Atomic::new() };
    // SAFETY: the function looks at the current thread.
    let traced = traced_table::find(unsafe { ffi::ntrace_memory_of_this() }, atomic.section());
    let is_traced = traced.is_some_and(|traced| {
        traced.attachments().iter().any(|attachment| Arc::ptr_eq(&attachment.registry, &follow.registry))
    });
    is_traced || follow.is_over()
}

/// The session of a rule begins to trace the current process, if it may.
fn follow_this(follow: &Follow, registers: &Registers) {
    let Follow { id, registry, options, .. } = follow;
    let channel = &registry.channel;
    let process = channel.opener.this_thread();
    if channel.is_full() {
        // Nobody whom the opener may not trace waits for it.
        if !is_permitted(registry) {
            return;
        }
        channel.wait_for_room(|| follow.is_over());
        if channel.is_full() {
            channel.miss();
            return;
        }
    }
    let followed = |debuggee| Event::Followed { time: time(), debuggee, process, follow: *id };
    match adopt(&Terms { registry, options: *options, number: None, before: 0, heir: None }) {
        Ok(attachment) => {
            attachment.tell(&followed(attachment.debuggee));
            if *options & option::HOLD_EXECUTED != 0 {
                hold(&attachment, Reason::Executed, registers);
            }
        }
        // The opener may not trace it, or it was killed.
        Err(Failure { status: Status::Denied | Status::NoProcess, .. }) => {}
        Err(_) => channel.tell_or_wait(&followed(0), false, || follow.is_over()),
    }
}
