//! A process with nothing in it but the windows of the layout.

use std::fs::File;
use std::io::{Error, Result, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use insn::x86::{Bits, MAX_LEN};
use libc::pid_t;

use super::program::{CODE_SIZE, DATA_SIZE, LOW_SIZE, Layout, MIRROR_SIZE, NOTES_SIZE, SHARED_SIZE, STACK_SIZE};
use super::state::State;
use super::{image, sys};

pub(super) struct Child {
    pub(super) pid: pid_t,
    bits: Bits,
    process: std::process::Child,
    memory: File,
}

impl Child {
    /// Starts the child and maps the windows; fails where the kernel does not execute such programs.
    pub(super) fn spawn(bits: Bits, layout: Layout) -> Result<Child> {
        sys::pin()?;
        let mut file = sys::memory_file()?;
        file.write_all(&image::elf(bits))?;
        let mut command = Command::new(format!("/proc/self/fd/{}", file.as_raw_fd()));
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::null());
        // SAFETY: the closure only makes system calls.
        unsafe {
            command.pre_exec(|| {
                sys::limit_processor_time()?;
                sys::trace_me()
            })
        };
        let process = command.spawn()?;
        let pid = pid_t::try_from(process.id()).map_err(Error::other)?;
        sys::wait(pid)?;
        sys::set_options(pid)?;
        let memory = File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        let child = Child { pid, bits, process, memory };
        child.map(layout)?;
        Ok(child)
    }

    fn map(&self, layout: Layout) -> Result<()> {
        if self.bits == Bits::B32 {
            // PER_LINUX: what can be read cannot be executed for that.
            self.syscall(136, [0; 6])?;
        }
        const RX: u64 = (libc::PROT_READ | libc::PROT_EXEC) as u64;
        const RW: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        const PRIVATE: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE) as u64;
        const SHARED: u64 = (libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE) as u64;
        for (address, size, protection, flags) in [
            (layout.code, CODE_SIZE, RX, PRIVATE),
            (layout.data, DATA_SIZE, RW, PRIVATE),
            (layout.stack, STACK_SIZE, RW, PRIVATE),
            (layout.shared, SHARED_SIZE, RW, SHARED),
            (layout.low, LOW_SIZE, RW, PRIVATE),
            (layout.mirror, MIRROR_SIZE, RX, PRIVATE),
            (layout.notes, NOTES_SIZE, RW, PRIVATE),
            (layout.near, 0x1000, RX, PRIVATE),
            (layout.far, 0x1000, RX, PRIVATE),
        ] {
            let number = if self.bits == Bits::B64 { 9 } else { 192 };
            self.syscall(number, [address, size, protection, flags, u64::MAX, 0])?;
        }
        self.write(layout.code, &vec![0xcc; CODE_SIZE as usize]);
        self.write(layout.near, &[0xcc; 0x1000]);
        self.write(layout.far, &[0xcc; 0x1000]);
        // Random pointers must not find what differs from run to run.
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.pid))?;
        if let Some((start, end)) = maps
            .lines()
            .find(|line| line.ends_with("[stack]"))
            .and_then(|line| line.split_whitespace().next()?.split_once('-'))
        {
            let (start, end) = (parse(start)?, parse(end)?);
            let number = if self.bits == Bits::B64 { 11 } else { 91 };
            self.syscall(number, [start, end - start, 0, 0, 0, 0])?;
        }
        if self.bits == Bits::B32 {
            self.thread_area(layout)?;
        }
        Ok(())
    }

    /// Gives fs and gs segments of their own (set_thread_area(2)).
    fn thread_area(&self, layout: Layout) -> Result<()> {
        let mut regs = sys::regs(self.pid)?;
        for (entry, base) in [(12_u32, layout.data + 0x1000), (13, layout.data + 0x2000)] {
            // struct user_desc: 32-bit segment, limit in pages, usable.
            let descriptor = [entry, base as u32, 0xf_ffff, 0b101_0001];
            let bytes: Vec<u8> = descriptor.iter().flat_map(|word| word.to_le_bytes()).collect();
            self.write(layout.data, &bytes);
            self.syscall(243, [layout.data, 0, 0, 0, 0, 0])?;
        }
        regs.fs = 12 << 3 | 3;
        regs.gs = 13 << 3 | 3;
        sys::set_regs(self.pid, &regs)
    }

    /// Makes the child perform a system call.
    fn syscall(&self, number: u64, arguments: [u64; 6]) -> Result<u64> {
        let before = sys::regs(self.pid)?;
        let mut regs = before;
        regs.rip = image::entry(self.bits);
        regs.rax = number;
        regs.orig_rax = u64::MAX;
        let [a, b, c, d, e, f] = arguments;
        if self.bits == Bits::B64 {
            [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9] = [a, b, c, d, e, f];
        } else {
            [regs.rbx, regs.rcx, regs.rdx, regs.rsi, regs.rdi, regs.rbp] = arguments.map(|value| value & 0xffff_ffff);
        }
        sys::set_regs(self.pid, &regs)?;
        sys::cont(self.pid, 0)?;
        let status = sys::wait(self.pid)?;
        if !libc::WIFSTOPPED(status) || libc::WSTOPSIG(status) != libc::SIGTRAP {
            return Err(Error::other(format!("system call {number} ended with status {status:#x}")));
        }
        let result = sys::regs(self.pid)?.rax;
        sys::set_regs(self.pid, &before)?;
        let error = if self.bits == Bits::B64 { result as i64 } else { i64::from(result as i32) };
        if (-4095..0).contains(&error) { Err(Error::from_raw_os_error(-error as i32)) } else { Ok(result) }
    }

    /// Sets the flag that ptrace cannot set.
    fn set_id_flag(&self, state: &State) -> Result<()> {
        const ID: u64 = 1 << 21;
        let mut regs = sys::regs(self.pid)?;
        if (regs.eflags ^ state.regs.eflags) & ID == 0 {
            return Ok(());
        }
        regs.rip = image::popf(self.bits);
        regs.rsp = state.layout.stack;
        regs.orig_rax = u64::MAX;
        self.write(regs.rsp, &(0x202 | state.regs.eflags & ID).to_le_bytes());
        sys::set_regs(self.pid, &regs)?;
        sys::cont(self.pid, 0)?;
        sys::wait(self.pid)?;
        Ok(())
    }

    /// Writes whatever the page's permissions.
    /// The byte at `address`, where there is one.
    pub(super) fn byte(&self, address: u64) -> Option<u8> {
        let mut byte = [0];
        self.memory.read_exact_at(&mut byte, address).ok().map(|()| byte[0])
    }

    /// An instruction's bytes, as many as are readable.
    pub(super) fn code(&self, address: u64) -> Vec<u8> {
        let mut bytes = vec![0; MAX_LEN];
        let count = self.memory.read_at(&mut bytes, address).unwrap_or(0);
        bytes.truncate(count);
        bytes
    }

    pub(super) fn write(&self, address: u64, bytes: &[u8]) {
        self.memory.write_all_at(bytes, address).unwrap_or_else(|error| panic!("write at {address:#x}: {error}"));
    }

    pub(super) fn load(&self, state: &State) -> Result<()> {
        self.set_id_flag(state)?;
        sys::write(self.pid, &state.windows())?;
        sys::set_xstate(self.pid, &state.xstate)?;
        sys::set_regs(self.pid, &state.regs)
    }

    pub(super) fn save(&self, layout: Layout) -> Result<State> {
        let mut state = State { regs: sys::regs(self.pid)?, xstate: sys::xstate(self.pid)?, ..State::empty(layout) };
        sys::read(self.pid, &mut state.windows_mut())?;
        Ok(state)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Either fails where the child is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn parse(hex: &str) -> Result<u64> {
    u64::from_str_radix(hex, 16).map_err(Error::other)
}
