//! Holds a program at its entry point and shows registers and code there: `registers_at_the_entry_point PROGRAM [ARGS…]`.

use std::error::Error;
use std::io::{self, Write};
use std::process::Command;

use ubp::{EventKind, Session, Spec};

/// Runs a program and writes what is seen at its entry point.
pub(crate) fn run(command: Command, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut session = Session::new()?;
    let pid = session.spawn(command)?;
    let entry = session.process(pid).and_then(|process| process.auxv().entry()).ok_or("no entry point")?;
    let breakpoint = session.insert(pid, &[Spec::event(entry)])?.remove(0)?;
    session.resume(pid.leader())?;

    while let Some(event) = session.wait()? {
        if matches!(&event.kind, EventKind::Hit(hit) if hit.is_of(breakpoint)) {
            // The pc is the breakpoint's address, and memory shows the original code.
            let registers = session.registers(event.tid)?;
            let mut code = [0; 4];
            session.read_memory(pid, entry, &mut code)?;
            writeln!(out, "at the entry point: {}", registers.pc() == entry)?;
            writeln!(out, "code {code:02x?}")?;
            writeln!(out, "{registers:?}")?;
            // The breakpoint is no longer needed. The program runs on as if it had never been there.
            session.remove(pid, &[breakpoint])?;
        }
        if event.is_held() {
            session.resume(event.tid)?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let mut command = Command::new(args.next().ok_or("usage: registers_at_the_entry_point PROGRAM [ARGS…]")?);
    command.args(args);
    run(command, &mut io::stderr())
}
