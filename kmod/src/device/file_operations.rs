// SPDX-License-Identifier: GPL-2.0

//! The file operations of the device, which device.c lists.

use fastpath::layout::{NTRACE_POLL_READABLE, NTRACE_POLL_WRITABLE};
use kernel::ffi::{c_int, c_void};
use kernel::prelude::*;
use kernel::types::ForeignOwnable;
use wire::text::Text;

use crate::channel::opener::Opener;
use crate::device::session::Session;
use crate::ffi::{self, File, Inode, PollTable, SeqFile, Vma};
use crate::mm::current::Buffer;

type Owned = Pin<KBox<Session>>;

/// Calls a function with the session of a file.
///
/// # Safety
/// `ntrace_open` has succeeded for the file, and `ntrace_release` is not called before this function returns.
unsafe fn with_session<T>(file: *const File, function: impl FnOnce(Pin<&Session>) -> T) -> T {
    // SAFETY: `ntrace_open` stored a pointer made by `into_foreign`, and `ntrace_release` alone takes it back.
    function(unsafe { Owned::borrow(ffi::ntrace_file_private(file)) })
}

#[no_mangle]
extern "C" fn ntrace_open(_: *mut Inode, file: *mut File) -> c_int {
    // SAFETY: the kernel calls this function with the file that it opens.
    match Session::new(unsafe { Opener::of(file) }) {
        Ok(session) => {
            // SAFETY: the kernel calls this function with the file that it opens. The file owns the session until `ntrace_release`.
            unsafe { ffi::ntrace_file_open(file, session.into_foreign() as *mut c_void) };
            0
        }
        Err(error) => error.to_errno(),
    }
}

/// # Safety
/// The kernel calls this function once for an open file, after all other operations.
#[no_mangle]
unsafe extern "C" fn ntrace_release(_: *mut Inode, file: *mut File) -> c_int {
    // SAFETY: `ntrace_open` stored a pointer made by `into_foreign`. No other operation runs or follows, so nobody borrows the session.
    drop(unsafe { Owned::from_foreign(ffi::ntrace_file_private(file)) });
    0
}

/// # Safety
/// The kernel calls this function with an open file and a user's buffer.
#[no_mangle]
unsafe extern "C" fn ntrace_read(file: *mut File, to: *mut c_void, size: usize, _: *mut i64) -> isize {
    // SAFETY: the file is open during the call.
    unsafe {
        let blocks = ffi::ntrace_file_blocks(file);
        answer(with_session(file, |session| session.read(Buffer::new(to, size), blocks)))
    }
}

/// # Safety
/// The kernel calls this function with an open file and a user's buffer.
#[no_mangle]
unsafe extern "C" fn ntrace_write(file: *mut File, from: *const c_void, size: usize, _: *mut i64) -> isize {
    // SAFETY: the file is open during the call.
    unsafe {
        let blocks = ffi::ntrace_file_blocks(file);
        answer(with_session(file, |session| session.write(Buffer::new(from.cast_mut(), size), blocks)))
    }
}

/// # Safety
/// The kernel calls this function with an open file and the table of a poller.
#[no_mangle]
unsafe extern "C" fn ntrace_poll(file: *mut File, table: *mut PollTable) -> u32 {
    let poll = |session: Pin<&Session>| {
        // SAFETY: the kernel polls the session's file with this table.
        unsafe { session.poll(file, table) };
        let readable = if session.is_readable() { NTRACE_POLL_READABLE } else { 0 };
        let writable = if session.is_writable() { NTRACE_POLL_WRITABLE } else { 0 };
        (readable | writable) as u32
    };
    // SAFETY: the file is open during the call.
    unsafe { with_session(file, poll) }
}

/// # Safety
/// The kernel calls this function with an open file and a mapping that it is creating.
#[no_mangle]
unsafe extern "C" fn ntrace_mmap(file: *mut File, vma: *mut Vma) -> c_int {
    // SAFETY: the file is open during the call, and nobody else uses the mapping before the call returns.
    match unsafe { with_session(file, |session| session.map(vma)) } {
        Ok(()) => 0,
        Err(error) => error.to_errno(),
    }
}

/// # Safety
/// The kernel calls this function with an open file, for /proc/PID/fdinfo.
#[no_mangle]
unsafe extern "C" fn ntrace_show_fdinfo(out: *mut SeqFile, file: *mut File) {
    // If the text does not fit, seq_file calls again with more room.
    // SAFETY: the file is open during the call.
    let _ = unsafe { with_session(file, |session| session.describe(&mut Info(out))) };
}

struct Info(*mut SeqFile);

impl Text for Info {
    type Error = Error;

    fn put(&mut self, piece: &str) -> Result {
        // SAFETY: the kernel opened the seq_file that `ntrace_show_fdinfo` is called with, and `piece` has that many bytes.
        ffi::result(unsafe { ffi::seq_write(self.0, piece.as_ptr().cast(), piece.len()) })
    }
}

fn answer(result: Result<usize>) -> isize {
    match result {
        Ok(count) => count as isize,
        Err(error) => error.to_errno() as isize,
    }
}
