// SPDX-License-Identifier: GPL-2.0

//! Signals that debuggees are about to get, as signals.c finds them.

use fastpath::{layout, Registers};
use kernel::ffi::c_int;
use wire::events::Event;

use crate::breakpoints::slot::leave_all;
use crate::channel::channel::time;
use crate::ffi::{self, Mm};
use crate::mm::atomic::Atomic;
use crate::process::traced_table::{self, TracedRef};
use crate::thread::hold::{hold, Reason};

/// Whether a session wants to know of signals of a process with this memory.
///
/// # Safety
/// The memory has a user.
#[no_mangle]
unsafe extern "C" fn ntrace_wants_signals(mm: *const Mm) -> bool {
    // SAFETY: nothing sleeps until the end of the function.
    let atomic = unsafe { Atomic::new() };
    let traced = traced_table::find(mm, atomic.section());
    traced.is_some_and(|traced| traced.attachments().iter().any(|attachment| attachment.choice.has_signals()))
}

/// The current thread is about to get a signal. Sessions are told of the one that comes next, and of others that come before it meanwhile.
/// The signal stays where it is: the kernel delivers it, unless another thread takes it before.
///
/// # Safety
/// `registers` are those of the current thread, and `mm` is its memory.
#[no_mangle]
unsafe extern "C" fn ntrace_signals(registers: *mut Registers, mm: *const Mm) {
    // SAFETY: the caller vouches for the registers. Their words are cells, and no other thread uses them.
    let registers = unsafe { &*registers };
    let mut told = 0;
    loop {
        let mut info = [0; layout::NTRACE_SIGINFO as usize];
        // SAFETY: the function writes to both, and to `info` no more bytes than it has.
        let number = unsafe { ffi::ntrace_signal_next(&mut told, info.as_mut_ptr().cast()) };
        if number == 0 {
            return;
        }
        if let Some(chosen) = tell(registers, mm, number, &info) {
            // SAFETY: `number` is the number of a signal, and so is `chosen` (`Held::set_signal`), unless it is 0.
            unsafe { ffi::ntrace_signal_drop(number) };
            if chosen > 0 {
                told |= 1 << (chosen - 1);
                // SAFETY: as above.
                unsafe { ffi::ntrace_signal_send(chosen) };
            }
        }
    }
}

/// Tells of a signal. Returns another one that a session has chosen instead, 0 for none.
fn tell(registers: &Registers, mm: *const Mm, number: c_int, info: &[u8]) -> Option<c_int> {
    let (mut id, mut chosen) = (0, None);
    while let Some(found) = TracedRef::find(mm) {
        let Some(attachment) = found.traced().attachment_behind(id) else { break };
        id = attachment.id;
        if !attachment.choice.has_signals() {
            continue;
        }
        let (time, debuggee, thread) = (time(), attachment.debuggee, attachment.channel().opener.this_thread());
        let event = Event::Signalled { time, debuggee, thread, number: number as u64, info };
        if !attachment.choice.holds() {
            attachment.tell_one_of_many(&event);
        } else {
            attachment.tell(&event);
            leave_all(found.space(), registers);
            chosen = hold(&attachment, Reason::Signalled, registers).filter(|&chosen| chosen != number).or(chosen);
        }
    }
    chosen
}
