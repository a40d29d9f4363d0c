//! Stops at a source line and lists the code around it: `lines FILE:LINE -- PROGRAM ARGS…`.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use ubp::{Address, EventKind, Session, Spec};
use ubp_symbols::files::open;
use ubp_symbols::{Images, Modules, by_line};

/// The number of lines that are listed before and after a line.
const AROUND: usize = 2;
/// The largest source file that is listed, in bytes.
const LARGEST: u64 = 16 << 20;

/// Runs a program and lists the source each time that a thread comes to a line.
pub(crate) fn run(command: Command, file: &str, line: u64, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut session = Session::new()?;
    let pid = session.spawn(command)?;
    let (mut images, mut modules) = (Images::default(), Modules::new(pid));
    insert(&mut session, &mut modules, &mut images, (file, line), out)?;
    session.resume(pid.leader())?;
    while let Some(event) = session.wait()? {
        match event.kind {
            EventKind::Loaded(_) | EventKind::Unloaded(_) => {
                insert(&mut session, &mut modules, &mut images, (file, line), out)?;
            }
            EventKind::Exec if event.pid == pid => modules = Modules::new(pid),
            EventKind::Forked { child } => session.detach(child)?,
            EventKind::Hit { .. } => {
                let place = modules.describe(session.registers(event.tid)?.pc().0);
                writeln!(out, "{}", place.to_string().escape_debug())?;
                if let Some((path, line)) = &place.line {
                    list(path, *line as usize, out)?;
                }
            }
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid)?;
        }
    }
    Ok(())
}

/// Sets a breakpoint at each address of the line in new modules.
fn insert(
    session: &mut Session,
    modules: &mut Modules,
    images: &mut Images,
    (file, line): (&str, u64),
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    for module in modules.update(session, images)? {
        let found = by_line(&module.image, file, line);
        if let Some(note) = found.note {
            writeln!(out, "{note}")?;
        }
        let specs: Vec<Spec> =
            found.sites.iter().map(|site| Spec::event(Address(module.in_memory(site.address)))).collect();
        for answer in session.insert(modules.pid(), &specs)? {
            answer?;
        }
    }
    Ok(())
}

/// Lists a source file around a line. The path comes from debug information: nobody knows what it leads to.
fn list(path: &str, line: usize, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let file = open(Path::new(path))?;
    let bytes = file.read(0, file.size().min(LARGEST)).ok_or("the source file cannot be read")?;
    let text = String::from_utf8_lossy(&bytes);
    let first = line.saturating_sub(AROUND).max(1);
    for (number, code) in (1..).zip(text.lines()).skip(first - 1).take(line + AROUND - first + 1) {
        let mark = if number == line { '>' } else { ' ' };
        writeln!(out, "{mark} {number:>5}  {}", code.escape_debug())?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let place = args.next().filter(|_| args.next().as_deref() == Some("--"));
    let place = place.as_deref().and_then(|place| place.rsplit_once(':'));
    let (Some((file, line)), Some(program)) = (place, args.next()) else {
        return Err("usage: lines FILE:LINE -- PROGRAM ARGS…".into());
    };
    let mut command = Command::new(program);
    command.args(args);
    run(command, file, line.parse()?, &mut io::stdout())
}
