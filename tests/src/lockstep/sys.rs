//! The few ptrace requests that the harness makes.

use std::io::{Error, Result};
use std::mem::MaybeUninit;
use std::os::raw::c_void;

use libc::{pid_t, siginfo_t, user_regs_struct};

/// ELF note type of the whole XSAVE area.
const NT_X86_XSTATE: usize = 0x202;

fn ptrace(request: u32, pid: pid_t, address: usize, data: *mut c_void) -> Result<()> {
    // SAFETY: every caller passes a data pointer that is valid for what its request reads or writes, or a number.
    let result = unsafe { libc::ptrace(request, pid, address, data) };
    if result == -1 { Err(Error::last_os_error()) } else { Ok(()) }
}

pub(super) fn regs(pid: pid_t) -> Result<user_regs_struct> {
    let mut regs = MaybeUninit::<user_regs_struct>::zeroed();
    ptrace(libc::PTRACE_GETREGS, pid, 0, regs.as_mut_ptr().cast())?;
    // SAFETY: all zero is a valid value, and the kernel has filled it.
    Ok(unsafe { regs.assume_init() })
}

pub(super) fn set_regs(pid: pid_t, regs: &user_regs_struct) -> Result<()> {
    match ptrace(libc::PTRACE_SETREGS, pid, 0, std::ptr::from_ref(regs).cast_mut().cast()) {
        // The kernel refuses some segments that a thread can load; they come last and are to stay as they are.
        Err(error) if error.raw_os_error() == Some(libc::EIO) && self::regs(pid)? == *regs => Ok(()),
        answer => answer,
    }
}

/// The XSAVE area in the standard format.
pub(super) fn xstate(pid: pid_t) -> Result<Vec<u8>> {
    let mut bytes = vec![0_u8; 16384];
    let mut vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    ptrace(libc::PTRACE_GETREGSET, pid, NT_X86_XSTATE, std::ptr::from_mut(&mut vector).cast())?;
    bytes.truncate(vector.iov_len);
    Ok(bytes)
}

pub(super) fn set_xstate(pid: pid_t, bytes: &[u8]) -> Result<()> {
    let mut vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    ptrace(libc::PTRACE_SETREGSET, pid, NT_X86_XSTATE, std::ptr::from_mut(&mut vector).cast())
}

pub(super) fn siginfo(pid: pid_t) -> Result<siginfo_t> {
    let mut info = MaybeUninit::<siginfo_t>::zeroed();
    ptrace(libc::PTRACE_GETSIGINFO, pid, 0, info.as_mut_ptr().cast())?;
    // SAFETY: all zero is a valid value, and the kernel has filled it.
    Ok(unsafe { info.assume_init() })
}

pub(super) fn cont(pid: pid_t, signal: i32) -> Result<()> {
    ptrace(libc::PTRACE_CONT, pid, 0, std::ptr::without_provenance_mut(signal as usize))
}

pub(super) fn step(pid: pid_t) -> Result<()> {
    ptrace(libc::PTRACE_SINGLESTEP, pid, 0, std::ptr::null_mut())
}

/// Ties the child's life to ours, and tells an exec from other traps.
pub(super) fn set_options(pid: pid_t) -> Result<()> {
    ptrace(
        libc::PTRACE_SETOPTIONS,
        pid,
        0,
        std::ptr::without_provenance_mut((libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACEEXEC) as usize),
    )
}

/// To be called in the child between fork and exec.
pub(super) fn trace_me() -> Result<()> {
    ptrace(libc::PTRACE_TRACEME, 0, 0, std::ptr::null_mut())
}

/// Lets SIGXCPU end a run that goes round for ever: after ten minutes of processor time, whatever the machine's load.
pub(super) fn limit_processor_time() -> Result<()> {
    let limit = libc::rlimit { rlim_cur: 600, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is valid for reading.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_CPU, &raw const limit) };
    if result == -1 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Waits for the child's next stop or its end.
pub(super) fn wait(pid: pid_t) -> Result<i32> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writing.
        let result = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
        if result == pid {
            return Ok(status);
        }
        let error = Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Reads or writes with the child's own page permissions; how many bytes.
pub(super) fn access(pid: pid_t, address: u64, bytes: &mut [u8], write: bool) -> usize {
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(address as usize), iov_len: bytes.len() };
    // SAFETY: `local` describes `bytes`, which is borrowed mutably; the kernel checks `remote`.
    let done = unsafe {
        if write {
            libc::process_vm_writev(pid, &raw const local, 1, &raw const remote, 1, 0)
        } else {
            libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0)
        }
    };
    usize::try_from(done).unwrap_or(0)
}

/// Fills the child's memory at each address.
pub(super) fn write(pid: pid_t, windows: &[(u64, &[u8])]) -> Result<()> {
    let vector = |base: usize, bytes: &[u8]| libc::iovec { iov_base: base as *mut c_void, iov_len: bytes.len() };
    let local: Vec<_> = windows.iter().map(|(_, bytes)| vector(bytes.as_ptr() as usize, bytes)).collect();
    let remote: Vec<_> = windows.iter().map(|(address, bytes)| vector(*address as usize, bytes)).collect();
    let count = local.len() as libc::c_ulong;
    // SAFETY: `local` describes borrowed bytes, which are read only; the kernel checks `remote`.
    let done = unsafe { libc::process_vm_writev(pid, local.as_ptr(), count, remote.as_ptr(), count, 0) };
    whole(done, windows.iter().map(|(_, bytes)| bytes.len()).sum())
}

/// Reads the child's memory at each address.
pub(super) fn read(pid: pid_t, windows: &mut [(u64, &mut [u8])]) -> Result<()> {
    let vector = |base: usize, bytes: &[u8]| libc::iovec { iov_base: base as *mut c_void, iov_len: bytes.len() };
    let local: Vec<_> = windows.iter_mut().map(|(_, bytes)| vector(bytes.as_mut_ptr() as usize, bytes)).collect();
    let remote: Vec<_> = windows.iter().map(|(address, bytes)| vector(*address as usize, bytes)).collect();
    let count = local.len() as libc::c_ulong;
    // SAFETY: `local` describes bytes that are borrowed mutably; the kernel checks `remote`.
    let done = unsafe { libc::process_vm_readv(pid, local.as_ptr(), count, remote.as_ptr(), count, 0) };
    whole(done, windows.iter().map(|(_, bytes)| bytes.len()).sum())
}

fn whole(done: isize, wanted: usize) -> Result<()> {
    match usize::try_from(done) {
        Ok(done) if done == wanted => Ok(()),
        Ok(done) => Err(Error::other(format!("{done} of {wanted} bytes of the child's memory"))),
        Err(_) => Err(Error::last_os_error()),
    }
}

/// Keeps the calling thread, and children it starts from now on, on one processor.
pub(super) fn pin() -> Result<()> {
    // SAFETY: all zero is an empty set; the set is valid for the call.
    let result = unsafe {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
        libc::CPU_SET(usize::try_from(libc::sched_getcpu()).unwrap_or(0), &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result == -1 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// An anonymous file that can be executed by the path `/proc/self/fd/N`.
pub(super) fn memory_file() -> Result<std::fs::File> {
    use std::os::fd::FromRawFd;
    // SAFETY: the name is a C string.
    let fd = unsafe { libc::memfd_create(c"lockstep".as_ptr(), libc::MFD_CLOEXEC) };
    if fd == -1 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the descriptor is open and owned by nobody else.
    Ok(unsafe { std::fs::File::from_raw_fd(fd) })
}
