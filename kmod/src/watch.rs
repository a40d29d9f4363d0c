// SPDX-License-Identifier: GPL-2.0

//! A session's interest in a process, as the process' threads find it.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use kernel::alloc::KVec;
use kernel::new_spinlock;
use kernel::prelude::*;
use kernel::sync::{Arc, SpinLock};

use crate::c::{self, Life};
use crate::channel::Channel;
use crate::list;

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
}

/// Why a thread is to come by.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Why {
    /// It is to be held.
    Asked,
    /// It has not run yet.
    Born,
    /// It is to be held when the signal is delivered that came before its step.
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
        let mut calls = self.calls.lock();
        if !calls.iter().any(|call| call.thread == thread && call.why == why) {
            calls.push(Call { thread, why }, GFP_ATOMIC)?;
        }
        Ok(())
    }

    /// Wants the thread that runs here held when a signal is delivered. Waits for nothing.
    pub(crate) fn call_this(&self) {
        // Without memory for it, it runs.
        let _ = self.call(self.channel.thread(), Why::Signalled);
        // SAFETY: it looks at the current thread.
        unsafe { c::ntrace_thread_call_this() };
    }

    /// Whether the thread that runs here was called, and why; asked once for each call.
    pub(crate) fn called_this(&self) -> Option<Why> {
        let thread = self.channel.thread();
        // SAFETY: it looks at the current thread.
        let is_signalled = unsafe { c::ntrace_thread_is_signalled() };
        let mut calls = self.calls.lock();
        let call = calls.iter().find(|call| call.thread == thread);
        if is_signalled && call.is_some_and(|call| call.why != Why::Born) {
            // SAFETY: the same.
            unsafe { c::ntrace_thread_call_this() };
            return None;
        }
        list::take(&mut calls, |call| call.thread == thread).map(|call| call.why)
    }

    /// Does not want a thread held any more.
    pub(crate) fn forget(&self, thread: u64) {
        list::take(&mut self.calls.lock(), |call| call.thread == thread && call.why == Why::Asked);
    }
}
