//! Counts how often addresses of a program are executed: `count PROGRAM ADDRESS… [-- ARGS…]`.
//!
//! Addresses are hexadecimal, counted from the start of the program's file mapping, as `nm` shows them for position-independent programs.

use std::error::Error;
use std::io::{self, Write};
use std::process::{Command, ExitCode};

use ubp::{Address, EventKind, Options, Session, Spec};

/// Runs a program and writes the counts of each process when it ends.
pub(crate) fn run(command: Command, addresses: &[u64], out: &mut impl Write) -> Result<u8, Box<dyn Error>> {
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
    let base = first.start.0 - first.offset;

    let specs: Vec<Spec> = addresses.iter().map(|address| Spec::count(Address(base + address))).collect();
    for result in session.insert(pid, &specs)? {
        if let Err(error) = result {
            writeln!(out, "{error}")?;
        }
    }
    session.resume(pid.leader())?;

    let mut code = 0;
    while let Some(event) = session.wait()? {
        match event.kind {
            EventKind::Exited(status) if event.pid == pid => code = status as u8,
            EventKind::Killed(signal) => writeln!(out, "{}: killed by {signal}", event.pid)?,
            // The child has its own copy of the breakpoints.
            EventKind::Forked { child } => session.resume(child.leader())?,
            _ => {}
        }
        if matches!(event.kind, EventKind::Exited(_) | EventKind::Killed(_)) {
            for breakpoint in session.breakpoints(event.pid) {
                writeln!(out, "{:>10} {:#x}", breakpoint.hits(), breakpoint.address().0 - base)?;
            }
        }
        if event.is_held() {
            session.resume(event.tid)?;
        }
    }
    Ok(code)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let program = args.next().ok_or("usage: count PROGRAM ADDRESS… [-- ARGS…]")?;
    let addresses: Vec<u64> = args
        .by_ref()
        .take_while(|arg| arg != "--")
        .map(|arg| u64::from_str_radix(&arg, 16))
        .collect::<Result<_, _>>()?;
    let mut command = Command::new(&program);
    command.args(args);
    run(command, &addresses, &mut io::stderr()).map(ExitCode::from)
}
