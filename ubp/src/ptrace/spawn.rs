//! Starting programs.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use super::attach::{EXIT_KILL, OPTIONS};
use super::space::Space;
use super::status::Status;
use super::sys::{self, Report};
use super::thread::Thread;
use super::{Debuggee, Tracer, is_gone};
use crate::process::read_process;
use crate::{Error, Pid, Result, Stdio, Tid};

impl Tracer {
    pub(super) fn spawn(&mut self, command: Command) -> Result<Pid> {
        let (pid, stdio) = start(command, self.options.exit_kill)?;
        self.adopt(pid, stdio)?;
        Ok(pid)
    }

    /// Takes over a program that stands at its exec.
    fn adopt(&mut self, pid: Pid, stdio: Stdio) -> Result<()> {
        let tid = pid.leader();
        let process = match read_process(pid) {
            Ok(process) => process,
            Err(error) => {
                end(pid);
                return Err(error);
            }
        };
        let space = Space::new(pid, process.arch)?;
        let space = self.add_space(space);
        let kill = self.options.exit_kill;
        let debuggee = Debuggee::new(process, space, stdio, kill);
        self.debuggees.insert(pid, debuggee);
        self.add_thread(Thread::new(tid, pid));
        self.set_stop(tid, super::thread::Stop::InSyscall)?;
        self.leave_call(tid)?;
        self.watch_loading(tid)?;
        self.thread_mut(tid)?.held = true;
        Ok(())
    }
}

/// Starts a program that stands at its exec then, stopped by ptrace; where `exit_kill`, it ends with this process.
pub(crate) fn start(command: Command, exit_kill: bool) -> Result<(Pid, Stdio)> {
    // The child tells its number and waits to be seized before it executes the program. Meanwhile the standard library waits
    // for it in a thread of its own.
    let (mut from_child, to_parent) = std::io::pipe().map_err(Error::Spawn)?;
    let (from_parent, mut to_child) = std::io::pipe().map_err(Error::Spawn)?;
    let others = to_child.as_raw_fd();
    let starting = thread::spawn(move || execute(command, from_parent, to_parent, others));
    let mut number = [0; 4];
    let read = from_child.read_exact(&mut number);
    let started = match read {
        Ok(()) => start_seized(Tid(i32::from_ne_bytes(number)), exit_kill, &mut to_child),
        Err(error) => Err(Error::Spawn(error)),
    };
    drop(to_child);
    let child = starting.join().unwrap_or_else(|_| Err(std::io::Error::other("the starting thread failed")));
    match (child, started) {
        (Ok(mut child), Ok(pid)) => {
            Ok((pid, Stdio { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr: child.stderr.take() }))
        }
        (Ok(mut child), Err(error)) => {
            // It could not be seized, and must not run.
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
        // Its end of the pipe closed, and so it gave up.
        (Err(_), Err(error @ (Error::Permission(_) | Error::AlreadyTraced { .. }))) => Err(error),
        (Err(error), _) => Err(Error::Spawn(error)),
    }
}

/// Ends a program that stands at its exec.
pub(crate) fn end(pid: Pid) {
    // SAFETY: kill takes numbers; the process is our child, not reaped yet.
    unsafe { libc::kill(pid.0, libc::SIGKILL) };
    while let Ok(Some(Report::Stopped { .. }) | None) = sys::wait_for(pid.leader(), true) {}
}

/// Lets a thread go that stands at its exec.
pub(crate) fn release(tid: Tid) -> Result<()> {
    sys::detach(tid, 0)
}

/// Seizes the child, which waits, and lets it execute the program.
fn start_seized(tid: Tid, exit_kill: bool, to_child: &mut std::io::PipeWriter) -> Result<Pid> {
    let options = OPTIONS | if exit_kill { EXIT_KILL } else { 0 };
    sys::seize(tid, options | libc::PTRACE_O_TRACEEXIT).map_err(|error| refused(tid, error))?;
    to_child.write_all(&[1]).map_err(Error::Spawn)?;
    let mut unreported = false;
    loop {
        let report = sys::wait_for(tid, false)?;
        unreported &= report.is_none();
        match report {
            Some(Report::Stopped { event: libc::PTRACE_EVENT_EXEC, .. }) => {
                sys::set_options(tid, options)?;
                return Ok(Pid(tid.0));
            }
            // There is no such program: the standard library waits for the child's end to say so.
            Some(Report::Stopped { event: libc::PTRACE_EVENT_EXIT, .. }) => {
                sys::detach(tid, 0)?;
                return Err(Error::NoSuchThread(tid));
            }
            // Signals sent before there is a program to get them.
            Some(Report::Stopped { signal, event: 0 }) => sys::cont(tid, signal)?,
            Some(Report::Stopped { .. }) => sys::cont(tid, 0)?,
            Some(_) => return Err(Error::NoSuchThread(tid)),
            // The standard library, which waits for the child in the other thread, may have taken the report of its end.
            None if is_stopped(tid) => {
                if std::mem::replace(&mut unreported, true) {
                    sys::detach(tid, 0)?;
                    return Err(Error::NoSuchThread(tid));
                }
            }
            None => thread::sleep(PAUSE),
        }
    }
}

/// Why a child may not be traced.
fn refused(tid: Tid, error: Error) -> Error {
    let pid = Pid(tid.0);
    match Status::read(tid) {
        Ok(status) if status.tracer != 0 => Error::AlreadyTraced { pid, tracer: Pid(status.tracer) },
        Ok(_) if !is_gone(&error) => Error::Permission(pid),
        _ => error,
    }
}

/// Between two looks at a child that is about to execute its program.
const PAUSE: Duration = Duration::from_micros(100);

/// Whether the kernel holds the thread in a stop of ptrace's (proc_pid_stat(5), the field after the name).
fn is_stopped(tid: Tid) -> bool {
    let stat = std::fs::read(format!("/proc/{tid}/stat")).unwrap_or_default();
    // The name may be any bytes.
    String::from_utf8_lossy(&stat).rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('t'))
}

fn execute(
    mut command: Command,
    mut from_parent: std::io::PipeReader,
    mut to_parent: std::io::PipeWriter,
    others: RawFd,
) -> std::io::Result<Child> {
    let wait = move || {
        // The child's own copy of the end that its parent writes to: with it the pipe would never end.
        // SAFETY: close takes a number, and nothing in the child owns that descriptor.
        unsafe { libc::close(others) };
        to_parent.write_all(&sys::own_pid().to_ne_bytes())?;
        let mut go = [0];
        from_parent.read_exact(&mut go)
    };
    // SAFETY: between fork and exec only close, write and read are called: the first on the child's copy of a descriptor that only its
    // parent uses, the others on descriptors that the closure owns.
    unsafe { command.pre_exec(wait) };
    command.spawn()
}
