// SPDX-License-Identifier: GPL-2.0

//! What a session keeps of a process that has ended or executed another program: the counts of its breakpoints.
//!
//! As long as the program runs, a user of the memory keeps it for this. At the end a job copies the counts and gives the memory back, so no
//! memory outlives its process for longer than that takes. The copy is paid for by who opened the channel.

use core::cell::UnsafeCell;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use kernel::bindings;
use kernel::ffi::c_void;
use kernel::prelude::*;
use kernel::sync::Arc;
use kernel::types::Opaque;
use wire::{Failure, Status};

use crate::breakpoints::table::{words, Breakpoints};
use crate::ffi;
use crate::mm::mm_ref::MmUser;
use crate::mm::remote::Remote;
use crate::process::attachment::Attachment;
use crate::process::job::Job;
use crate::process::traced_table::TracedRef;

/// What is kept of a process.
#[pin_data]
pub(crate) struct Kept {
    is_kept: AtomicBool,
    /// The job that copies the counts, until it is queued.
    job: AtomicPtr<ffi::Job>,
    /// Guards `state`.
    #[pin]
    lock: Opaque<bindings::mutex>,
    state: UnsafeCell<State>,
}

// SAFETY: the state may be used from any thread, and is used by whoever has the lock.
unsafe impl Send for Kept {}
// SAFETY: as above; the other fields are atomic.
unsafe impl Sync for Kept {}

enum State {
    Nothing,
    /// The memory, which has the counts.
    Memory { _user: MmUser, traced: TracedRef },
    /// Site and count of each breakpoint, in the order of sites.
    Counts(KVVec<[u64; 2]>),
    /// The counts could not be copied.
    Lost(Failure),
}

/// The state, locked.
struct Locked<'a>(&'a Kept);

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        // SAFETY: this value has the lock.
        unsafe { &*self.0.state.get() }
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: this value has the lock.
        unsafe { &mut *self.0.state.get() }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // SAFETY: this value has the lock.
        unsafe { ffi::ntrace_unlock(self.0.lock.get()) };
    }
}

impl Kept {
    /// Nothing is kept.
    pub(crate) fn new() -> impl PinInit<Kept> {
        pin_init!(Kept {
            is_kept: AtomicBool::new(false),
            job: AtomicPtr::new(ptr::null_mut()),
            // SAFETY: `slot` is valid for writes and pinned.
            lock <- Opaque::ffi_init(|slot| unsafe { ffi::ntrace_lock_init(slot) }),
            state: UnsafeCell::new(State::Nothing),
        })
    }

    /// Fails if the thread is killed before it gets the lock.
    fn lock(&self) -> Result<Locked<'_>, Failure> {
        // SAFETY: `new` initialised the lock. No caller holds it.
        unsafe { ffi::ntrace_lock(self.lock.get()) }.then(|| Locked(self)).ok_or(Status::NoProcess.into())
    }

    /// Keeps a memory, if it still has a user.
    pub(crate) fn begin(&self, traced: TracedRef) -> Result<(), Failure> {
        let Some(user) = MmUser::get(traced.space().mm()) else { return Ok(()) };
        let job = Job::new()?;
        *self.lock()? = State::Memory { _user: user, traced };
        self.job.store(job.into_raw(), Ordering::Release);
        self.is_kept.store(true, Ordering::Release);
        Ok(())
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::Acquire)
    }

    fn take_job(&self) -> Option<Job> {
        // SAFETY: the pointer is null or one that `begin` has stored, and the swap gives it to one caller.
        unsafe { Job::from_raw(self.job.swap(ptr::null_mut(), Ordering::AcqRel)) }
    }

    /// Copies the counts in the background, if the memory is kept: its program has ended. Does not sleep.
    pub(crate) fn settle_later(attachment: Arc<Attachment>) {
        if let Some(job) = attachment.kept.take_job() {
            // SAFETY: `settle` takes over the reference, which any thread may use.
            unsafe { job.queue(settle, Arc::into_raw(attachment).cast_mut().cast()) };
        }
    }

    /// Copies the counts unless that is done, and gives the memory back.
    fn settle(&self, attachment: &Attachment) -> Result<(), Failure> {
        let mut state = self.lock()?;
        let State::Memory { traced, .. } = &*state else { return Ok(()) };
        let paying = attachment.channel().opener.pay();
        // SAFETY: the state has a user of the memory, and stays as it is until the counts are copied.
        let memory = unsafe { Remote::kept(traced.space().mm(), attachment.debuggee) };
        let counts = Breakpoints::new(traced.space(), memory, attachment.id).all_counts();
        drop(paying);
        let before = mem::replace(&mut *state, counts.map_or_else(State::Lost, State::Counts));
        drop(state);
        drop(before);
        Ok(())
    }

    /// Appends the counts at `addresses` of a program that has ended, with all bits set where there is no breakpoint.
    pub(crate) fn counts(
        &self,
        attachment: &Attachment,
        addresses: &[u8],
        counts: &mut KVVec<u8>,
    ) -> Result<(), Failure> {
        let addresses = words(addresses)?;
        self.settle(attachment)?;
        let state = self.lock()?;
        let all = match &*state {
            State::Counts(all) => all,
            State::Lost(failure) => return Err(*failure),
            _ => return Err(Failure::new(Status::NoProcess, attachment.debuggee)),
        };
        for address in addresses.iter().map(|bytes| u64::from_ne_bytes(*bytes)) {
            let found = all.binary_search_by_key(&address, |[site, _]| *site).ok().and_then(|at| all.get(at));
            let count = found.map_or(u64::MAX, |[_, count]| *count);
            counts.extend_from_slice(&count.to_ne_bytes(), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        Ok(())
    }

    /// Keeps nothing any more. Waits for nobody: while a job copies the counts, the job gives the memory back.
    pub(crate) fn abandon(&self) {
        self.is_kept.store(false, Ordering::Release);
        drop(self.take_job());
        // SAFETY: `new` initialised the lock.
        if unsafe { ffi::ntrace_try_lock(self.lock.get()) } {
            let mut state = Locked(self);
            let before = mem::replace(&mut *state, State::Nothing);
            drop(state);
            drop(before);
        }
    }
}

/// # Safety
/// `attachment` is a reference that `Arc::into_raw` gave, which this function takes over.
unsafe extern "C" fn settle(attachment: *mut c_void) {
    // SAFETY: the caller vouches for the pointer.
    let attachment: Arc<Attachment> = unsafe { Arc::from_raw(attachment.cast_const().cast()) };
    // A thread of the kernel is not killed.
    let _ = attachment.kept.settle(&attachment);
}
