//! The general registers of a thread.

use std::mem::{MaybeUninit, offset_of};

use libc::{c_void, user_regs_struct};

use crate::ptrace::sys::{self, ptrace};
use crate::{Error, Result, Tid};

pub(in crate::ptrace) fn read(tid: Tid) -> Result<user_regs_struct> {
    let mut out = MaybeUninit::<user_regs_struct>::uninit();
    ptrace(libc::PTRACE_GETREGS, "PTRACE_GETREGS", tid, 0, out.as_mut_ptr() as usize)?;
    // SAFETY: the kernel filled the whole structure.
    Ok(unsafe { out.assume_init() })
}

pub(in crate::ptrace) fn write(tid: Tid, registers: &user_regs_struct) -> Result<()> {
    let answer = ptrace(libc::PTRACE_SETREGS, "PTRACE_SETREGS", tid, 0, registers as *const _ as usize);
    match answer {
        // The kernel takes the registers in order. It refuses a segment or a base, which come last, that a program may load but
        // the kernel would not set (a null selector with another RPL, a base in the kernel's half). The tracer changes neither.
        Err(Error::System { ref source, .. })
            if source.raw_os_error() == Some(libc::EIO) && read(tid)? == *registers =>
        {
            Ok(())
        }
        answer => answer.map(drop),
    }
}

const RIP_OFFSET: usize = offset_of!(user_regs_struct, rip);

/// Reads a word of `struct user` (sys/user.h).
pub(super) fn peek_user(tid: Tid, offset: usize) -> Result<u64> {
    // SAFETY: errno is this thread's own.
    unsafe { *libc::__errno_location() = 0 };
    // SAFETY: PEEKUSER takes numbers; its answer may be any word, so that errno alone tells a failure.
    let value =
        unsafe { libc::ptrace(libc::PTRACE_PEEKUSER, tid.0, offset as *mut c_void, std::ptr::null_mut::<c_void>()) };
    // SAFETY: errno is this thread's own.
    if value == -1 && unsafe { *libc::__errno_location() } != 0 {
        return Err(sys::error("PTRACE_PEEKUSER", tid));
    }
    Ok(value as u64)
}

/// Writes a word of `struct user` (sys/user.h).
pub(super) fn poke_user(tid: Tid, offset: usize, value: u64) -> Result<()> {
    ptrace(libc::PTRACE_POKEUSER, "PTRACE_POKEUSER", tid, offset, value as usize).map(drop)
}

pub(in crate::ptrace) fn pc(tid: Tid) -> Result<u64> {
    peek_user(tid, RIP_OFFSET)
}

pub(in crate::ptrace) fn set_pc(tid: Tid, pc: u64) -> Result<()> {
    poke_user(tid, RIP_OFFSET, pc)
}
