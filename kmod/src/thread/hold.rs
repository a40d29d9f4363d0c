// SPDX-License-Identifier: GPL-2.0

//! How the current thread is held, and how it carries out a step.

use fastpath::{mark, run, Hit, Modes, Registers};
use kernel::ffi::c_int;
use kernel::prelude::*;
use ubp::core::{way, Way};
use wire::events::Event;

use crate::breakpoints::slot::here;
use crate::channel::channel::{time, Channel};
use crate::ffi;
use crate::mm::atomic::{bring_in, MOST_FAULTS};
use crate::process::attachment::{Attachment, Cause};
use crate::thread::held::{Held, Next};
use crate::thread::step::Step;

/// Why a thread is held: the reason in the event `held`.
#[derive(Clone, Copy)]
pub(crate) enum Reason {
    Breakpoint = 1,
    Stepped = 2,
    Asked = 3,
    Executed = 4,
    Begun = 5,
    Entered = 6,
    Returned = 7,
    Signalled = 8,
    Watched = 9,
}

impl Reason {
    /// Whether the thread is inside the kernel's work on a system call or a signal.
    fn is_inside(self) -> bool {
        matches!(self, Reason::Entered | Reason::Returned | Reason::Signalled)
    }
}

/// Holds the current thread until it is resumed or killed. Returns the signal that the session has chosen for a thread that is held at one, if it
/// has; elsewhere that signal is sent here.
pub(crate) fn hold(attachment: &Attachment, mut reason: Reason, registers: &Registers) -> Option<c_int> {
    loop {
        let (next, signal) = hold_once(attachment, reason, registers);
        if let (Some(signal @ 1..), false) = (signal, matches!(reason, Reason::Signalled)) {
            // SAFETY: `Held::set_signal` takes numbers of signals alone.
            unsafe { ffi::ntrace_signal_send(signal) };
        }
        match next {
            Next::Run => {}
            Next::Step(step) if begin(&step, attachment, registers) => {
                reason = Reason::Stepped;
                continue;
            }
            Next::Step(_) => {}
            Next::StepOut => {
                let thread = attachment.channel().opener.this_thread();
                // Without memory for the request, the step does not end.
                let _ = attachment.request(thread, Cause::Hold);
                // SAFETY: the function sets a flag of the current thread.
                unsafe { ffi::ntrace_thread_notify_this() };
            }
        }
        return signal;
    }
}

/// Holds the current thread once. Returns what it does next, and the signal that the session has chosen.
#[inline(never)]
fn hold_once(attachment: &Attachment, reason: Reason, registers: &Registers) -> (Next, Option<c_int>) {
    let (channel, registry) = (attachment.channel(), &attachment.registry);
    let thread = channel.opener.this_thread();
    // The thread's step is over, so no signal can interrupt it.
    attachment.withdraw(thread, Cause::Signal);
    let held = Held::this(thread, attachment.id, &registry.channel, reason.is_inside());
    let Ok(held) = held else { return (Next::Run, None) };
    let (debuggee, address) = (attachment.debuggee, registers.pc());
    let event = Event::Held { time: time(), debuggee, thread, reason: reason as u64, address };
    if registry.hold(&held) && !attachment.is_over() && is_told(&held, channel, &event) {
        held.wait();
    }
    registry.unhold(&held);
    held.finish(registers)
}

/// Tells of the current thread, which is about to be held, as soon as there is room. Returns false where the thread is resumed or killed before,
/// or where there is no memory.
fn is_told(held: &Held, channel: &Channel, event: &Event<'_>) -> bool {
    loop {
        match channel.tell(event, true, false) {
            // SAFETY: the function looks at the current thread.
            Err(error) if error == EAGAIN && held.is_held() && !unsafe { ffi::ntrace_is_killed() } => {
                held.wait_for_room()
            }
            told => return told.is_ok(),
        }
    }
}

/// Begins a step of the current thread. Returns whether the step is done. Otherwise it ends at the breakpoint instruction behind the
/// slot, or with a signal.
fn begin(Step(entered): &Step, attachment: &Attachment, registers: &Registers) -> bool {
    let slot = here(&entered.storage).slot(entered.number);
    attachment.request_this(slot);
    let is_emulated = entered.entry.mark & mark::SLOT == 0;
    // A signal that is pending interrupts a step in a slot by itself. An emulated step has to wait for it.
    // SAFETY: the function looks at the current thread.
    if is_emulated && unsafe { ffi::ntrace_thread_is_signalled() } {
        // SAFETY: the function sets a flag of the current thread.
        unsafe { ffi::ntrace_thread_notify_this() };
        return false;
    }
    let way = is_emulated.then(|| way(&entered.entry, registers.mode(Modes::of_this_machine())));
    if let Some(Ok(Way::Emulate(emulate))) = way {
        for _ in 0..MOST_FAULTS {
            match run(registers, &emulate, &entered.entry, slot, 0) {
                Hit::Absent { address, write, .. } if bring_in(address, write) => {}
                Hit::Passed | Hit::SingleStep => return registers.pc() != slot,
                _ => break,
            }
        }
    }
    registers.set_pc(slot);
    false
}
