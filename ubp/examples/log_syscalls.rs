//! Logs the system calls of a program and its children, as strace does: `log_syscalls PROGRAM [ARGS…]`.

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, Write};
use std::process::{Command, ExitCode};

use ubp::{Event, EventKind, Options, Session, Syscall, SyscallResult, Syscalls, Tid};

/// Runs a program and writes a line for each of these system calls when it returns, and one for each signal.
pub(crate) fn run(command: Command, syscalls: Syscalls, out: &mut impl Write) -> Result<u8, Box<dyn Error>> {
    let mut options = Options::default();
    options.threads = false;
    options.syscalls = syscalls;
    let mut session = Session::with_options(options)?;
    let pid = session.spawn(command)?;
    session.resume(pid.leader())?;

    let mut under_way = HashMap::new();
    let mut code = 0;
    while let Some(event) = session.wait()? {
        match event.kind {
            EventKind::SyscallEntered(syscall) => drop(under_way.insert(event.tid, syscall)),
            EventKind::SyscallReturned(returned) => {
                write_call(out, &mut under_way, &event)?;
                match returned.result {
                    SyscallResult::Value(value) => writeln!(out, " = {value:#x}")?,
                    SyscallResult::Error(number) => writeln!(out, " = {}", io::Error::from_raw_os_error(number))?,
                    _ => writeln!(out, " is interrupted")?,
                }
            }
            EventKind::Exec => {
                write_call(out, &mut under_way, &event)?;
                writeln!(out, " executes a program")?;
            }
            EventKind::Signal(info) => writeln!(out, "{} {}: {:?}", event.tid, info.signal, info.origin)?,
            EventKind::Forked { child } => session.resume(child.leader())?,
            EventKind::Exited(status) => {
                write_call(out, &mut under_way, &event)?;
                writeln!(out, " exits with {status}")?;
                if event.pid == pid {
                    code = status as u8;
                }
            }
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid)?;
        }
    }
    Ok(code)
}

/// Writes the call that a thread has under way, if there is one.
fn write_call(out: &mut impl Write, under_way: &mut HashMap<Tid, Syscall>, event: &Event) -> io::Result<()> {
    write!(out, "{}", event.tid)?;
    match under_way.remove(&event.tid) {
        Some(Syscall { number, arguments, .. }) => write!(out, " call {number}{arguments:x?}"),
        None => Ok(()),
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut command = Command::new(args.next().ok_or("usage: log_syscalls PROGRAM [ARGS…]")?);
    command.args(args);
    run(command, Syscalls::ALL, &mut io::stderr()).map(ExitCode::from)
}
