//! Shows the stack of a thread at a function: `backtrace FUNCTION -p PID`, or `backtrace FUNCTION -- PROGRAM ARGS…`.

use std::error::Error;
use std::io::{self, Write};
use std::process::Command;

use ubp::{Address, EventKind, Pid, Session, Spec};
use ubp_symbols::{Images, Modules, Pattern, by_name};

/// What to stop.
pub(crate) enum Target {
    Process(Pid),
    Program(Command),
}

/// Stops at the first call of a function, writes the frames of the thread that calls it, and lets the program go on without breakpoints.
pub(crate) fn run(target: Target, function: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut session = Session::new()?;
    let (mut images, name) = (Images::default(), Pattern::new(function));
    let (pid, is_new) = match target {
        Target::Process(pid) => (session.attach(pid)?, false),
        Target::Program(command) => (session.spawn(command)?, true),
    };
    let mut modules = Modules::new(pid);
    insert(&mut session, &mut modules, &mut images, &name)?;
    if is_new {
        session.resume(pid.leader())?;
    }
    while let Some(event) = session.wait()? {
        match event.kind {
            EventKind::Loaded(_) | EventKind::Unloaded(_) => insert(&mut session, &mut modules, &mut images, &name)?,
            EventKind::Exec => {
                modules = Modules::new(pid);
                insert(&mut session, &mut modules, &mut images, &name)?;
            }
            EventKind::Forked { child } => session.detach(child)?,
            EventKind::Hit { .. } => {
                for (number, frame) in modules.backtrace(&session, event.tid)?.iter().enumerate() {
                    // A file chooses the names in it.
                    let place = frame.place.to_string().escape_debug().to_string();
                    writeln!(out, "#{number:<3} {:#018x} {place}", frame.address)?;
                }
                session.detach(pid)?;
                return Ok(());
            }
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid)?;
        }
    }
    Err(format!("the program ended before it called {function}").into())
}

/// Sets a breakpoint on each function of that name in new modules.
fn insert(
    session: &mut Session,
    modules: &mut Modules,
    images: &mut Images,
    name: &Pattern,
) -> Result<(), Box<dyn Error>> {
    for module in modules.update(session, images)? {
        let found = by_name(&module.image, name, 0).sites;
        // A resolver (STT_GNU_IFUNC) only chooses the function that callers get.
        let functions = found.iter().filter(|site| !site.indirect);
        let specs: Vec<Spec> = functions.map(|site| Spec::event(Address(module.in_memory(site.address)))).collect();
        for answer in session.insert(modules.pid(), &specs)? {
            answer?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: backtrace FUNCTION -p PID | backtrace FUNCTION -- PROGRAM ARGS…";
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (function, target) = match args.as_slice() {
        [function, option, pid] if option == "-p" => (function, Target::Process(Pid(pid.parse()?))),
        [function, option, program, rest @ ..] if option == "--" => {
            let mut command = Command::new(program);
            command.args(rest);
            (function, Target::Program(command))
        }
        _ => return Err(USAGE.into()),
    };
    run(target, function, &mut io::stdout())
}
