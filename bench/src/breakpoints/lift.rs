//! The way of most debuggers: lift the breakpoint, step, put it back.

use std::ffi::c_void;

use anyhow::{Result, bail};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::debuggee::Debuggee;

/// Nanoseconds of `count` hits.
pub(super) fn hits(site: usize, count: u64) -> Result<u64> {
    let mut debuggee = Debuggee::start()?;
    let pid = Pid::from_raw(debuggee.pid());
    let address = debuggee.sites[site] as *mut c_void;
    ptrace::attach(pid)?;
    wait_for(pid, Signal::SIGSTOP)?;
    let original = ptrace::read(pid, address)?;
    let breakpoint = original & !0xff | 0xcc;
    ptrace::write(pid, address, breakpoint)?;
    ptrace::cont(pid, None)?;
    debuggee.ask(site, count)?;
    for _ in 0..count {
        wait_for(pid, Signal::SIGTRAP)?;
        let mut registers = ptrace::getregs(pid)?;
        registers.rip -= 1;
        ptrace::setregs(pid, registers)?;
        ptrace::write(pid, address, original)?;
        ptrace::step(pid, None)?;
        wait_for(pid, Signal::SIGTRAP)?;
        ptrace::write(pid, address, breakpoint)?;
        ptrace::cont(pid, None)?;
    }
    debuggee.answer()
}

fn wait_for(pid: Pid, signal: Signal) -> Result<()> {
    match waitpid(pid, Some(WaitPidFlag::__WALL))? {
        WaitStatus::Stopped(_, seen) if seen == signal => Ok(()),
        other => bail!("the debuggee did not stop by {signal}: {other:?}"),
    }
}
