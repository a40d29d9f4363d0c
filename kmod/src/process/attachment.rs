// SPDX-License-Identifier: GPL-2.0

//! The attachment of a session to a process, as the process' threads find it.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use kernel::alloc::KVec;
use kernel::new_spinlock;
use kernel::prelude::*;
use kernel::sync::{Arc, SpinLock};
use stepping::SLOT_SIZE;
use wire::events::Event;

use crate::channel::channel::Channel;
use crate::ffi::{self, Life};
use crate::process::job::AtEnd;
use crate::process::registry::Registry;
use crate::report::choice::Choice;
use crate::report::watches::Watches;
use crate::vec;

/// The next attachment's number. 0 is no attachment's.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The attachment of a session to a process.
#[pin_data]
pub(crate) struct Attachment {
    /// A number that no other attachment has. Storages name their owner by it.
    pub(crate) id: u64,
    /// The session's number for the process.
    pub(crate) debuggee: u64,
    /// Bits of `wire::commands::option`.
    pub(crate) options: u64,
    pub(crate) registry: Arc<Registry>,
    /// The system calls and signals of which the session is told.
    pub(crate) choice: Choice,
    #[pin]
    pub(crate) watches: Watches,
    /// The process in lifecycle.c.
    life: AtomicPtr<Life>,
    /// Whether the process has ended or may no longer be traced.
    over: AtomicBool,
    /// The work that a job in the background does when the process ends or executes another program.
    pub(crate) at_end: AtEnd,
    #[pin]
    requests: SpinLock<KVec<Request>>,
}

/// A request to a thread, which takes it on its way to user mode.
struct Request {
    /// The thread's number.
    thread: u64,
    cause: Cause,
    /// The slot of the thread's step. Only [`Cause::Signal`] has one.
    slot: u64,
}

/// Why a thread is requested.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Cause {
    /// The session wants it held.
    Hold,
    /// It is new and has not run.
    New,
    /// It carries out a step, and is held again if a signal interrupts the step.
    Signal,
}

impl Attachment {
    /// An attachment without requests.
    pub(crate) fn new(debuggee: u64, options: u64, registry: Arc<Registry>) -> Result<Arc<Attachment>> {
        Arc::pin_init(
            pin_init!(Attachment {
                id: NEXT.fetch_add(1, Ordering::Relaxed),
                debuggee,
                options,
                registry,
                choice: Choice::nothing(),
                watches <- Watches::none(),
                life: AtomicPtr::new(ptr::null_mut()),
                over: AtomicBool::new(false),
                at_end: AtEnd::NOTHING,
                requests <- new_spinlock!(KVec::new(), "ntrace requests"),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// The channel of the session.
    pub(crate) fn channel(&self) -> &Channel {
        &self.registry.channel
    }

    /// Where lifecycle.c keeps its pointer to the process.
    pub(crate) fn life(&self) -> *mut *mut Life {
        self.life.as_ptr()
    }

    /// Ends tracing. Threads that wait for room go on.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.channel().look_again();
    }

    /// Tells of an event of the current thread, which waits for room in the mode lossless.
    pub(crate) fn tell(&self, event: &Event<'_>) {
        self.channel().tell_or_wait(event, false, || self.is_over());
    }

    /// As [`Attachment::tell`], of one of many events: a hit, or a system call or signal at which the thread is not held.
    pub(crate) fn tell_one_of_many(&self, event: &Event<'_>) {
        self.channel().tell_or_wait(event, true, || self.is_over());
    }

    /// Whether tracing has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Adds a request. Does not sleep.
    pub(crate) fn request(&self, thread: u64, cause: Cause) -> Result {
        self.add(Request { thread, cause, slot: 0 })
    }

    fn add(&self, new: Request) -> Result {
        let mut requests = self.requests.lock();
        if !requests.iter().any(|request| request.thread == new.thread && request.cause == new.cause) {
            requests.push(new, vec::unsleeping())?;
        }
        Ok(())
    }

    /// Asks to hold the current thread if a signal arrives before it has gone through its slot. The request is made before the step,
    /// because signal delivery must not take locks.
    pub(crate) fn request_this(&self, slot: u64) {
        // Without memory for the request, a signal's handler runs and the thread is held at the end of the step.
        let _ = self.add(Request { thread: self.channel().opener.this_thread(), cause: Cause::Signal, slot });
    }

    /// Removes a request to the current thread, which is at `pc`, and returns its cause. While a signal is pending, only
    /// [`Cause::New`] is returned; other requests are taken after the signal.
    pub(crate) fn take_request(&self, pc: u64) -> Option<Cause> {
        let thread = self.channel().opener.this_thread();
        let is_due = |request: &Request| {
            let is_in_step = request.cause == Cause::Signal && pc.wrapping_sub(request.slot) < SLOT_SIZE as u64;
            request.thread == thread && !is_in_step
        };
        // SAFETY: the function looks at the current thread, which is on its way to user mode.
        let is_signalled = unsafe { ffi::ntrace_thread_is_signalled() };
        let mut requests = self.requests.lock();
        let index = requests.iter().position(is_due)?;
        let cause = requests.get(index)?.cause;
        if is_signalled && cause != Cause::New {
            // SAFETY: the function sets a flag of the current thread.
            unsafe { ffi::ntrace_thread_notify_this() };
            return None;
        }
        vec::take_at(&mut requests, index);
        Some(cause)
    }

    /// Withdraws a request.
    pub(crate) fn withdraw(&self, thread: u64, cause: Cause) {
        vec::take(&mut self.requests.lock(), |request| request.thread == thread && request.cause == cause);
    }

    /// Withdraws all requests to the current thread, which ends: another thread may get its number.
    pub(crate) fn withdraw_this(&self) {
        let thread = self.channel().opener.this_thread();
        let mut requests = self.requests.lock();
        while vec::take(&mut requests, |request| request.thread == thread).is_some() {}
    }
}
