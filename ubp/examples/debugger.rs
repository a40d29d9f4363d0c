//! A small debugger of one thread: `debugger PROGRAM [ARGS…]`, with commands on the standard input.
//!
//! `break ADDRESS`, `continue`, `step`, `over`, `until ADDRESS`, `registers`, `memory ADDRESS`, `backtrace`. Addresses are
//! hexadecimal; `+` before one counts from the start of the program's file mapping.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::process::Command;

use ubp::arch::Reg;
use ubp::{Address, EventKind, Pid, Session, Spec};

/// The frame pointer: it points to the caller's frame pointer, and the return address is behind that.
#[cfg(target_arch = "aarch64")]
const FRAME_POINTER: Reg = Reg::general(29);
#[cfg(target_arch = "x86_64")]
const FRAME_POINTER: Reg = Reg::RBP;

/// The pcs of a held thread's frames, innermost first.
fn backtrace(session: &mut Session, pid: Pid) -> ubp::Result<Vec<Address>> {
    let registers = session.registers(pid.leader())?;
    let (mut frame, mut pcs) = (registers.get(FRAME_POINTER).unwrap_or(0), vec![registers.pc()]);
    let mut words = [0; 16];
    // A hostile program may have a ring of frames.
    while pcs.len() < 64 && matches!(session.read_memory(pid, Address(frame), &mut words), Ok(16)) {
        let word = |at: usize| words[at..at + 8].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        pcs.push(Address(word(8)));
        frame = word(0);
    }
    Ok(pcs)
}

/// Resumes threads until the first one is held by an event that a user wants to see; `false`: the program has ended.
fn run_on(session: &mut Session, pid: Pid, out: &mut impl Write) -> Result<bool, Box<dyn Error>> {
    while let Some(event) = session.wait()? {
        match &event.kind {
            EventKind::Hit(hit) => writeln!(out, "breakpoint {} at {}, hit {}", hit.id(), hit.address(), hit.count())?,
            EventKind::Stepped => writeln!(out, "at {}", session.registers(event.tid)?.pc())?,
            EventKind::Signal(info) => writeln!(out, "{}", info.signal)?,
            EventKind::Exited(status) => writeln!(out, "exited with {status}")?,
            EventKind::Killed(signal) => writeln!(out, "killed by {signal}")?,
            EventKind::Forked { child } => session.detach(*child)?,
            _ => {}
        }
        match event.kind {
            EventKind::Exited(_) | EventKind::Killed(_) if event.pid == pid => return Ok(false),
            EventKind::Hit(_) | EventKind::Stepped | EventKind::Signal(_) if event.tid == pid.leader() => break,
            _ if event.is_held() => session.resume(event.tid)?,
            _ => {}
        }
    }
    Ok(true)
}

/// Runs a program by commands.
pub(crate) fn run(command: Command, commands: impl BufRead, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut session = Session::new()?;
    let pid = session.spawn(command)?;
    let tid = pid.leader();
    let process = session.process(pid).ok_or("the program is gone")?;
    let path = process.executable().to_path_buf();
    let maps = process.maps()?;
    let first = maps.iter().find(|map| map.path.as_deref() == Some(&path)).ok_or("the program is not mapped")?;
    let base = first.start.0 - first.offset;
    for line in commands.lines() {
        let line = line?;
        let (name, rest) = line.split_once(' ').unwrap_or((&line, "0"));
        let number = u64::from_str_radix(rest.trim_start_matches('+'), 16)?;
        let address = Address(if rest.starts_with('+') { base + number } else { number });
        let begun = match name {
            "break" => session.insert(pid, &[Spec::event(address)])?.remove(0).map(|_| false).map_err(Into::into),
            "continue" => session.resume(tid).map(|()| true),
            "step" => session.step(tid).map(|()| true),
            "over" => session.step_over(tid).map(|()| true),
            "until" => session.run_to(tid, address).map(|()| true),
            "registers" => session.registers(tid).map(|all| writeln!(out, "{all:?}").is_err()),
            "backtrace" => backtrace(&mut session, pid).map(|pcs| writeln!(out, "{pcs:?}").is_err()),
            "memory" => {
                let mut bytes = [0; 16];
                session.read_memory(pid, address, &mut bytes).map(|n| writeln!(out, "{:02x?}", &bytes[..n]).is_err())
            }
            _ => Ok(writeln!(out, "no such command: {name}").is_err()),
        };
        match begun {
            Ok(true) if !run_on(&mut session, pid, out)? => break,
            Ok(_) => {}
            Err(error) => writeln!(out, "{error}")?,
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let mut command = Command::new(args.next().ok_or("usage: debugger PROGRAM [ARGS…]")?);
    command.args(args);
    run(command, io::stdin().lock(), &mut io::stdout())
}
