// SPDX-License-Identifier: GPL-2.0

//! Accesses of watched memory, as watch.c notes them.

use fastpath::Registers;
use wire::events::Event;

use crate::breakpoints::slot::leave_all;
use crate::channel::channel::time;
use crate::ffi::Mm;
use crate::process::traced_table::TracedRef;
use crate::thread::hold::{hold, Reason};

/// The current thread returns to user mode, and may have accessed watched memory.
///
/// # Safety
/// `registers` are those of the current thread, and `mm` is its memory.
#[no_mangle]
unsafe extern "C" fn ntrace_watched(registers: *mut Registers, mm: *const Mm) {
    // SAFETY: the caller vouches for the registers. Their words are cells, and no other thread uses them.
    let registers = unsafe { &*registers };
    let mut id = 0;
    while let Some(found) = TracedRef::find(mm) {
        let Some(attachment) = found.traced().attachment_behind(id) else { return };
        id = attachment.id;
        let mut behind = 0;
        while let Some((number, address)) = attachment.watches.take(behind) {
            behind = number;
            let (time, debuggee, thread) = (time(), attachment.debuggee, attachment.channel().opener.this_thread());
            attachment.tell(&Event::Watched { time, debuggee, thread, watch: number, address });
            leave_all(found.space(), registers);
            hold(&attachment, Reason::Watched, registers);
        }
    }
}
