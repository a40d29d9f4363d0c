//! The system calls that the tracer makes, by their names.

use std::io;
use std::mem::size_of;

use libc::{c_int, c_long, c_uint, c_void};

use crate::{Error, Pid, Result, Signal, SignalInfo, Tid};

/// Requests and constants of ptrace(2) that the libc crate lacks for this target.
const PTRACE_GETSIGMASK: c_uint = 0x420a;
const PTRACE_SETSIGMASK: c_uint = 0x420b;
/// The event of `PTRACE_INTERRUPT`, of group-stops and of new threads (linux/ptrace.h).
pub(super) const PTRACE_EVENT_STOP: i32 = 128;
/// How long a thread may wait uninterruptibly before the operation that needs it stopped fails.
pub(super) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

/// `si_code` of tgkill(2).
const SI_TKILL: i32 = -6;
/// `si_code` of a single-step trap.
pub(super) const TRAP_TRACE: i32 = 2;

/// The options of ptrace(2) for every tracee; what a tracee makes inherits them.
pub(super) const OPTIONS: c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEVFORKDONE
    | libc::PTRACE_O_TRACEEXEC;
/// The stop signal of a syscall-stop with `PTRACE_O_TRACESYSGOOD`.
pub(super) const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;

/// The signals that an instruction raises.
const SYNCHRONOUS: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGTRAP, libc::SIGFPE, libc::SIGSYS];
/// The set of these signals.
pub(super) const SYNCHRONOUS_SIGNALS: u64 = {
    let [a, b, c, d, e, f] = SYNCHRONOUS;
    1 << (a - 1) | 1 << (b - 1) | 1 << (c - 1) | 1 << (d - 1) | 1 << (e - 1) | 1 << (f - 1)
};

/// Whether the error only says that a thread or process has ended, which the kernel reports besides.
pub(super) fn is_gone(error: &Error) -> bool {
    matches!(error, Error::NoSuchThread(_) | Error::NoSuchProcess(_))
}

/// Takes the end of a thread or process for success: what has ended needs nothing any more.
pub(super) fn unless_gone(result: Result<()>) -> Result<()> {
    match result {
        Err(error) if is_gone(&error) => Ok(()),
        other => other,
    }
}

/// Puts back what a thread must have again, by `put`. The kernel needs memory for some of it: where that lacks, once more every 10 milliseconds,
/// for at most a second.
pub(super) fn insist(mut put: impl FnMut() -> Result<()>) -> Result<()> {
    for _ in 0..100 {
        match put() {
            Err(error) if !is_gone(&error) => std::thread::sleep(std::time::Duration::from_millis(10)),
            done => return done,
        }
    }
    put()
}

pub(super) fn error(call: &'static str, tid: Tid) -> Error {
    let source = io::Error::last_os_error();
    match source.raw_os_error() {
        Some(libc::ESRCH) => Error::NoSuchThread(tid),
        _ => Error::System { call, id: tid.0, source },
    }
}

/// Makes a ptrace(2) request. `data` is a number, or the address of an object that the request reads or fills.
pub(super) fn ptrace(request: c_uint, call: &'static str, tid: Tid, address: usize, data: usize) -> Result<c_long> {
    // SAFETY: the callers pass as `data` numbers, or pointers to live objects of the type that the request wants.
    let result = unsafe { libc::ptrace(request, tid.0, address as *mut c_void, data as *mut c_void) };
    if result == -1 { Err(error(call, tid)) } else { Ok(result) }
}

pub(super) fn seize(tid: Tid, options: c_int) -> Result<()> {
    ptrace(libc::PTRACE_SEIZE, "PTRACE_SEIZE", tid, 0, options as usize).map(drop)
}

pub(super) fn set_options(tid: Tid, options: c_int) -> Result<()> {
    ptrace(libc::PTRACE_SETOPTIONS, "PTRACE_SETOPTIONS", tid, 0, options as usize).map(drop)
}

pub(super) fn interrupt(tid: Tid) -> Result<()> {
    ptrace(libc::PTRACE_INTERRUPT, "PTRACE_INTERRUPT", tid, 0, 0).map(drop)
}

pub(super) fn listen(tid: Tid) -> Result<()> {
    ptrace(libc::PTRACE_LISTEN, "PTRACE_LISTEN", tid, 0, 0).map(drop)
}

pub(super) fn cont(tid: Tid, signal: i32) -> Result<()> {
    ptrace(libc::PTRACE_CONT, "PTRACE_CONT", tid, 0, signal as usize).map(drop)
}

pub(super) fn cont_to_syscall(tid: Tid, signal: i32) -> Result<()> {
    ptrace(libc::PTRACE_SYSCALL, "PTRACE_SYSCALL", tid, 0, signal as usize).map(drop)
}

pub(super) fn step(tid: Tid, signal: i32) -> Result<()> {
    ptrace(libc::PTRACE_SINGLESTEP, "PTRACE_SINGLESTEP", tid, 0, signal as usize).map(drop)
}

pub(super) fn detach(tid: Tid, signal: i32) -> Result<()> {
    ptrace(libc::PTRACE_DETACH, "PTRACE_DETACH", tid, 0, signal as usize).map(drop)
}

pub(super) fn event_message(tid: Tid) -> Result<u64> {
    let mut message: u64 = 0;
    ptrace(libc::PTRACE_GETEVENTMSG, "PTRACE_GETEVENTMSG", tid, 0, &raw mut message as usize)?;
    Ok(message)
}

/// A `siginfo_t` as the kernel lays it out: 128 bytes, the address of a fault at offset 16 (on x86-64; the kernel converts for
/// 32-bit debuggees).
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct SigInfo([u8; 128]);

impl std::fmt::Debug for SigInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigInfo {{ signal: {}, code: {} }}", self.signal(), self.si_code())
    }
}

impl SigInfo {
    /// The signal that the processor raises after an instruction when the trap flag is set.
    pub(super) fn single_step(pc: u64) -> SigInfo {
        let mut info = SigInfo([0; 128]);
        info.put(0, &libc::SIGTRAP.to_ne_bytes());
        info.put(8, &TRAP_TRACE.to_ne_bytes());
        info.set_address(pc);
        info
    }

    /// The signal with its origin.
    pub(super) fn parse(&self) -> SignalInfo {
        SignalInfo::parse(&self.0)
    }

    fn word_at(&self, at: usize) -> i32 {
        self.0.get(at..at + 4).and_then(|raw| raw.try_into().ok()).map_or(0, i32::from_ne_bytes)
    }
    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.0.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }
    pub(super) fn signal(&self) -> i32 {
        self.word_at(0)
    }
    pub(super) fn si_code(&self) -> i32 {
        self.word_at(8)
    }
    /// Whether process `pid` sent the signal by tgkill(2).
    pub(super) fn is_from(&self, pid: i32) -> bool {
        self.si_code() == SI_TKILL && self.word_at(16) == pid
    }
    pub(super) fn address(&self) -> u64 {
        self.0.get(16..24).and_then(|raw| raw.try_into().ok()).map_or(0, u64::from_ne_bytes)
    }
    pub(super) fn set_address(&mut self, address: u64) {
        self.put(16, &address.to_ne_bytes());
    }
    /// Whether the processor or the kernel raised the signal for the instruction that the thread executes.
    pub(super) fn is_synchronous(&self) -> bool {
        self.si_code() > 0 && SYNCHRONOUS.contains(&self.signal())
    }
}

pub(super) fn siginfo(tid: Tid) -> Result<SigInfo> {
    let mut info = SigInfo([0; 128]);
    ptrace(libc::PTRACE_GETSIGINFO, "PTRACE_GETSIGINFO", tid, 0, &raw mut info as usize)?;
    Ok(info)
}

pub(super) fn set_siginfo(tid: Tid, info: &SigInfo) -> Result<()> {
    ptrace(libc::PTRACE_SETSIGINFO, "PTRACE_SETSIGINFO", tid, 0, info as *const _ as usize).map(drop)
}

pub(super) fn signal_mask(tid: Tid) -> Result<u64> {
    let mut mask: u64 = 0;
    ptrace(PTRACE_GETSIGMASK, "PTRACE_GETSIGMASK", tid, size_of::<u64>(), &raw mut mask as usize)?;
    Ok(mask)
}

pub(super) fn set_signal_mask(tid: Tid, mask: u64) -> Result<()> {
    ptrace(PTRACE_SETSIGMASK, "PTRACE_SETSIGMASK", tid, size_of::<u64>(), &raw const mask as usize).map(drop)
}

/// Whether a thread with this mask had blocked a signal before an instruction raised it: the kernel unblocks a signal that it forces. That was
/// so where all other signals are blocked; no program blocks such a signal alone.
pub(super) fn had_blocked(mask: u64, signal: Signal) -> bool {
    const NEVER: u64 = 1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1);
    const STANDARD: u64 = (1 << 31) - 1;
    mask & STANDARD | NEVER | signal.bit() == STANDARD && mask & signal.bit() == 0
}

/// Reads a register set into `buffer` and returns its length.
pub(super) fn register_set(tid: Tid, kind: c_int, buffer: &mut [u8]) -> Result<usize> {
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    ptrace(libc::PTRACE_GETREGSET as c_uint, "PTRACE_GETREGSET", tid, kind as usize, &raw mut part as usize)?;
    Ok(part.iov_len.min(buffer.len()))
}

pub(super) fn set_register_set(tid: Tid, kind: c_int, bytes: &[u8]) -> Result<()> {
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    ptrace(libc::PTRACE_SETREGSET as c_uint, "PTRACE_SETREGSET", tid, kind as usize, &raw mut part as usize).map(drop)
}

/// The first signal of which several instances can be pending, as the kernel counts signals.
pub(super) const REAL_TIME: i32 = 32;

/// The report of a child of this thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// A stop by this signal, with this `PTRACE_EVENT_…` or 0.
    Stopped {
        signal: i32,
        event: i32,
    },
    Exited(i32),
    Killed(i32),
}

/// Sends a signal to a thread.
pub(crate) fn send(pid: i32, tid: Tid, signal: i32) -> Result<()> {
    // SAFETY: tgkill takes numbers.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid.0, signal) };
    if result == -1 { Err(error("tgkill", tid)) } else { Ok(()) }
}

/// Compares a resource of two processes (kcmp(2)); 0: both have the same one. The error is the kernel's.
pub(super) fn kcmp(pid: Pid, other: Pid, kind: c_int) -> Result<c_long, i32> {
    // SAFETY: kcmp takes numbers.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, pid.0, other.0, kind, 0, 0) };
    if order == -1 { Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)) } else { Ok(order) }
}

pub(super) fn own_tid() -> i32 {
    // SAFETY: gettid takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

pub(super) fn own_pid() -> i32 {
    // SAFETY: getpid takes nothing and cannot fail.
    unsafe { libc::getpid() }
}

/// Reads another process' memory with the permissions of that process. Returns the number of bytes.
pub(super) fn read_as_thread(tid: Tid, address: u64, buffer: &mut [u8]) -> usize {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: buffer.len() };
    // SAFETY: the local part is a live buffer; the remote one is checked by the kernel.
    let count = unsafe { libc::process_vm_readv(tid.0, &local, 1, &remote, 1, 0) };
    usize::try_from(count).unwrap_or(0)
}

/// Writes another process' memory with the permissions of that process. Returns the number of bytes.
pub(super) fn write_as_thread(tid: Tid, address: u64, bytes: &[u8]) -> usize {
    let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: bytes.len() };
    // SAFETY: the local part is a live buffer that is only read; the remote one is checked by the kernel.
    let count = unsafe { libc::process_vm_writev(tid.0, &local, 1, &remote, 1, 0) };
    usize::try_from(count).unwrap_or(0)
}
