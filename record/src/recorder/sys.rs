//! The system calls of the recorder, by their own names.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::FromRawFd;
use std::time::Duration;

use libc::{c_int, c_uint, c_void};

/// What libc lacks for this target (linux/ptrace.h).
const PTRACE_GETSIGMASK: c_uint = 0x420a;
const PTRACE_SETSIGMASK: c_uint = 0x420b;
/// The event of `PTRACE_INTERRUPT`, of group stops and of new threads.
pub(super) const EVENT_STOP: i32 = 128;
/// What `PTRACE_O_TRACESYSGOOD` adds to the signal of a stop at a system call.
pub(super) const SYSGOOD: i32 = 0x80;

/// `si_code` of what the kernel raises for `int3` and general protection (asm-generic/siginfo.h).
pub(super) const SI_KERNEL: i32 = 0x80;
/// `si_code` of `brk` and `int1`, and of x86's report behind a system call that was single-stepped.
pub(super) const TRAP_BRKPT: i32 = 1;
/// `si_code` of a single step.
pub(super) const TRAP_TRACE: i32 = 2;

/// A pipe's two ends, to read from and to write to; both are closed by an exec.
pub(super) fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: pipe2 writes two numbers, into an array of two.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: pipe2 succeeded, so both descriptors are open, and nothing else owns them.
    Ok(ends.map(|end| unsafe { File::from_raw_fd(end) }).into())
}

pub(super) fn ptrace(request: c_uint, tid: u32, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: the callers pass as `data` numbers, or pointers to live objects of the type that the request wants.
    let result = unsafe { libc::ptrace(request, tid as c_int, address as *mut c_void, data as *mut c_void) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(super) fn seize(tid: u32, options: c_int) -> io::Result<()> {
    ptrace(libc::PTRACE_SEIZE, tid, 0, options as usize)
}

pub(super) fn interrupt(tid: u32) -> io::Result<()> {
    ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0)
}

pub(super) fn listen(tid: u32) -> io::Result<()> {
    ptrace(libc::PTRACE_LISTEN, tid, 0, 0)
}

pub(super) fn step(tid: u32) -> io::Result<()> {
    ptrace(libc::PTRACE_SINGLESTEP, tid, 0, 0)
}

pub(super) fn cont(tid: u32, signal: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_CONT, tid, 0, signal as usize)
}

pub(super) fn go_to_syscall(tid: u32) -> io::Result<()> {
    ptrace(libc::PTRACE_SYSCALL, tid, 0, 0)
}

pub(super) fn detach(tid: u32, signal: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_DETACH, tid, 0, signal as usize)
}

pub(super) fn event_message(tid: u32) -> io::Result<u64> {
    let mut message: u64 = 0;
    ptrace(libc::PTRACE_GETEVENTMSG, tid, 0, &raw mut message as usize)?;
    Ok(message)
}

/// `si_code` of the signal that a thread is stopped by.
pub(super) fn signal_code(tid: u32) -> io::Result<i32> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    ptrace(libc::PTRACE_GETSIGINFO, tid, 0, info.as_mut_ptr() as usize)?;
    // SAFETY: all zero is a valid value, and the kernel has filled it.
    Ok(unsafe { info.assume_init() }.si_code)
}

pub(super) fn signal_mask(tid: u32) -> io::Result<u64> {
    let mut mask: u64 = 0;
    ptrace(PTRACE_GETSIGMASK, tid, size_of::<u64>(), &raw mut mask as usize)?;
    Ok(mask)
}

pub(super) fn set_signal_mask(tid: u32, mask: u64) -> io::Result<()> {
    ptrace(PTRACE_SETSIGMASK, tid, size_of::<u64>(), &raw const mask as usize)
}

/// What a thread has to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// Stopped by this signal, with this `PTRACE_EVENT_…` or 0.
    Stopped {
        signal: i32,
        event: i32,
    },
    Exited(i32),
    Killed(i32),
}

/// Whom to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whom {
    One(u32),
    /// All that this thread traces or has forked.
    All,
}

/// Takes a report. `None`: there is none now.
///
/// # Errors
/// `ECHILD` where nobody is left to report.
pub(super) fn wait(whom: Whom, block: bool) -> io::Result<Option<(u32, Report)>> {
    let id = match whom {
        Whom::One(tid) => tid as c_int,
        Whom::All => -1,
    };
    let flags = libc::__WALL | libc::__WNOTHREAD | if block { 0 } else { libc::WNOHANG };
    loop {
        let mut status = 0;
        // SAFETY: `status` is a live integer.
        let found = unsafe { libc::waitpid(id, &mut status, flags) };
        let report = if libc::WIFSTOPPED(status) {
            Report::Stopped { signal: libc::WSTOPSIG(status), event: status >> 16 }
        } else if libc::WIFEXITED(status) {
            Report::Exited(libc::WEXITSTATUS(status))
        } else {
            Report::Killed(libc::WTERMSIG(status))
        };
        match found {
            0 => return Ok(None),
            -1 => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::EINTR) => {}
                error => return Err(error),
            },
            tid => return Ok(Some((tid as u32, report))),
        }
    }
}

/// Whether a thread that is being started has stopped; leaves reports of its end to others.
///
/// # Errors
/// `ECHILD` where it is gone.
pub(super) fn has_stopped(tid: u32) -> io::Result<bool> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WSTOPPED | libc::WNOWAIT | libc::WNOHANG | libc::__WALL;
    // SAFETY: `info` is a live structure of the type that waitid fills.
    let result = unsafe { libc::waitid(libc::P_PID, tid, info.as_mut_ptr(), flags) };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zero is a valid value; si_pid is that of SIGCHLD's part, or zero.
    Ok(unsafe { info.assume_init().si_pid() } != 0)
}

/// Waits until the descriptor is readable, or for `time`. Returns whether it is readable.
pub(super) fn poll(descriptor: Option<c_int>, time: Duration) -> bool {
    let mut wanted = libc::pollfd { fd: descriptor.unwrap_or(-1), events: libc::POLLIN, revents: 0 };
    let time = libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    // SAFETY: one live structure, and a live time.
    let found = unsafe { libc::ppoll(&mut wanted, 1, &time, std::ptr::null()) };
    found > 0 && wanted.revents != 0
}

/// The number of the calling thread, which ptrace knows as the tracer.
pub(super) fn own_tid() -> u32 {
    // SAFETY: gettid takes nothing and cannot fail.
    (unsafe { libc::gettid() }) as u32
}
