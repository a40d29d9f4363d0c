//! Writes a line whenever a program comes by: `log_points PROGRAM ADDRESS=TEXT… [-- ARGS…]`.
//!
//! Addresses are hexadecimal, counted from the start of the program's file mapping. `{rdi}` in a text stands for the register's value.

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, Write};
use std::process::Command;

use ubp::{BreakpointId, EventKind, Options, Registers, Session, Spec};

/// The text with the values of the registers that it names.
fn filled(text: &str, registers: &Registers) -> String {
    let shown = format!("{registers:?}");
    let fields = shown.trim_start_matches("Registers { ").trim_end_matches(" }").split(", ");
    let values = fields.filter_map(|field| field.split_once(": "));
    values.fold(text.to_string(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// Runs a program and writes the texts of the places that it comes by, each with its number of hits.
pub(crate) fn run(command: Command, points: &[(u64, String)], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut options = Options::default();
    options.signals = false;
    options.threads = false;
    let mut session = Session::with_options(options)?;
    let pid = session.spawn(command)?;
    let process = session.process(pid).ok_or("the program is gone")?;
    let path = process.executable().to_path_buf();
    let maps = process.maps()?;
    let first = maps.iter().find(|map| map.path.as_deref() == Some(&path)).ok_or("the program is not mapped")?;

    let specs: Vec<Spec> =
        points.iter().map(|(address, _)| Spec::event(first.start + (address - first.offset))).collect();
    let ids = session.insert(pid, &specs)?.into_iter().collect::<Result<Vec<BreakpointId>, _>>()?;
    let texts: HashMap<BreakpointId, &str> =
        ids.into_iter().zip(points.iter().map(|(_, text)| text.as_str())).collect();
    session.resume(pid.leader())?;

    while let Some(event) = session.wait()? {
        match &event.kind {
            EventKind::Hit(hit) => {
                let registers = session.registers(event.tid)?;
                // Several texts at one address are one event.
                for (id, count) in hit.breakpoints() {
                    let text = texts.get(&id).copied().unwrap_or_default();
                    writeln!(out, "{} #{count}: {}", event.tid, filled(text, &registers))?;
                }
            }
            EventKind::Forked { child } => session.resume(child.leader())?,
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid)?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let program = args.next().ok_or("usage: log_points PROGRAM ADDRESS=TEXT… [-- ARGS…]")?;
    let mut points = Vec::new();
    for point in args.by_ref().take_while(|arg| arg != "--") {
        let (address, text) = point.split_once('=').ok_or("a point is ADDRESS=TEXT")?;
        points.push((u64::from_str_radix(address, 16)?, text.to_string()));
    }
    let mut command = Command::new(program);
    command.args(args);
    run(command, &points, &mut io::stderr())
}
