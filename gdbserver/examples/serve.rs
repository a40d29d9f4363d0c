//! Waits for gdb or lldb on the loopback interface: `serve -p PID`, or `serve -- PROGRAM ARGS…`.

use std::error::Error;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

use gdbserver::Server;
use ubp::Pid;

/// The program that a client debugs.
pub(crate) enum Target {
    Process(Pid),
    Program(Command),
}

/// Holds the target, writes the command with which gdb connects, and serves the first client until it leaves. What it leaves runs on.
pub(crate) fn run(target: Target, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut server = Server::new()?;
    let pid = match target {
        Target::Process(pid) => server.attach(pid)?,
        Target::Program(command) => server.spawn(command)?,
    };
    // The kernel chooses a port that is free.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    writeln!(out, "process {}: gdb -ex 'target remote {}'", pid.0, listener.local_addr()?)?;
    out.flush()?;
    let (connection, _) = listener.accept()?;
    // Packets are small, and each waits for the answer to the one before.
    connection.set_nodelay(true)?;
    server.serve(connection.try_clone()?.into(), connection.into())?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let target = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["-p", pid] => Target::Process(Pid(pid.parse()?)),
        ["--", program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments);
            Target::Program(command)
        }
        _ => return Err("usage: serve -p PID | serve -- PROGRAM ARGS…".into()),
    };
    run(target, &mut std::io::stdout())
}
