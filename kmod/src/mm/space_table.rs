// SPDX-License-Identifier: GPL-2.0

//! All address spaces with breakpoints.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use kernel::ffi::c_void;
use kernel::prelude::*;

use crate::ffi;
use crate::mm::space::{wait_for_hits, Space};

/// Chains of spaces by a hash of the kernel's description of them.
static CHAINS: [AtomicPtr<Space>; 256] = [const { AtomicPtr::new(ptr::null_mut()) }; 256];

fn chain(mm: *mut c_void) -> &'static AtomicPtr<Space> {
    // A description is some hundred bytes long.
    let number = (mm as usize >> 6) ^ (mm as usize >> 14);
    let [first, ..] = &CHAINS;
    CHAINS.get(number % CHAINS.len()).unwrap_or(first)
}

/// The table is locked while this is there.
struct Locked;

impl Locked {
    fn new() -> Locked {
        // SAFETY: nobody who has the lock calls this.
        unsafe { ffi::ntrace_spaces_lock() };
        Locked
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: `new` locked it.
        unsafe { ffi::ntrace_spaces_unlock() };
    }
}

/// The space of `mm`, if it has breakpoints.
///
/// # Safety
/// The answer is used in the same read-side section of RCU, in which the caller is, or while it has a user.
pub(crate) unsafe fn find<'a>(mm: *mut c_void) -> Option<&'a Space> {
    let mut next = chain(mm).load(Ordering::Acquire);
    loop {
        // SAFETY: what is in a chain is freed only after all read-side sections that may have seen it.
        let space = unsafe { next.as_ref() }?;
        if space.mm() == mm {
            return Some(space);
        }
        next = space.next.load(Ordering::Acquire);
    }
}

/// Puts a space in the table, where `mm` has none.
fn enter(space: Pin<KBox<Space>>, _: &Locked) -> *mut Space {
    let first = chain(space.mm());
    space.next.store(first.load(Ordering::Relaxed), Ordering::Relaxed);
    // SAFETY: it is not moved until it is freed.
    let raw = KBox::into_raw(unsafe { Pin::into_inner_unchecked(space) });
    first.store(raw, Ordering::Release);
    raw
}

/// A use of a space.
pub(crate) struct User(*mut Space);

// SAFETY: a space may be used from any thread.
unsafe impl Send for User {}

impl User {
    /// A use of the space of `mm`, to which the caller has a reference.
    pub(crate) fn of(mm: *mut c_void) -> Result<User> {
        let new = Space::new(mm, false, GFP_KERNEL_ACCOUNT)?;
        let locked = Locked::new();
        // SAFETY: with the lock held no space is freed.
        let found = match unsafe { find(mm) } {
            Some(space) => {
                space.users.fetch_add(1, Ordering::Relaxed);
                ptr::from_ref(space).cast_mut()
            }
            None => return Ok(User(enter(new, &locked))),
        };
        drop(locked);
        Ok(User(found))
    }

    /// A use of the space of `mm`, if it has breakpoints or is traced, and is no copy that a fork made.
    pub(crate) fn find(mm: *mut c_void) -> Option<User> {
        let _locked = Locked::new();
        // SAFETY: with the lock held no space is freed.
        let space = unsafe { find(mm) }.filter(|space| !space.is_forked())?;
        space.users.fetch_add(1, Ordering::Relaxed);
        Some(User(ptr::from_ref(space).cast_mut()))
    }

    /// The use of itself that a copy made by a fork has, which runs here; it ends with this.
    ///
    /// # Safety
    /// Called once, by the process that was forked.
    pub(crate) unsafe fn of_forked(space: &Space) -> User {
        User(ptr::from_ref(space).cast_mut())
    }

    /// The space.
    pub(crate) fn space(&self) -> &Space {
        // SAFETY: it has a user: this.
        unsafe { &*self.0 }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let locked = Locked::new();
        // SAFETY: it has a user: this.
        let space = unsafe { &*self.0 };
        if space.users.fetch_sub(1, Ordering::Relaxed) > 1 {
            return;
        }
        let mut link = chain(space.mm());
        loop {
            let next = link.load(Ordering::Relaxed);
            if next == self.0 {
                link.store(space.next.load(Ordering::Relaxed), Ordering::Release);
                break;
            }
            // SAFETY: with the lock held no space is freed.
            match unsafe { next.as_ref() } {
                Some(other) => link = &other.next,
                None => break,
            }
        }
        drop(locked);
        wait_for_hits();
        // SAFETY: `enter` got it from a box; nobody sees it any more.
        drop(unsafe { KBox::from_raw(self.0) });
    }
}

/// A process was forked: its copy of the storages is noted, and who traces the other one. Says whether there is something to be done before
/// the copy runs, or that there is no memory for it.
///
/// # Safety
/// Called in a read-side section of RCU, before the copy runs.
pub(crate) unsafe fn fork(parent: *mut c_void, child: *mut c_void) -> Result<bool> {
    // SAFETY: the caller's promise.
    let Some(parent) = (unsafe { find(parent) }) else { return Ok(false) };
    copy(parent, child).or_else(|error| {
        parent.watches().iter().for_each(|watch| watch.channel.miss());
        let has_breakpoints = parent.storages.iter().next().is_some();
        if has_breakpoints {
            Err(error)
        } else {
            Ok(false)
        }
    })
}

fn copy(parent: &Space, child: *mut c_void) -> Result<bool> {
    let heirs = parent.heirs()?;
    if heirs.is_empty() && parent.storages.iter().next().is_none() {
        return Ok(false);
    }
    let copy = Space::new(child, true, GFP_ATOMIC)?;
    copy.set_heirs(heirs);
    for storage in parent.storages.iter() {
        copy.storages.add(&storage).map_err(|_| ENOSPC)?;
        copy.storages.set_retired(&storage, parent.storages.retired(&storage));
    }
    enter(copy, &Locked::new());
    Ok(true)
}
