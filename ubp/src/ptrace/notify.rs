//! A descriptor that is readable when a child has a report.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

use crate::{Error, Result};

/// The descriptors of the sessions of this process that somebody polls; -1: none.
static WAKE: [AtomicI32; 64] = [const { AtomicI32::new(-1) }; 64];
/// The address of the handler before ours.
static BEFORE: AtomicUsize = AtomicUsize::new(0);
static INSTALL: Once = Once::new();

/// An eventfd written to at every `SIGCHLD`.
#[derive(Debug)]
pub(super) struct Notify {
    descriptor: OwnedFd,
}

extern "C" fn on_child(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: errno is this thread's own.
    let errno = unsafe { *libc::__errno_location() };
    for descriptor in &WAKE {
        let descriptor = descriptor.load(Ordering::Acquire);
        if descriptor >= 0 {
            let one = 1u64;
            // SAFETY: eight bytes of a live integer; write is async-signal-safe.
            unsafe { libc::write(descriptor, (&raw const one).cast(), 8) };
        }
    }
    let before = BEFORE.load(Ordering::Acquire);
    if before != libc::SIG_DFL && before != libc::SIG_IGN {
        // SAFETY: the address came from sigaction as that of a handler. A handler installed without SA_SIGINFO takes the first
        // of these arguments and, by the C calling convention, does not see the others.
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            unsafe { std::mem::transmute(before) };
        handler(signal, info, context);
    }
    // SAFETY: errno is this thread's own.
    unsafe { *libc::__errno_location() = errno };
}

fn install() {
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_child as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: both are live structures, and the handler is async-signal-safe.
    if unsafe { libc::sigaction(libc::SIGCHLD, &action, &mut before) } == 0 {
        BEFORE.store(before.sa_sigaction, Ordering::Release);
    }
}

impl Notify {
    pub(super) fn new() -> Result<Notify> {
        // SAFETY: eventfd takes numbers.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(Error::System { call: "eventfd", id: 0, source: io::Error::last_os_error() });
        }
        // SAFETY: the descriptor is new and nobody else's.
        Ok(Notify { descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) } })
    }

    /// The descriptor. From the first call on `SIGCHLD` makes it readable.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        let own = self.descriptor.as_raw_fd();
        if !WAKE.iter().any(|place| place.load(Ordering::Acquire) == own) {
            INSTALL.call_once(install);
            for place in &WAKE {
                if place.compare_exchange(-1, own, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                    break;
                }
            }
            // The kernel sends no further SIGCHLD for earlier reports.
            self.wake();
        }
        self.descriptor.as_fd()
    }

    /// Makes the descriptor readable.
    pub(super) fn wake(&self) {
        let one = 1u64;
        // SAFETY: eight bytes of a live integer.
        unsafe { libc::write(self.descriptor.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Makes the descriptor unreadable until the next report.
    pub(super) fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: eight bytes of a live integer.
        unsafe { libc::read(self.descriptor.as_raw_fd(), (&raw mut count).cast(), 8) };
    }

    /// Waits until the descriptor is readable, at most for `limit`.
    pub(super) fn block(&self, limit: Option<Duration>) {
        let mut wanted = libc::pollfd { fd: self.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let limit = limit.map_or(-1, |limit| i32::try_from(limit.as_millis()).unwrap_or(i32::MAX).max(1));
        // SAFETY: one live structure.
        unsafe { libc::poll(&mut wanted, 1, limit) };
    }
}

impl Drop for Notify {
    fn drop(&mut self) {
        let own = self.descriptor.as_raw_fd();
        for place in &WAKE {
            let _ = place.compare_exchange(own, -1, Ordering::AcqRel, Ordering::Acquire);
        }
    }
}
