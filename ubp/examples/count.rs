//! Counts how often addresses of a program are executed: `count PROGRAM ADDRESS… [-- ARGS…]`, addresses in hexadecimal, from the
//! start of the program's file mapping.

use std::process::{Command, ExitCode};

use ubp::{Address, EventKind, Options, Session, Spec};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let program = args.next().ok_or("usage: count PROGRAM ADDRESS… [-- ARGS…]")?;
    let addresses: Vec<u64> = args
        .by_ref()
        .take_while(|arg| arg != "--")
        .map(|arg| u64::from_str_radix(&arg, 16))
        .collect::<Result<_, _>>()?;

    let mut command = Command::new(&program);
    command.args(args);
    let mut options = Options::default();
    options.signals = false;
    options.threads = false;
    let mut session = Session::with_options(options)?;
    let pid = session.spawn(command)?;

    let process = session.process(pid).ok_or("the program is gone")?;
    let path = process.executable().to_path_buf();
    let maps = process.maps()?;
    let first = maps.iter().find(|map| map.path.as_deref() == Some(&path)).ok_or("the program is not mapped")?;
    let base = first.start.0 - first.offset;

    let specs: Vec<Spec> = addresses.iter().map(|address| Spec::count(Address(base + address))).collect();
    for answer in session.insert(pid, &specs)? {
        if let Err(error) = answer {
            eprintln!("{error}");
        }
    }
    session.resume(pid.leader())?;

    let mut code = ExitCode::SUCCESS;
    while let Some(event) = session.wait()? {
        match event.kind {
            EventKind::Exited(status) if event.pid == pid => code = ExitCode::from(status as u8),
            EventKind::Killed(signal) => eprintln!("{}: killed by {signal}", event.pid),
            _ => {}
        }
        if matches!(event.kind, EventKind::Exited(_) | EventKind::Killed(_)) {
            for breakpoint in session.breakpoints(event.pid) {
                eprintln!("{:>10} {:#x}", breakpoint.hits(), breakpoint.address().0 - base);
            }
        }
        if let EventKind::Forked { child } = event.kind {
            session.resume(child.leader())?;
        }
        if event.is_held() {
            session.resume(event.tid)?;
        }
    }
    Ok(code)
}
