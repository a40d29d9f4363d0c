//! Starting programs.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use super::super::Tracer;
use super::super::breakpoints::loader::watch_program;
use super::super::space::Space;
use super::super::status::Status;
use super::super::sys::{self, OPTIONS, Report, is_gone};
use super::super::thread::{Hold, Stop, Thread};
use super::super::tracees::Debuggee;
use super::super::wait::{find_report, wait_for};
use crate::process::read_process;
use crate::{Error, Pid, Result, Stdio, Tid};

impl Tracer {
    pub(in crate::ptrace) fn spawn_program(&mut self, command: Command) -> Result<Pid> {
        let (pid, stdio) = start_program(command, self.tracees.options.exit_kill)?;
        match self.adopt(pid, stdio) {
            Ok(()) => Ok(pid),
            Err(error) => {
                self.tracees.remove_process(pid);
                end(pid);
                Err(error)
            }
        }
    }

    /// Makes a program that is stopped at its exec a debuggee.
    fn adopt(&mut self, pid: Pid, stdio: Stdio) -> Result<()> {
        let tid = pid.leader();
        let process = read_process(pid)?;
        let space = Space::new(pid, process.arch)?;
        let space = self.tracees.add_space(space);
        let exit_kill = self.tracees.options.exit_kill;
        let debuggee = Debuggee::new(process, space, stdio, exit_kill);
        self.tracees.debuggees.insert(pid, debuggee);
        self.tracees.add_thread(Thread::new(tid, pid));
        self.tracees.set_stop(tid, Stop::InSyscall)?;
        self.leave_call(tid)?;
        watch_program(&mut self.tracees, &mut self.reports, tid)?;
        self.tracees.thread_mut(tid)?.hold = Hold::ForUser;
        // The call that executed the program is over.
        self.choose_syscalls(pid, self.tracees.options.syscalls)
    }
}

/// Starts a program, which ptrace stops at its exec. Where `exit_kill`, the kernel kills it when this process ends.
pub(crate) fn start_program(command: Command, exit_kill: bool) -> Result<(Pid, Stdio)> {
    // The child writes its number to a pipe and waits for the seize before it executes the program. Meanwhile another thread
    // runs the standard library's wait for the child.
    let (mut from_child, to_parent) = pipe().map_err(Error::Spawn)?;
    let (from_parent, mut to_child) = pipe().map_err(Error::Spawn)?;
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
        (Ok(child), Err(error)) => {
            // A child that is not traced as it should be must not run.
            end(Pid(child.id() as i32));
            Err(error)
        }
        // The child failed because the tracer closed its end of the pipe.
        (Err(_), Err(error @ (Error::Permission(_) | Error::AlreadyTraced { .. }))) => Err(error),
        (Err(error), _) => Err(Error::Spawn(error)),
    }
}

/// A pipe: the end to read from and the end to write to. Programs that are executed do not inherit it.
fn pipe() -> std::io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors that pipe2 writes.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } == -1 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: both descriptors are new, and nothing else owns them.
    let [read, write] = ends.map(|end| unsafe { File::from_raw_fd(end) });
    Ok((read, write))
}

/// Kills a program that this process has started, and waits for its end.
pub(crate) fn end(pid: Pid) {
    // SAFETY: kill takes numbers; the process is our child, not reaped yet.
    unsafe { libc::kill(pid.0, libc::SIGKILL) };
    while let Ok(report @ (Some(Report::Stopped { .. }) | None)) = wait_for(pid.leader(), true) {
        // It may stop once more at its exit (`PTRACE_O_TRACEEXIT`).
        if report.is_some() {
            let _ = sys::cont(pid.leader(), 0);
        }
    }
}

/// Detaches a thread that is stopped at its exec.
pub(crate) fn release(tid: Tid) -> Result<()> {
    sys::detach(tid, 0)
}

/// Seizes the waiting child and lets it execute the program.
fn start_seized(tid: Tid, exit_kill: bool, to_child: &mut File) -> Result<Pid> {
    let options = OPTIONS | if exit_kill { libc::PTRACE_O_EXITKILL } else { 0 };
    sys::seize(tid, options | libc::PTRACE_O_TRACEEXIT).map_err(|error| refused(tid, error))?;
    to_child.write_all(&[1]).map_err(Error::Spawn)?;
    loop {
        // The standard library's wait in the other thread may take reports of the child.
        match find_report(tid)? {
            Some(Report::Stopped { event: libc::PTRACE_EVENT_EXEC, .. }) => {
                sys::set_options(tid, options)?;
                return Ok(Pid(tid.0));
            }
            // There is no such program: the standard library reports that when the child ends.
            Some(Report::Stopped { event: libc::PTRACE_EVENT_EXIT, .. }) => {
                sys::detach(tid, 0)?;
                return Err(Error::NoSuchThread(tid));
            }
            // A signal that somebody sent before the exec.
            Some(Report::Stopped { signal, event: 0 }) => sys::cont(tid, signal)?,
            Some(Report::Stopped { .. }) => sys::cont(tid, 0)?,
            Some(_) => return Err(Error::NoSuchThread(tid)),
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

/// The time between two looks at a child that is about to execute its program.
const PAUSE: Duration = Duration::from_micros(100);

fn execute(mut command: Command, mut from_parent: File, mut to_parent: File, others: RawFd) -> std::io::Result<Child> {
    let wait = move || {
        // While the child has a copy of the end that its parent writes to, a read from the pipe never ends.
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
