//! Two processes: the front, whose end and signals are ntrace's own, and the worker, which traces.
//!
//! The front may be killed at any moment. The worker then sees its end of the pipe close, lets the debuggee go with its original
//! bytes, and ends. The worker has a process group of its own, so that the terminal's signals reach the front and the program only.

use std::fs::File;
use std::io::{Read, Write};
use std::process::ExitCode;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, raise, signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe2, setpgid};
use std::os::fd::AsFd;

use crate::failure::{Failure, OWN, Result};
use crate::heritage::{self, Heritage};
use crate::output::tell;
use crate::watch::{Control, End};

/// Signals to ntrace that are passed on.
const RELAYED: [Signal; 6] =
    [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGUSR1, Signal::SIGUSR2];

/// The kernel itself sent the signal: a key at the terminal (`SI_KERNEL`, siginfo.h).
const FROM_KERNEL: i32 = 0x80;

/// How long the worker's end is waited for once it has reported, in milliseconds.
const LAST_WAIT: u16 = 10_000;

/// What the worker reports at its end: how, and the status or signal.
const REPORT: usize = 5;

/// Runs `work` in a worker process, and ends as it says.
pub(crate) fn run(work: impl FnOnce(Control, Heritage) -> Result<End>) -> Result<ExitCode> {
    let fail = |what: &'static str| move |error: nix::errno::Errno| Failure::own(format!("{what}: {error}"));
    let (order_out, order_in) = pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(fail("pipe"))?;
    let (report_out, report_in) = pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(fail("pipe"))?;
    let relayed: SigSet = RELAYED.into_iter().collect();
    let mut mask = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&relayed), Some(&mut mask)).map_err(fail("sigprocmask"))?;
    let heritage = Heritage::of_front(mask);
    heritage::hear_of_children();
    // SAFETY: this process has a single thread, so the child may go on as any process does.
    match unsafe { fork() }.map_err(fail("fork"))? {
        ForkResult::Child => {
            drop((order_in, report_out));
            let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
            // Writing to the terminal from a background group must not stop the worker.
            let mut quiet = SigSet::empty();
            quiet.add(Signal::SIGTTOU);
            let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&quiet), None);
            let report = match work(Control::new(order_out.into()), heritage) {
                Ok(End::Exited(status)) => (b'e', status),
                Ok(End::Killed(signal)) => (b'k', signal),
                Ok(End::Detached) => (b'd', 0),
                Err(failure) => {
                    tell(&failure);
                    (b'e', i32::from(failure.status))
                }
            };
            let mut bytes = [report.0; REPORT];
            bytes[1..].copy_from_slice(&report.1.to_le_bytes());
            let mut pipe = File::from(report_in);
            let _ = pipe.write_all(&bytes);
            // That it is closed tells the front of the end of all threads.
            std::mem::forget(pipe);
            Ok(ExitCode::SUCCESS)
        }
        ForkResult::Parent { child } => {
            drop((order_out, report_in));
            front(child, File::from(order_in), File::from(report_out), &relayed)
        }
    }
}

/// Passes signals on until the worker reports.
fn front(worker: Pid, mut orders: File, mut report: File, relayed: &SigSet) -> Result<ExitCode> {
    let fail = |error: nix::errno::Errno| Failure::own(format!("waiting for the tracer: {error}"));
    let signals = SignalFd::with_flags(relayed, SfdFlags::SFD_CLOEXEC).map_err(fail)?;
    loop {
        let mut fds = [PollFd::new(report.as_fd(), PollFlags::POLLIN), PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => continue,
            Err(error) => return Err(fail(error)),
        }
        let ready = |fd: &PollFd<'_>| fd.revents().is_some_and(|events| !events.is_empty());
        let (reported, signalled) = (ready(&fds[0]), ready(&fds[1]));
        if reported {
            break;
        }
        if signalled && let Ok(Some(info)) = signals.read_signal() {
            let from_terminal = u8::from(info.ssi_code == FROM_KERNEL);
            // A worker that is gone reports so.
            let _ = orders.write_all(&[info.ssi_signo as u8, from_terminal]);
        }
    }
    let mut bytes = [0; REPORT];
    let told = report.read_exact(&mut bytes);
    // The end of its last thread closes the pipe; one may be kept by a file system that does not answer.
    let mut end = [PollFd::new(report.as_fd(), PollFlags::empty())];
    if poll(&mut end, LAST_WAIT).is_ok_and(|ended| ended > 0) {
        let _ = waitpid(worker, None);
    }
    if told.is_err() {
        return Err(Failure::own("the tracer ended without a word"));
    }
    let value = i32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
    match bytes[0] {
        b'e' => Ok(ExitCode::from(value as u8)),
        b'k' => die_by(value),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Ends by the signal that ended the program, so that a shell sees the same; without a second core file.
fn die_by(number: i32) -> Result<ExitCode> {
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    if let Ok(number) = Signal::try_from(number) {
        // SAFETY: the default action involves no code of ours.
        let _ = unsafe { signal(number, SigHandler::SigDfl) };
        let mut only = SigSet::empty();
        only.add(number);
        let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&only), None);
        let _ = raise(number);
    }
    // Real-time signals have no name here.
    Ok(ExitCode::from(u8::try_from(128 + number).unwrap_or(OWN)))
}
