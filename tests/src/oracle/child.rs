//! A traced child that executes one instruction at a time.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;
use std::ptr::{NonNull, null_mut};

use insn::x86::Bits;
use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, ftruncate};

const PAGE: usize = 4096;
/// The page at whose end encodings are put. Below 4 GiB for 32-bit code; far from the scratch memory.
const CODE: usize = 0x0800_0000;
/// The first byte that cannot be executed.
const BOUNDARY: usize = CODE + PAGE;
/// Memory that general registers point to. All of base + index × 8 stays in it.
const SCRATCH: usize = 0x0010_0000;
const SCRATCH_SIZE: usize = 64 << 20;
/// What register number n holds is BASE + n × 64: aligned for every vector, and its low half is a null selector for n = 0. As a system call's number it does not exist.
const BASE: u64 = 0x0020_0000;
/// User selectors of Linux on x86-64 (arch/x86/include/asm/segment.h).
const CS_64: u64 = 0x33;
const CS_32: u64 = 0x23;
const DATA: u64 = 0x2b;

/// What came of stepping on the first n bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The processor wanted a byte from beyond the boundary.
    TooShort,
    /// It ran.
    Executed,
    /// It was decoded and then faulted: #PF, #GP, #AC, #SS, #BR, or a floating-point or division error.
    Faulted,
    /// #UD.
    Undefined,
}

/// The traced child. Dropping it kills it.
pub struct Child {
    pid: Pid,
    /// The code page, shared with the child.
    code: NonNull<c_void>,
    registers: libc::user_regs_struct,
    vectors: Vec<u8>,
    probes: u32,
}

impl Child {
    /// Starts a child whose code is 64-bit or 32-bit.
    ///
    /// # Errors
    /// Where the kernel refuses ptrace, shared memory or 32-bit code segments.
    pub fn start(bits: Bits) -> nix::Result<Child> {
        let page = NonZeroUsize::MIN.saturating_add(PAGE - 1);
        let file = memfd_create(c"code", MFdFlags::MFD_CLOEXEC)?;
        ftruncate(&file, PAGE as i64)?;
        let read_write = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let code = unsafe { mmap(None, page, read_write, MapFlags::MAP_SHARED, &file, 0)? };
        // SAFETY: the child calls nothing but system calls before it stops, and never runs code of ours after that.
        let pid = match unsafe { fork()? } {
            ForkResult::Parent { child } => child,
            ForkResult::Child => become_traced(file.as_raw_fd()),
        };
        let mut child = Child { pid, code, registers: initial_registers(bits), vectors: Vec::new(), probes: 0 };
        match waitpid(pid, Some(WaitPidFlag::__WALL))? {
            WaitStatus::Stopped(_, Signal::SIGSTOP) => {}
            _ => return Err(Errno::ENOMEM),
        }
        ptrace::setoptions(pid, ptrace::Options::PTRACE_O_EXITKILL)?;
        child.vectors = get_vectors(pid)?;
        // A kernel without 32-bit code says so here.
        ptrace::setregs(pid, child.registers)?;
        Ok(child)
    }

    /// Steps on the first `n` bytes of `bytes`, which end where the executable page ends.
    ///
    /// # Errors
    /// Where the child is gone.
    pub fn probe(&mut self, bytes: &[u8], n: usize) -> nix::Result<Outcome> {
        self.probes = self.probes.wrapping_add(1);
        if self.probes % 4096 == 0 {
            set_vectors(self.pid, &mut self.vectors)?;
        }
        let (signal, information) = self.step(bytes, n)?;
        if signal == Signal::SIGFPE {
            // A floating-point error that an earlier instruction left pending is not this one's: ask again from a clean state.
            set_vectors(self.pid, &mut self.vectors)?;
            let (signal, information) = self.step(bytes, n)?;
            return self.judge(n, signal, information);
        }
        self.judge(n, signal, information)
    }

    fn step(&mut self, bytes: &[u8], n: usize) -> nix::Result<(Signal, Option<libc::siginfo_t>)> {
        let n = n.min(bytes.len()).min(PAGE);
        // SAFETY: `code` is a mapping of PAGE bytes, n is at most that, and the child, which shares it, is stopped.
        unsafe {
            self.code.as_ptr().cast::<u8>().add(PAGE - n).copy_from_nonoverlapping(bytes.as_ptr(), n);
        }
        self.registers.rip = (BOUNDARY - n) as u64;
        ptrace::setregs(self.pid, self.registers)?;
        ptrace::step(self.pid, None)?;
        match waitpid(self.pid, Some(WaitPidFlag::__WALL))? {
            WaitStatus::Stopped(_, Signal::SIGSEGV) => Ok((Signal::SIGSEGV, Some(ptrace::getsiginfo(self.pid)?))),
            WaitStatus::Stopped(_, signal) => Ok((signal, None)),
            _ => Err(Errno::ESRCH),
        }
    }

    fn judge(&self, n: usize, signal: Signal, information: Option<libc::siginfo_t>) -> nix::Result<Outcome> {
        if signal == Signal::SIGTRAP {
            return Ok(Outcome::Executed);
        }
        let rip = ptrace::read_user(self.pid, std::mem::offset_of!(libc::user_regs_struct, rip) as *mut c_void)? as u64;
        if rip != (BOUNDARY - n) as u64 {
            // The instruction ran without a trap after it (a load of ss defers it) and the next one faulted.
            return Ok(Outcome::Executed);
        }
        // SAFETY: the kernel fills si_addr for SIGSEGV.
        let address = information.map(|information| unsafe { information.si_addr() } as usize);
        Ok(match signal {
            // Data at the boundary can be read and written, so that only a fetch faults there.
            Signal::SIGSEGV if address == Some(BOUNDARY) => Outcome::TooShort,
            Signal::SIGILL => Outcome::Undefined,
            _ => Outcome::Faulted,
        })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Failures mean that it is gone already.
        let _ = nix::sys::signal::kill(self.pid, Signal::SIGKILL);
        let _ = waitpid(self.pid, Some(WaitPidFlag::__WALL));
        // SAFETY: mapped by `start`, used by `step` only.
        let _ = unsafe { nix::sys::mman::munmap(self.code, PAGE) };
    }
}

/// In the forked child: maps code and scratch memory and stops. System calls only.
fn become_traced(code: i32) -> ! {
    let fixed = libc::MAP_FIXED_NOREPLACE;
    let data = libc::PROT_READ | libc::PROT_WRITE;
    let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
    // SAFETY: none of the mappings replaces another (MAP_FIXED_NOREPLACE); the rest are calls without pointers.
    unsafe {
        let text =
            libc::mmap(CODE as *mut c_void, PAGE, libc::PROT_READ | libc::PROT_EXEC, libc::MAP_SHARED | fixed, code, 0);
        let after = libc::mmap(BOUNDARY as *mut c_void, PAGE, data, anonymous, -1, 0);
        let scratch = libc::mmap(SCRATCH as *mut c_void, SCRATCH_SIZE, data, anonymous, -1, 0);
        let mapped = ![text, after, scratch].contains(&libc::MAP_FAILED);
        if mapped && libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<c_void>(), null_mut::<c_void>()) == 0 {
            libc::raise(libc::SIGSTOP);
        }
        libc::_exit(1)
    }
}

fn initial_registers(bits: Bits) -> libc::user_regs_struct {
    let at = |number: u64| BASE + number * 64;
    libc::user_regs_struct {
        rax: at(0),
        rcx: at(1),
        rdx: at(2),
        rbx: at(3),
        rsp: at(4) + 0x1000,
        rbp: at(5),
        rsi: at(6),
        rdi: at(7),
        r8: at(8),
        r9: at(9),
        r10: at(10),
        r11: at(11),
        r12: at(12),
        r13: at(13),
        r14: at(14),
        r15: at(15),
        rip: CODE as u64,
        // No system call to restart.
        orig_rax: u64::MAX,
        eflags: 0x202,
        cs: if bits == Bits::B64 { CS_64 } else { CS_32 },
        ss: DATA,
        ds: DATA,
        es: DATA,
        fs: DATA,
        gs: DATA,
        fs_base: 0,
        gs_base: 0,
    }
}

fn get_vectors(pid: Pid) -> nix::Result<Vec<u8>> {
    let mut state = vec![0; 16 << 10];
    let length = vectors(pid, libc::PTRACE_GETREGSET, &mut state)?;
    state.truncate(length);
    Ok(state)
}

fn set_vectors(pid: Pid, state: &mut [u8]) -> nix::Result<()> {
    vectors(pid, libc::PTRACE_SETREGSET, state).map(drop)
}

fn vectors(pid: Pid, request: libc::c_uint, state: &mut [u8]) -> nix::Result<usize> {
    /// The x87, vector and mask state in XSAVE's layout (include/uapi/linux/elf.h).
    const NT_X86_XSTATE: libc::c_int = 0x202;
    let mut vector = libc::iovec { iov_base: state.as_mut_ptr().cast(), iov_len: state.len() };
    // SAFETY: the vector names memory that `state` owns; the kernel writes at most its length.
    Errno::result(unsafe { libc::ptrace(request, pid.as_raw(), NT_X86_XSTATE, &raw mut vector) })?;
    Ok(vector.iov_len)
}
