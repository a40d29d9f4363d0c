//! The lower bound for recorders by ptrace(2): it steps each instruction, reads the registers, and does nothing with them.

use std::os::unix::process::CommandExt;
use std::time::Instant;

use anyhow::{Result, bail};
use nix::sys::ptrace;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::program::Program;
use super::recorded::Recorded;

pub(super) fn record(program: &Program, rounds: usize) -> Result<Recorded> {
    let mut command = program.command(rounds);
    // SAFETY: ptrace(2) may be called between fork and exec.
    unsafe { command.pre_exec(|| Ok(ptrace::traceme()?)) };
    let start = Instant::now();
    let mut child = command.spawn()?;
    let pid = Pid::from_raw(child.id() as i32);
    let mut instructions = 0;
    loop {
        match waitpid(pid, None)? {
            WaitStatus::Stopped(..) => {
                std::hint::black_box(ptrace::getregs(pid)?);
                ptrace::step(pid, None)?;
                instructions += 1;
            }
            WaitStatus::Exited(_, 0) => break,
            other => {
                child.kill()?;
                bail!("it ended by {other:?}");
            }
        }
    }
    Ok(Recorded { time: start.elapsed(), instructions, bytes: None })
}
