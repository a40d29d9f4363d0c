//! Shows the bytes of two commands, and parses them again.

use std::error::Error;
use std::io::{self, Write};

use wire::commands::Command;
use wire::{Split, split};

pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    // Bytes that a program would write to /dev/ntrace.
    let mut buffer = Vec::new();
    let commands = [Command::Attach { process: 1234, options: 0 }, Command::Remove { debuggee: 1, addresses: &[0; 8] }];
    for (tag, command) in (1..).zip(commands) {
        command.encode(&mut buffer, tag, 0)?;
    }

    // A reader may get any part of the stream: here the last byte is still missing.
    let (mut rest, missing) = buffer.split_at(buffer.len() - 1);
    while let Split::Message(message, behind) = split(rest)? {
        writeln!(out, "{} bytes: {:?}", rest.len() - behind.len(), Command::parse(&message)?)?;
        rest = behind;
    }
    let whole = [rest, missing].concat();
    let Split::Message(message, _) = split(&whole)? else { return Err("the message is whole now".into()) };
    writeln!(out, "{} bytes: {:?}", whole.len(), Command::parse(&message)?)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout())
}
