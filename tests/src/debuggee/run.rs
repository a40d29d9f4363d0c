use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Stdio};

use super::Program;
use ubp::{Address, EventKind, Options, Session, Spec};

/// What a program prints, and how it ends, undisturbed.
///
/// # Panics
/// Where it cannot be run.
pub fn alone(command: &mut Command) -> (String, EventKind) {
    use std::os::unix::process::ExitStatusExt;
    let output = command.stderr(Stdio::inherit()).output().expect("the program runs");
    let status = output.status;
    let end = match (status.code(), status.signal()) {
        (Some(code), _) => EventKind::Exited(code),
        (None, signal) => EventKind::Killed(ubp::Signal(signal.unwrap_or_default())),
    };
    (String::from_utf8_lossy(&output.stdout).into_owned(), end)
}

/// Runs the program with a counting site on every instruction of `functions`, forked children included. Also returns the hits of each
/// instruction, by its address as the file numbers it.
///
/// # Panics
/// Where a site cannot be inserted, or the program cannot be run.
pub fn with_sites(
    program: &Program,
    arguments: &[&str],
    functions: &[&str],
) -> (String, EventKind, BTreeMap<u64, u64>) {
    let mut options = Options::default();
    options.signals = false;
    options.threads = false;
    let mut session = Session::with_options(options).expect("a session");
    let mut command = program.command(arguments);
    command.stdout(Stdio::piped());
    let pid = session.spawn(command).expect("the program runs");
    let mut pipe = session.take_stdio(pid).stdout.expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).map(|_| text)
    });
    let base = program.base(&session, pid).expect("the program is mapped");
    let sites = functions.iter().flat_map(|function| program.instructions(function));
    let specs: Vec<Spec> = sites.map(|at| Spec::count(Address(base + at))).collect();
    for (answer, spec) in session.insert(pid, &specs).expect("the process lives").into_iter().zip(&specs) {
        answer.unwrap_or_else(|error| panic!("no site at {}: {error}", spec.address));
    }
    session.resume(pid.leader()).expect("it is held");
    let mut end = None;
    let mut hits = BTreeMap::new();
    while let Some(event) = session.wait().expect("an event") {
        match event.kind {
            EventKind::Exited(_) | EventKind::Killed(_) if event.pid == pid => {
                hits = session.breakpoints(pid).map(|b| (b.address().0 - base, b.hits())).collect();
                end = Some(event.kind.clone());
            }
            EventKind::Forked { child } => session.resume(child.leader()).expect("the child is held"),
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid).expect("it is held");
        }
    }
    (reader.join().expect("a reader").expect("text"), end.expect("the program ended"), hits)
}
