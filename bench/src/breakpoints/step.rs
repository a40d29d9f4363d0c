//! Steps of a held thread: this project's, and the kernel's alone.

use std::ffi::c_void;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use ubp::{Address, EventKind, Session, Spec};

use super::debuggee::Debuggee;

/// Steps that are measured together.
const STEPS: u32 = 100;
/// How often: the median counts.
const TIMES: usize = 101;
/// Rounds of the debuggee's loop, more than the steps take it through.
const ROUNDS: u64 = 1_000_000;

/// Nanoseconds of one step by [`Session::step`].
pub(super) fn ours() -> Result<f64> {
    let mut debuggee = Debuggee::start()?;
    let mut session = Session::new()?;
    let pid = session.attach(ubp::Pid(debuggee.pid()))?;
    session.insert(pid, &[Spec::event(Address(debuggee.sites[0])).once()])?.pop().context("an answer")??;
    debuggee.ask(0, ROUNDS)?;
    let tid = loop {
        let event = session.wait()?.context("the debuggee lives")?;
        match event.kind {
            EventKind::Hit(_) => break event.tid,
            _ => session.resume(event.tid)?,
        }
    };
    median(|| {
        for _ in 0..STEPS {
            session.step(tid)?;
            let event = session.wait()?.context("the debuggee lives")?;
            anyhow::ensure!(event.kind == EventKind::Stepped, "{event:?}");
        }
        Ok(())
    })
}

/// Nanoseconds of one step by `PTRACE_SINGLESTEP` and `waitpid`.
pub(super) fn raw() -> Result<f64> {
    let mut debuggee = Debuggee::start()?;
    let pid = Pid::from_raw(debuggee.pid());
    let address = debuggee.sites[0] as *mut c_void;
    ptrace::attach(pid)?;
    wait_for(pid, Signal::SIGSTOP)?;
    let original = ptrace::read(pid, address)?;
    ptrace::write(pid, address, original & !0xff | 0xcc)?;
    ptrace::cont(pid, None)?;
    debuggee.ask(0, ROUNDS)?;
    wait_for(pid, Signal::SIGTRAP)?;
    ptrace::write(pid, address, original)?;
    let mut registers = ptrace::getregs(pid)?;
    registers.rip -= 1;
    ptrace::setregs(pid, registers)?;
    median(|| {
        for _ in 0..STEPS {
            ptrace::step(pid, None)?;
            wait_for(pid, Signal::SIGTRAP)?;
        }
        Ok(())
    })
}

/// The median time of one of [`STEPS`] steps.
fn median(mut steps: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let start = Instant::now();
        steps()?;
        times.push(start.elapsed().as_nanos() as f64 / f64::from(STEPS));
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(times[TIMES / 2])
}

fn wait_for(pid: Pid, signal: Signal) -> Result<()> {
    match waitpid(pid, Some(WaitPidFlag::__WALL))? {
        WaitStatus::Stopped(_, seen) if seen == signal => Ok(()),
        other => bail!("the debuggee did not stop by {signal}: {other:?}"),
    }
}
