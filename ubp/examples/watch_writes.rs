//! Tells which code writes to memory: `watch_writes PROGRAM ADDRESS LENGTH [-- ARGS…]`.
//!
//! The address is hexadecimal, counted from the start of the program's file mapping, as `nm` shows it for position-independent programs.

use std::error::Error;
use std::io::{self, Write};
use std::process::{Command, ExitCode};

use ubp::{Access, Address, EventKind, Options, Session};

/// Runs a program and writes, for each write to the memory, where the thread is behind it and what the memory holds.
pub(crate) fn run(command: Command, offset: u64, length: u64, out: &mut impl Write) -> Result<u8, Box<dyn Error>> {
    let mut options = Options::default();
    options.signals = false;
    options.threads = false;
    let mut session = Session::with_options(options)?;
    let pid = session.spawn(command)?;

    // The program is held at its first instruction, and mapped.
    let process = session.process(pid).ok_or("the program is gone")?;
    let path = process.executable().to_path_buf();
    let maps = process.maps()?;
    let first = maps.iter().find(|map| map.path.as_deref() == Some(&path)).ok_or("the program is not mapped")?;
    let base = Address(first.start.0 - first.offset);
    session.watch(pid, base + offset, length, Access::Write)?;
    session.resume(pid.leader())?;

    let mut code = 0;
    while let Some(event) = session.wait()? {
        match event.kind {
            EventKind::Watched { .. } => {
                let mut bytes = vec![0; length as usize];
                session.read_memory(event.pid, base + offset, &mut bytes)?;
                let pc = session.registers(event.tid)?.pc();
                writeln!(out, "{:#x}: {bytes:02x?}", pc - base)?;
            }
            EventKind::Exited(status) if event.pid == pid => code = status as u8,
            // The child has its own copy of the watchpoint.
            EventKind::Forked { child } => session.resume(child.leader())?,
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid)?;
        }
    }
    Ok(code)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut next = || args.next().ok_or("usage: watch_writes PROGRAM ADDRESS LENGTH [-- ARGS…]");
    let mut command = Command::new(next()?);
    let (offset, length) = (u64::from_str_radix(&next()?, 16)?, next()?.parse()?);
    command.args(args.skip_while(|arg| arg == "--"));
    run(command, offset, length, &mut io::stderr()).map(ExitCode::from)
}
