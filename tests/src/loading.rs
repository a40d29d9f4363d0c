//! The module is unloaded, and loaded again.

use std::fs::File;
use std::os::fd::AsRawFd;

/// Unloads the module as soon as no session is left.
///
/// # Panics
/// Where the kernel refuses for another reason.
pub fn unload() {
    // SAFETY: the name is there.
    while unsafe { libc::syscall(libc::SYS_delete_module, c"ntrace".as_ptr(), libc::O_NONBLOCK) } != 0 {
        let error = std::io::Error::last_os_error();
        assert!([libc::EAGAIN, libc::EBUSY].contains(&error.raw_os_error().unwrap_or(0)), "{error}");
        std::thread::yield_now();
    }
}

/// Loads the module of a file, for every user.
///
/// # Panics
/// Where the kernel refuses it.
pub fn load(module: &File) {
    // SAFETY: the parameters are there.
    let loaded = unsafe { libc::syscall(libc::SYS_finit_module, module.as_raw_fd(), c"mode=0666".as_ptr(), 0) };
    assert_eq!(loaded, 0, "the module loads: {}", std::io::Error::last_os_error());
}
