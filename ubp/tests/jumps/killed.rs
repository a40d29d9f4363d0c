//! Killed tracers: the program runs on with the jumps, and the next tracer removes them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use ubp::{Address, Method, Options, Patch, Pid, Session, Spec};

use super::life::code;
use crate::common::machine::is_jump;
use crate::common::*;
use crate::{KINDS, by_ptrace, end_of};

/// The process that [`tracer`] is to attach to.
const TARGET: &str = "UBP_TEST_JUMPS_TARGET";
pub(crate) const FUNCTIONS: [&str; 2] = ["work", "leaf"];
/// The number of the kind of breakpoints that it is to set.
pub(crate) const KIND: &str = "UBP_TEST_JUMPS_KIND";

/// A tracer for the other tests, in its own process.
#[test]
fn tracer() {
    trace_by(&KINDS, Patch::Jump, &FUNCTIONS);
}

/// Sets breakpoints at functions of the process that the environment names, and reports that.
pub(crate) fn trace_by(kinds: &[fn(Address) -> Spec], patch: Patch, functions: &[&str]) {
    let Some(pid) = target() else { return };
    let mut options = Options::default();
    (options.signals, options.threads) = (false, false);
    options.buffer.stack = 512;
    let mut session = Session::with_options(options).unwrap();
    session.attach(pid).unwrap();
    let kind = kinds[std::env::var(KIND).unwrap().parse::<usize>().unwrap()];
    let entry = |name: &&str| kind(symbol(&session, pid, name)).patch(patch);
    let entries: Vec<Spec> = functions.iter().map(entry).collect();
    for answer in session.insert(pid, &entries).unwrap() {
        let method = session.breakpoint(pid, answer.unwrap()).unwrap().method();
        assert!(patch == Patch::Auto || method == Method::Jumped);
    }
    println!("\njumps");
    while let Some(event) = session.wait().unwrap() {
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
}

/// Starts one of the tracers, and waits until its jumps are there.
pub(crate) fn traced(tracer: &str, pid: Pid, kind: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", tracer, "--nocapture"]).env(TARGET, pid.0.to_string());
    command.env(KIND, kind.to_string());
    let mut tracer = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(tracer.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "jumps"), "the tracer failed");
    tracer
}

pub(crate) fn kill(mut tracer: Child) {
    tracer.kill().unwrap();
    tracer.wait().unwrap();
}

#[test]
fn a_program_runs_on_with_its_jumps_until_the_next_tracer_removes_them() {
    (0..KINDS.len()).for_each(run_on);
}

fn run_on(kind: usize) {
    let program = build("killed", &[]);
    let (child, mut out) = start(&program, &[]);
    assert_eq!(line(&mut out), "ready\n");
    let pid = Pid(child.id() as i32);
    kill(traced("killed::tracer", pid, kind));
    assert!(code(&program, pid, &FUNCTIONS).values().all(|(there, own)| is_jump(there) && there != own));
    let mut session = by_ptrace();
    session.attach(pid).unwrap();
    assert!(code(&program, pid, &FUNCTIONS).values().all(|(there, own)| there == own));
    let base = load_address(&session, pid);
    let sites = FUNCTIONS.iter().flat_map(|name| instructions(&program, name));
    let specs: Vec<Spec> = sites.map(|at| Spec::count(Address(base + at)).patch(Patch::Auto)).collect();
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    while session.breakpoint(pid, ids[0]).unwrap().hits() < 100 {
        if let Some(event) = session.poll().unwrap() {
            session.resume(event.tid).unwrap();
        }
    }
    session.detach(pid).unwrap();
    assert!(code(&program, pid, &FUNCTIONS).values().all(|(there, own)| there == own));
    assert_eq!(end_of(child, out), "wrong 0 traps 0\n");
}

/// The process that the environment names.
pub(crate) fn target() -> Option<Pid> {
    std::env::var_os(TARGET).map(|pid| Pid(pid.to_str().unwrap().parse().unwrap()))
}
