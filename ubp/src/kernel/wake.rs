//! The descriptor that becomes readable at events: the channel's file is readable, or an event was read already.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::{Error, Result};

/// An epoll(7) of the file and of an eventfd(2).
#[derive(Debug)]
pub(super) struct Wake {
    both: OwnedFd,
    own: OwnedFd,
}

/// The descriptor that a system call returned.
fn made(call: &'static str, descriptor: libc::c_int) -> Result<OwnedFd> {
    if descriptor < 0 {
        return Err(Error::System { call, id: 0, source: io::Error::last_os_error() });
    }
    // SAFETY: the descriptor is new, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

impl Wake {
    /// A descriptor for a channel's file, which must outlive it.
    pub(super) fn new(file: BorrowedFd<'_>) -> Result<Wake> {
        // SAFETY: eventfd takes only numbers.
        let own = made("eventfd", unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: epoll_create1 takes only a number.
        let both = made("epoll_create1", unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        for descriptor in [file.as_raw_fd(), own.as_raw_fd()] {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            // SAFETY: the descriptors are open and the structure is live.
            if unsafe { libc::epoll_ctl(both.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &mut event) } < 0 {
                return Err(Error::System { call: "epoll_ctl", id: 0, source: io::Error::last_os_error() });
            }
        }
        Ok(Wake { both, own })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.both.as_fd()
    }

    /// Makes the descriptor readable (`awake`), or readable only while the file is.
    pub(super) fn set(&self, awake: bool) {
        let mut count = u64::from(awake);
        let (own, place) = (self.own.as_raw_fd(), (&raw mut count).cast());
        // SAFETY: the pointer is to the eight bytes of a live integer.
        unsafe { if awake { libc::write(own, place, 8) } else { libc::read(own, place, 8) } };
    }
}
