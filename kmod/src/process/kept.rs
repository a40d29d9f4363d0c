// SPDX-License-Identifier: GPL-2.0

//! What a session keeps of a process that has ended or executed another program: the counts of its breakpoints.
//!
//! As long as the program runs, a user of the memory keeps it for this. At the end a job copies the counts and gives the memory back, so no
//! memory outlives its process for longer than that takes. The copy is paid for by who opened the channel.

use core::cell::UnsafeCell;
use core::mem;
use core::ops::{Deref, DerefMut};

use kernel::bindings;
use kernel::ffi::c_void;
use kernel::prelude::*;
use kernel::sync::Arc;
use kernel::types::Opaque;
use wire::{Failure, Status};

use crate::breakpoints::table::{words, Breakpoints, Counted};
use crate::channel::channel::Channel;
use crate::ffi;
use crate::mm::mm_ref::MmUser;
use crate::mm::remote::Remote;
use crate::mm::space::Space;
use crate::process::job::AtEnd;

/// What is kept of a process. `T` is a counted reference to its address space.
#[pin_data]
pub(crate) struct Kept<T> {
    channel: Arc<Channel>,
    /// The numbers of the attachment and of the process.
    attachment: u64,
    debuggee: u64,
    /// Guards `state`.
    #[pin]
    lock: Opaque<bindings::mutex>,
    state: UnsafeCell<State<T>>,
}

// SAFETY: the state may be used from any thread, and is used by whoever has the lock.
unsafe impl<T: Send> Send for Kept<T> {}
// SAFETY: as above; the other fields do not change.
unsafe impl<T: Send> Sync for Kept<T> {}

enum State<T> {
    Nothing,
    /// The memory, which has the counts.
    Memory {
        _user: MmUser,
        space: T,
    },
    /// The address, the hits and the taken hits of each breakpoint, sorted by address.
    Counts(KVVec<[u64; 3]>),
    /// The counts could not be copied.
    Lost(Failure),
}

/// The state, locked.
struct Locked<'a, T>(&'a Kept<T>);

impl<T> Deref for Locked<'_, T> {
    type Target = State<T>;

    fn deref(&self) -> &State<T> {
        // SAFETY: this value has the lock.
        unsafe { &*self.0.state.get() }
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut State<T> {
        // SAFETY: this value has the lock.
        unsafe { &mut *self.0.state.get() }
    }
}

impl<T> Drop for Locked<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this value has the lock.
        unsafe { ffi::ntrace_unlock(self.0.lock.get()) };
    }
}

impl<T: AsRef<Space> + Send + 'static> Kept<T> {
    /// Keeps a memory from now on, until `at_end` is queued, which belongs to the attachment. Returns nothing where the memory has no user
    /// any more.
    pub(crate) fn of(
        channel: &Arc<Channel>,
        attachment: u64,
        debuggee: u64,
        at_end: &AtEnd,
        space: T,
    ) -> Result<Option<Arc<Kept<T>>>, Failure> {
        let Some(user) = MmUser::get(space.as_ref().mm()) else { return Ok(None) };
        let kept = Arc::pin_init(
            pin_init!(Kept {
                channel: channel.clone(),
                attachment,
                debuggee,
                // SAFETY: `slot` is valid for writes and pinned.
                lock <- Opaque::ffi_init(|slot| unsafe { ffi::ntrace_outer_lock_init(slot) }),
                state: UnsafeCell::new(State::Memory { _user: user, space }),
            }),
            GFP_KERNEL_ACCOUNT,
        );
        let kept: Arc<Kept<T>> = kept.map_err(|_| Status::NoMemory)?;
        let data = Arc::into_raw(kept.clone()).cast_mut();
        // SAFETY: `settle` takes over the reference `data`, which any thread may use. The attachment is new.
        let prepared = unsafe { at_end.prepare(settle::<T>, data.cast()) };
        if prepared.is_err() {
            // SAFETY: the reference was made above, and nobody has taken it over.
            drop(unsafe { Arc::from_raw(data.cast_const()) });
        }
        prepared.map(|()| Some(kept))
    }

    /// Fails if the thread is killed before it gets the lock.
    fn lock(&self) -> Result<Locked<'_, T>, Failure> {
        // SAFETY: `of` initialised the lock. No caller holds it.
        unsafe { ffi::ntrace_lock(self.lock.get()) }.then(|| Locked(self)).ok_or(Status::NoProcess.into())
    }

    /// Copies the counts unless that is done, and gives the memory back.
    fn settle(&self) -> Result<(), Failure> {
        let mut state = self.lock()?;
        let State::Memory { space, .. } = &*state else { return Ok(()) };
        let paying = self.channel.opener.pay();
        // SAFETY: the state has a user of the memory, and stays as it is until the counts are copied.
        let memory = unsafe { Remote::kept(space.as_ref().mm(), self.debuggee) };
        let counts = Breakpoints::new(space.as_ref(), memory, self.attachment).all_counts();
        drop(paying);
        let before = mem::replace(&mut *state, counts.map_or_else(State::Lost, State::Counts));
        drop(state);
        drop(before);
        Ok(())
    }

    /// Appends the counts at `addresses` of a program that has ended, with all bits set where there is no breakpoint.
    pub(crate) fn counts(&self, addresses: &[u8], counted: Counted, counts: &mut KVVec<u8>) -> Result<(), Failure> {
        let addresses = words(addresses)?;
        self.settle()?;
        let state = self.lock()?;
        let all = match &*state {
            State::Counts(all) => all,
            State::Lost(failure) => return Err(*failure),
            _ => return Err(Failure::new(Status::NoProcess, self.debuggee)),
        };
        for address in addresses.iter().map(|bytes| u64::from_ne_bytes(*bytes)) {
            let found = all.binary_search_by_key(&address, |[site, ..]| *site).ok().and_then(|at| all.get(at));
            let count = found.map_or(u64::MAX, |[_, hits, taken]| counted.of([*hits, *taken]));
            counts.extend_from_slice(&count.to_ne_bytes(), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        Ok(())
    }

    /// Keeps nothing any more. Waits for nobody: while a job copies the counts, the job gives the memory back.
    pub(crate) fn abandon(&self, at_end: &AtEnd) {
        if let Some(data) = at_end.withdraw() {
            // SAFETY: `of` gave the reference to the job, which was not queued.
            drop(unsafe { Arc::from_raw(data.cast_const().cast::<Kept<T>>()) });
        }
        // SAFETY: `of` initialised the lock.
        if unsafe { ffi::ntrace_try_lock(self.lock.get()) } {
            let mut state = Locked(self);
            let before = mem::replace(&mut *state, State::Nothing);
            drop(state);
            drop(before);
        }
    }
}

/// # Safety
/// `kept` is a reference to a `Kept<T>` that `Arc::into_raw` gave, which this function takes over.
unsafe extern "C" fn settle<T: AsRef<Space> + Send + 'static>(kept: *mut c_void) {
    // SAFETY: the caller vouches for the pointer.
    let kept: Arc<Kept<T>> = unsafe { Arc::from_raw(kept.cast_const().cast()) };
    // A thread of the kernel is not killed.
    let _ = kept.settle();
}
