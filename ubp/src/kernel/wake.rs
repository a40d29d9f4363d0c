//! The descriptor that tells when there is an event: the channel's file has something to read, or something was read already.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::{Error, Result};

/// An epoll(7) of the file and of an eventfd(2).
#[derive(Debug)]
pub(super) struct Wake {
    both: OwnedFd,
    own: OwnedFd,
}

/// A descriptor that a system call made.
fn made(call: &'static str, descriptor: libc::c_int) -> Result<OwnedFd> {
    if descriptor < 0 {
        return Err(Error::System { call, id: 0, source: io::Error::last_os_error() });
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

impl Wake {
    /// That of a channel's file, which outlives it.
    pub(super) fn new(file: BorrowedFd<'_>) -> Result<Wake> {
        // SAFETY: both take numbers.
        let own = made("eventfd", unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: as above.
        let both = made("epoll_create1", unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        for descriptor in [file.as_raw_fd(), own.as_raw_fd()] {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            // SAFETY: three live descriptors and a live structure.
            if unsafe { libc::epoll_ctl(both.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &mut event) } < 0 {
                return Err(Error::System { call: "epoll_ctl", id: 0, source: io::Error::last_os_error() });
            }
        }
        Ok(Wake { both, own })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.both.as_fd()
    }

    /// Has it readable whatever the file is, or only where the file is.
    pub(super) fn set(&self, awake: bool) {
        let mut count = u64::from(awake);
        let (own, place) = (self.own.as_raw_fd(), (&raw mut count).cast());
        // SAFETY: eight bytes of a live integer.
        unsafe { if awake { libc::write(own, place, 8) } else { libc::read(own, place, 8) } };
    }
}
