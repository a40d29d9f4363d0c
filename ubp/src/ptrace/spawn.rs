//! Starting programs.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread;

use super::attach::{EXIT_KILL, OPTIONS};
use super::space::Space;
use super::sys::{self, Report};
use super::thread::Thread;
use super::{Debuggee, Tracer, exec};
use crate::{Error, Pid, Result, Stdio, Tid};

impl Tracer {
    pub(crate) fn spawn(&mut self, command: Command) -> Result<Pid> {
        // The child tells its number and waits to be seized before it executes the program. Meanwhile the standard library waits
        // for it in a thread of its own.
        let (mut from_child, to_parent) = std::io::pipe().map_err(Error::Spawn)?;
        let (from_parent, mut to_child) = std::io::pipe().map_err(Error::Spawn)?;
        let starting = thread::spawn(move || start(command, from_parent, to_parent));
        let mut number = [0; 4];
        let read = from_child.read_exact(&mut number);
        let seized = match read {
            Ok(()) => {
                let tid = Tid(i32::from_ne_bytes(number));
                let options = OPTIONS | if self.options.exit_kill { EXIT_KILL } else { 0 };
                sys::seize(tid, options).map(|()| tid)
            }
            Err(error) => Err(Error::Spawn(error)),
        };
        if seized.is_ok() {
            to_child.write_all(&[1]).map_err(Error::Spawn)?;
        }
        drop(to_child);
        let result = starting.join().unwrap_or_else(|_| Err(std::io::Error::other("the starting thread failed")));
        let mut child = match (result, &seized) {
            (Ok(child), Ok(_)) => child,
            (Ok(mut child), Err(_)) => {
                // It was let go without being seized; it must not run.
                let _ = child.kill();
                let _ = child.wait();
                return seized.map(|tid| Pid(tid.0));
            }
            (Err(error), _) => {
                if let Ok(tid) = seized {
                    reap(tid);
                }
                return Err(Error::Spawn(error));
            }
        };
        let pid = Pid(seized?.0);
        let stdio = Stdio { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr: child.stderr.take() };
        self.adopt(pid, stdio)?;
        Ok(pid)
    }

    /// Takes over a program that is about to stop at exec.
    fn adopt(&mut self, pid: Pid, stdio: Stdio) -> Result<()> {
        let tid = pid.leader();
        loop {
            match sys::wait_for(tid, true)? {
                Some(Report::Stopped { event: libc::PTRACE_EVENT_EXEC, .. }) => break,
                // Signals sent before there is a program to get them.
                Some(Report::Stopped { signal, event: 0 }) => sys::cont(tid, signal)?,
                Some(Report::Stopped { .. }) => sys::cont(tid, 0)?,
                Some(_) => return Err(Error::NoSuchProcess(pid)),
                None => {}
            }
        }
        let process = match exec::read_process(pid) {
            Ok(process) => process,
            Err(error) => {
                // SAFETY: kill takes numbers; the process is our child, not reaped yet.
                unsafe { libc::kill(pid.0, libc::SIGKILL) };
                reap(tid);
                return Err(error);
            }
        };
        let space = Space::new(pid, process.arch, self.mode(process.arch))?;
        let space = self.add_space(space);
        let debuggee = Debuggee { process, space, loader: Default::default(), stdio, silent: false };
        self.debuggees.insert(pid, debuggee);
        self.add_thread(Thread::new(tid, pid));
        self.set_stop(tid, super::thread::Stop::InSyscall)?;
        self.leave_call(tid)?;
        self.watch_loading(tid)?;
        self.thread_mut(tid)?.held = true;
        Ok(())
    }
}

fn start(
    mut command: Command,
    mut from_parent: std::io::PipeReader,
    mut to_parent: std::io::PipeWriter,
) -> std::io::Result<Child> {
    let wait = move || {
        to_parent.write_all(&sys::own_pid().to_ne_bytes())?;
        let mut go = [0];
        from_parent.read_exact(&mut go)
    };
    let mut wait = wait;
    // SAFETY: between fork and exec only write and read are called, on descriptors that the closure owns.
    unsafe { command.pre_exec(move || wait()) };
    command.spawn()
}

/// Takes the end of a child that was seized and did not start.
fn reap(tid: Tid) {
    while let Ok(Some(Report::Stopped { .. }) | None) = sys::wait_for(tid, true) {
        let _ = sys::cont(tid, 0);
    }
}
