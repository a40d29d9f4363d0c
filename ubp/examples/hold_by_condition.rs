//! Holds a program only at one arrival at an address: `hold_by_condition PROGRAM ADDRESS ARRIVAL [ARGS…]`.
//!
//! The address is hexadecimal, counted from the start of the program's file mapping.

use std::error::Error;
use std::io::{self, Write};
use std::process::Command;

use ubp::{Comparison, EventKind, Operand, Session, Spec};

/// Runs a program and writes the events of a conditional breakpoint.
pub(crate) fn run(command: Command, address: u64, arrival: u64, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut session = Session::new()?;
    let pid = session.spawn(command)?;
    let process = session.process(pid).ok_or("the program is gone")?;
    let path = process.executable().to_path_buf();
    let maps = process.maps()?;
    let first = maps.iter().find(|map| map.path.as_deref() == Some(&path)).ok_or("the program is not mapped")?;

    // A register or memory can be the left side as well.
    let condition = Operand::Arrivals.is(Comparison::Equal, arrival);
    let spec = Spec::event(first.start + (address - first.offset)).when(condition);
    let id = session.insert(pid, &[spec])?.remove(0)?;
    session.resume(pid.leader())?;

    while let Some(event) = session.wait()? {
        let breakpoint = session.breakpoint(pid, id).ok_or("the breakpoint is known until its process is")?;
        match event.kind {
            EventKind::Hit(_) => writeln!(out, "held at arrival {}", breakpoint.arrivals())?,
            EventKind::Exited(_) => {
                writeln!(out, "{} arrivals, {} held", breakpoint.arrivals(), breakpoint.hits())?;
            }
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid)?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: hold_by_condition PROGRAM ADDRESS ARRIVAL [ARGS…]";
    let mut args = std::env::args().skip(1);
    let (program, address, arrival) =
        args.next().zip(args.next()).zip(args.next()).map(|((a, b), c)| (a, b, c)).ok_or(usage)?;
    let mut command = Command::new(program);
    command.args(args);
    run(command, u64::from_str_radix(&address, 16)?, arrival.parse()?, &mut io::stderr())
}
