// SPDX-License-Identifier: GPL-2.0

//! The operations of the device's files, as shim.c names them.

use kernel::ffi::{c_int, c_void};
use kernel::prelude::*;
use kernel::types::ForeignOwnable;
use wire::text::Text;

use crate::device::session::Session;
use crate::ffi::{self, File, Inode, Mapping, PollTable, SeqFile};
use crate::mm::current::Buffer;
use crate::process::debuggee::Opener;

type Owned = Pin<KBox<Session>>;

/// The session of a file.
///
/// # Safety
/// `open` was done with the file, and `release` was not.
unsafe fn session<'a>(file: *const File) -> Pin<&'a Session> {
    // SAFETY: the caller's promise: the pointer is the one that `open` stored.
    unsafe { Owned::borrow(ffi::ntrace_file_private(file)) }
}

#[no_mangle]
extern "C" fn ntrace_open(_: *mut Inode, file: *mut File) -> c_int {
    // SAFETY: the kernel gives the file that it opens; its session ends with it.
    match Session::new(unsafe { Opener::of(file) }) {
        Ok(session) => {
            // SAFETY: the kernel gives the file that it opens.
            unsafe { ffi::ntrace_file_begin(file, session.into_foreign() as *mut c_void) };
            0
        }
        Err(error) => error.to_errno(),
    }
}

/// # Safety
/// The kernel calls it once for a file, and nothing of the file after it.
#[no_mangle]
unsafe extern "C" fn ntrace_release(_: *mut Inode, file: *mut File) -> c_int {
    // SAFETY: the pointer is the one that `open` stored.
    drop(unsafe { Owned::from_foreign(ffi::ntrace_file_private(file)) });
    0
}

/// # Safety
/// The kernel calls it with an open file and a user's buffer.
#[no_mangle]
unsafe extern "C" fn ntrace_read(file: *mut File, to: *mut c_void, size: usize, _: *mut i64) -> isize {
    // SAFETY: the file is open.
    let (session, waits) = unsafe { (session(file), ffi::ntrace_file_waits(file)) };
    answer(session.read(Buffer::new(to, size), waits))
}

/// # Safety
/// The kernel calls it with an open file and a user's buffer.
#[no_mangle]
unsafe extern "C" fn ntrace_write(file: *mut File, from: *const c_void, size: usize, _: *mut i64) -> isize {
    // SAFETY: the file is open.
    let (session, waits) = unsafe { (session(file), ffi::ntrace_file_waits(file)) };
    answer(session.write(Buffer::new(from.cast_mut(), size), waits))
}

/// # Safety
/// The kernel calls it with an open file and its table.
#[no_mangle]
unsafe extern "C" fn ntrace_poll(file: *mut File, table: *mut PollTable) -> u32 {
    // SAFETY: the file is open.
    let session = unsafe { session(file) };
    session.unread().poll(file, table);
    let readable = if session.is_readable() { ffi::poll::READABLE } else { 0 };
    let writable = if session.is_writable() { ffi::poll::WRITABLE } else { 0 };
    readable | writable
}

/// # Safety
/// The kernel calls it with an open file and a mapping that nobody uses yet.
#[no_mangle]
unsafe extern "C" fn ntrace_mmap(file: *mut File, vma: *mut Mapping) -> c_int {
    // SAFETY: the file is open, the mapping nobody's.
    match unsafe { session(file).map(vma) } {
        Ok(()) => 0,
        Err(error) => error.to_errno(),
    }
}

/// # Safety
/// The kernel calls it with an open file and where to write.
#[no_mangle]
unsafe extern "C" fn ntrace_show_fdinfo(out: *mut SeqFile, file: *mut File) {
    // SAFETY: the file is open.
    let session = unsafe { session(file) };
    // seq_file asks again with more room where a piece did not fit.
    let _ = session.describe(&mut Info(out));
}

struct Info(*mut SeqFile);

impl Text for Info {
    type Error = Error;

    fn put(&mut self, piece: &str) -> Result {
        // SAFETY: the kernel opened the file for writing; the piece has that many bytes.
        ffi::result(unsafe { ffi::seq_write(self.0, piece.as_ptr().cast(), piece.len()) })
    }
}

fn answer(result: Result<usize>) -> isize {
    match result {
        Ok(count) => count as isize,
        Err(error) => error.to_errno() as isize,
    }
}
