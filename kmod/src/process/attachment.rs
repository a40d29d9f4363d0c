// SPDX-License-Identifier: GPL-2.0

//! A session's interest in a process, as the process' threads find it.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use kernel::alloc::KVec;
use kernel::new_spinlock;
use kernel::prelude::*;
use kernel::sync::{Arc, SpinLock};

use crate::channel::channel::Channel;
use crate::ffi::{self, Life};
use crate::vec;
use stepping::SLOT_SIZE;

/// A session's interest in a process.
#[pin_data]
pub(crate) struct Watch {
    /// What its breakpoints are told by.
    pub(crate) owner: u64,
    /// What the session calls the process.
    pub(crate) debuggee: u64,
    /// Bits of `wire::commands::option`.
    pub(crate) options: u64,
    pub(crate) channel: Arc<Channel>,
    /// What lives.c knows of the process.
    life: AtomicPtr<Life>,
    /// The process has ended, or may be traced no longer.
    over: AtomicBool,
    #[pin]
    calls: SpinLock<KVec<Call>>,
}

/// A thread that is to come by, by its number.
struct Call {
    thread: u64,
    why: Why,
    /// Of a step the slot, or where it would be.
    slot: u64,
}

/// Why a thread is to come by.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Why {
    /// It is to be held.
    Asked,
    /// It has not run yet.
    Born,
    /// It is to be held when a signal has taken it out of its step, or came before it.
    Signalled,
}

impl Watch {
    /// One that calls no thread.
    pub(crate) fn new(owner: u64, debuggee: u64, options: u64, channel: Arc<Channel>) -> Result<Arc<Watch>> {
        Arc::pin_init(
            pin_init!(Watch {
                owner,
                debuggee,
                options,
                channel,
                life: AtomicPtr::new(ptr::null_mut()),
                over: AtomicBool::new(false),
                calls <- new_spinlock!(KVec::new(), "ntrace calls"),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Where lives.c notes what it knows of the process.
    pub(crate) fn life(&self) -> *mut *mut Life {
        self.life.as_ptr()
    }

    /// The process is traced no longer.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Whether it is not.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Wants a thread to come by. Waits for nothing.
    pub(crate) fn call(&self, thread: u64, why: Why) -> Result {
        self.add(Call { thread, why, slot: 0 })
    }

    fn add(&self, new: Call) -> Result {
        let mut calls = self.calls.lock();
        if !calls.iter().any(|call| call.thread == new.thread && call.why == new.why) {
            calls.push(new, GFP_ATOMIC)?;
        }
        Ok(())
    }

    /// Wants the thread that runs here held where a signal is delivered before it has gone through a slot. It is called here as locks
    /// may not be taken where signals are delivered.
    pub(crate) fn call_this(&self, slot: u64) {
        // Without memory for it, it runs.
        let _ = self.add(Call { thread: self.channel.thread(), why: Why::Signalled, slot });
    }

    /// Whether the thread that runs here, at this address, was called, and why; asked once for each call.
    pub(crate) fn called_this(&self, pc: u64) -> Option<Why> {
        let thread = self.channel.thread();
        let is_due = |call: &Call| {
            let is_in_step = call.why == Why::Signalled && pc.wrapping_sub(call.slot) < SLOT_SIZE as u64;
            call.thread == thread && !is_in_step
        };
        // SAFETY: it looks at the current thread.
        let is_signalled = unsafe { ffi::ntrace_thread_is_signalled() };
        let mut calls = self.calls.lock();
        let place = calls.iter().position(is_due)?;
        let why = calls.get(place)?.why;
        if is_signalled && why != Why::Born {
            // SAFETY: the same.
            unsafe { ffi::ntrace_thread_call_this() };
            return None;
        }
        vec::take_at(&mut calls, place);
        Some(why)
    }

    /// Does not want a thread to come by for that any more.
    pub(crate) fn forget(&self, thread: u64, why: Why) {
        vec::take(&mut self.calls.lock(), |call| call.thread == thread && call.why == why);
    }

    /// Wants nothing any more of the thread that runs here, which ends: another one may have its number.
    pub(crate) fn forget_this(&self) {
        let thread = self.channel.thread();
        let mut calls = self.calls.lock();
        while vec::take(&mut calls, |call| call.thread == thread).is_some() {}
    }
}
