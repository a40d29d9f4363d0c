//! Runs a command in two processes: the front and the worker.
//!
//! The front is the process that the shell started: its signals and its end are those of ntrace. The worker traces.
//! The front may be killed at any moment. Its end of the pipe then closes; the worker sees that, restores the debuggee's original bytes,
//! detaches and ends. The worker has its own process group, so that the terminal sends its signals only to the front and to the program.

mod attendant;
mod bell;
mod control;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, raise, signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe2, setpgid};

pub(crate) use self::attendant::Attendant;
use self::attendant::Nobody;
pub(crate) use self::control::{Control, End, Notice, Woken, send};
use crate::failure::{Failure, OWN, Result};
use crate::heritage::{self, Heritage};
use crate::output::tell;

/// The signals that the front passes to the worker.
const RELAYED: [Signal; 6] =
    [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGUSR1, Signal::SIGUSR2];

/// The signal code of a signal that the kernel sent: a key at the terminal (`SI_KERNEL`, siginfo.h).
const FROM_KERNEL: i32 = 0x80;

/// The longest wait for the worker's end after its report, in milliseconds.
const LAST_WAIT: u16 = 10_000;

/// The size of the worker's report in bytes: the kind of end, and the status or signal.
const REPORT: usize = 5;

/// Runs `work` in a worker process. Returns its exit status, or dies by the signal that killed the program.
pub(crate) fn run(work: impl FnOnce(Control, Heritage) -> Result<End>) -> Result<ExitCode> {
    run_attended(work, &mut Nobody)
}

/// As [`run`], with work of the front's own.
pub(crate) fn run_attended(
    work: impl FnOnce(Control, Heritage) -> Result<End>,
    attendant: &mut impl Attendant,
) -> Result<ExitCode> {
    let fail = |what: &'static str| move |error: nix::errno::Errno| Failure::own(format!("{what}: {error}"));
    let (order_out, order_in) = pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(fail("pipe"))?;
    let (report_out, report_in) = pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(fail("pipe"))?;
    let relayed: SigSet = RELAYED.into_iter().collect();
    let mut mask = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&relayed), Some(&mut mask)).map_err(fail("sigprocmask"))?;
    let heritage = Heritage::of_front(mask);
    heritage::enable_child_signals();
    // SAFETY: this process has a single thread, so that no lock can be held in the child.
    match unsafe { fork() }.map_err(fail("fork"))? {
        ForkResult::Child => {
            drop((order_in, report_out));
            let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
            // SIGTTOU stops a process of a background group that writes to the terminal.
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
            // The pipe stays open until the last thread ends, which tells the front of that end.
            std::mem::forget(pipe);
            Ok(ExitCode::SUCCESS)
        }
        ForkResult::Parent { child } => {
            drop((order_out, report_in));
            front(child, File::from(order_in), File::from(report_out), &relayed, attendant)
        }
    }
}

/// Passes signals to the worker until it reports.
fn front(
    worker: Pid,
    orders: File,
    mut report: File,
    relayed: &SigSet,
    attendant: &mut impl Attendant,
) -> Result<ExitCode> {
    let fail = |error: nix::errno::Errno| Failure::own(format!("waiting for the tracer: {error}"));
    let signals = SignalFd::with_flags(relayed, SfdFlags::SFD_CLOEXEC).map_err(fail)?;
    // Its end makes the worker leave the program.
    let mut orders = Some(orders);
    let mut failure = None;
    loop {
        let Ready { reported, signalled, other } = wait(&report, &signals, attendant).map_err(fail)?;
        if reported {
            break;
        }
        if other {
            match attendant.attend() {
                Ok(true) => {}
                Ok(false) => orders = None,
                Err(error) => (orders, failure) = (None, Some(error)),
            }
        }
        if !signalled {
            continue;
        }
        if let (Ok(Some(info)), Some(orders)) = (signals.read_signal(), &mut orders) {
            let from_terminal = u8::from(info.ssi_code == FROM_KERNEL);
            // An error means that the worker has ended, which its closed pipe reports.
            let _ = orders.write_all(&[info.ssi_signo as u8, from_terminal]);
        }
    }
    attendant.leave();
    let mut bytes = [0; REPORT];
    let told = report.read_exact(&mut bytes);
    // The end of the last thread closes the pipe. A file system that does not answer may keep a thread alive.
    let mut end = [PollFd::new(report.as_fd(), PollFlags::empty())];
    if poll(&mut end, LAST_WAIT).is_ok_and(|ended| ended > 0) {
        let _ = waitpid(worker, None);
    }
    attendant.finish();
    if let Some(failure) = failure {
        return Err(failure);
    }
    if told.is_err() {
        return Err(Failure::own("the tracing process ended without a report"));
    }
    let value = i32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
    match bytes[0] {
        b'e' => Ok(ExitCode::from(value as u8)),
        b'k' => die_by(value),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// What ended a wait of the front.
struct Ready {
    reported: bool,
    signalled: bool,
    other: bool,
}

/// Waits for the worker's report, a signal, or something for the attendant.
fn wait(report: &File, signals: &SignalFd, attendant: &impl Attendant) -> nix::Result<Ready> {
    let all = [report.as_fd(), signals.as_fd()].into_iter().chain(attendant.descriptors());
    let mut fds: Vec<PollFd<'_>> = all.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    match poll(&mut fds, PollTimeout::NONE) {
        Ok(_) => {}
        Err(nix::errno::Errno::EINTR) => return Ok(Ready { reported: false, signalled: false, other: false }),
        Err(error) => return Err(error),
    }
    let mut ready = fds.iter().map(|fd| fd.revents().is_some_and(|events| !events.is_empty()));
    let (reported, signalled) = (ready.next() == Some(true), ready.next() == Some(true));
    Ok(Ready { reported, signalled, other: ready.any(|one| one) })
}

/// Dies by the signal that killed the program, so that a shell sees the same end. No second core file is written.
fn die_by(number: i32) -> Result<ExitCode> {
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    if let Ok(number) = Signal::try_from(number) {
        // SAFETY: the default action runs no code of this process.
        let _ = unsafe { signal(number, SigHandler::SigDfl) };
        let mut only = SigSet::empty();
        only.add(number);
        let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&only), None);
        let _ = raise(number);
    }
    // `Signal` has no real-time signals.
    Ok(ExitCode::from(u8::try_from(128 + number).unwrap_or(OWN)))
}
