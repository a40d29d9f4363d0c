//! Killed tracers: the processes that they attached to continue.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use common::*;
use ubp::{Address, Event, EventKind, Options, Pid, Session, Spec};

/// The process that [`tracer`] is to attach to.
const TARGET: &str = "UBP_TEST_TARGET";
/// Functions with a breakpoint on each instruction.
const FUNCTIONS: [&str; 2] = ["work", "leaf"];
/// Hits that the tracer counts before it reports that.
const HITS: u64 = 200;
/// The longest wait in these tests.
const LIMIT: Duration = Duration::from_secs(10);

fn counting(session: &mut Session, pid: Pid) {
    let program = session.process(pid).unwrap().executable().to_path_buf();
    let base = load_address(session, pid);
    let sites = FUNCTIONS.iter().flat_map(|function| instructions(&program, function));
    let specs: Vec<Spec> = sites.map(|at| Spec::count(Address(base + at))).collect();
    for answer in session.insert(pid, &specs).unwrap() {
        answer.unwrap();
    }
    while session.breakpoints(pid).map(|breakpoint| breakpoint.hits()).sum::<u64>() < HITS {
        if let Some(event) = session.poll().unwrap() {
            let is_end = matches!(event.kind, EventKind::Exited(_) | EventKind::Killed(_));
            assert!(!is_end || event.pid != pid, "the program ended: {event:?}");
            go_on(session, &event);
        }
    }
}

/// A tracer for the other tests, in its own process: counts hits until it is killed, and reports when it has begun.
#[test]
fn tracer() {
    let Some(pid) = std::env::var_os(TARGET) else { return };
    let pid = Pid(pid.to_str().unwrap().parse().unwrap());
    let mut options = Options::default();
    (options.signals, options.threads) = (false, false);
    let mut session = Session::with_options(options).unwrap();
    session.attach(pid).unwrap();
    counting(&mut session, pid);
    println!("\ncounts");
    while let Some(event) = session.wait().unwrap() {
        go_on(&mut session, &event);
    }
}

fn go_on(session: &mut Session, event: &Event) {
    if let EventKind::Forked { child } = event.kind {
        session.resume(child.leader()).unwrap();
    }
    if event.is_held() {
        session.resume(event.tid).unwrap();
    }
}

/// Starts a tracer for a process.
fn traced(pid: Pid) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tracer", "--nocapture"]).env(TARGET, pid.0.to_string());
    command.stdout(Stdio::piped()).spawn().unwrap()
}

fn until_it_counts(tracer: &mut Child) {
    // The pipe stays open, because the tracer may write more.
    let lines = BufReader::new(tracer.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "counts"), "the tracer failed");
}

fn kill(tracer: &mut Child) {
    tracer.kill().unwrap();
    tracer.wait().unwrap();
}

fn within_limit(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
        std::thread::yield_now();
    }
}

/// Whether the functions are as in the program's file.
fn is_as_in_file(program: &Path, pid: Pid) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let first = maps.lines().find(|line| line.ends_with(program.to_str().unwrap())).expect("the program runs");
    let base = u64::from_str_radix(first.split_once('-').unwrap().0, 16).unwrap();
    let (file, memory) =
        (std::fs::File::open(program).unwrap(), std::fs::File::open(format!("/proc/{pid}/mem")).unwrap());
    FUNCTIONS.iter().all(|function| {
        let all = instructions(program, function);
        let (first, last) = (all[0], all[all.len() - 1]);
        let (mut own, mut there) = (vec![0; (last - first) as usize + 1], vec![0; (last - first) as usize + 1]);
        file.read_exact_at(&mut own, first).unwrap();
        memory.read_exact_at(&mut there, base + first).unwrap();
        own == there
    })
}

/// Whether a process has a handler for `SIGTRAP` (proc_pid_status(5)).
fn handles_traps(pid: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << (libc::SIGTRAP - 1) != 0
}

struct Target {
    program: PathBuf,
    child: Child,
    out: BufReader<ChildStdout>,
    pid: Pid,
}

fn target(flags: &[&str], args: &[&str]) -> Target {
    let program = build("killed", flags);
    let (child, mut out) = start(&program, args);
    assert_eq!(line(&mut out), "ready\n");
    let pid = Pid(child.id() as i32);
    Target { program, child, out, pid }
}

impl Target {
    /// Lets the program end, and returns its output.
    fn end(mut self, bytes: &[u8]) -> (String, std::process::ExitStatus) {
        self.child.stdin.take().unwrap().write_all(bytes).unwrap();
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        (text, self.child.wait().unwrap())
    }
}

#[test]
fn a_program_runs_on_and_loses_each_breakpoint_that_it_meets() {
    for args in [&[][..], &["fork"]] {
        loses_each_breakpoint(&[], args);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_program_of_32_bits_runs_on_and_loses_each_breakpoint_that_it_meets() {
    loses_each_breakpoint(&["-m32"], &["fork"]);
}

fn loses_each_breakpoint(flags: &[&str], args: &[&str]) {
    let target = target(flags, args);
    for round in 0..8 {
        let mut tracer = traced(target.pid);
        until_it_counts(&mut tracer);
        kill(&mut tracer);
        within_limit(&format!("{args:?}, round {round}"), || is_as_in_file(&target.program, target.pid));
    }
    let (text, status) = target.end(b"x");
    assert_eq!((text.as_str(), status.code()), ("wrong 0 traps 0\n", Some(0)), "{args:?}: {status}");
}

#[test]
fn a_tracer_that_comes_later_detaches_and_nothing_is_left() {
    let target = target(&[], &[]);
    let mut tracer = traced(target.pid);
    until_it_counts(&mut tracer);
    kill(&mut tracer);
    assert!(handles_traps(target.pid));
    let mut session = Session::new().unwrap();
    session.attach(target.pid).unwrap();
    counting(&mut session, target.pid);
    session.detach(target.pid).unwrap();
    assert!(!handles_traps(target.pid));
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", target.pid)).unwrap();
    let code_of_nothing = maps.lines().filter(|map| map.contains("r-xp") && map.split_whitespace().count() < 6);
    assert_eq!(code_of_nothing.collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(is_as_in_file(&target.program, target.pid));
    let (text, status) = target.end(b"x");
    assert_eq!((text.as_str(), status.code()), ("wrong 0 traps 0\n", Some(0)), "{status}");
}

#[test]
fn a_trap_of_the_programs_own_kills_it_as_ever() {
    let bytes: &[&[u8]] = if cfg!(target_arch = "x86_64") { &[b"b", b"r", b"i"] } else { &[b"b", b"r"] };
    for byte in bytes {
        for killed in [false, true] {
            let target = target(&[], &[]);
            let mut tracer = traced(target.pid);
            until_it_counts(&mut tracer);
            if killed {
                kill(&mut tracer);
            }
            let (text, status) = target.end(byte);
            assert_eq!((text.as_str(), status.signal()), ("", Some(libc::SIGTRAP)), "killed: {killed}");
            if !killed {
                tracer.wait().unwrap();
            }
        }
    }
}

#[test]
fn a_step_of_which_the_processor_tells_nothing_ends_no_program() {
    if cfg!(target_arch = "aarch64") {
        return skip("a_step_of_which_the_processor_tells_nothing_ends_no_program", "arm64 tells of each step");
    }
    for flags in machine::WIDTHS {
        let target = target(flags, &[]);
        let mut tracer = traced(target.pid);
        until_it_counts(&mut tracer);
        kill(&mut tracer);
        let (text, status) = target.end(b"uuux");
        assert_eq!((text.as_str(), status.code()), ("wrong 0 traps 0\n", Some(0)), "{flags:?}: {status}");
    }
}

#[test]
fn a_handler_of_the_programs_own_stays() {
    let target = target(&[], &["own"]);
    let mut session = Session::new().unwrap();
    session.attach(target.pid).unwrap();
    counting(&mut session, target.pid);
    session.detach(target.pid).unwrap();
    assert!(handles_traps(target.pid));
    let (text, status) = target.end(b"brx");
    assert_eq!((text.as_str(), status.code()), ("wrong 0 traps 2\n", Some(0)), "{status}");
}

#[test]
fn a_tracer_may_be_killed_while_it_attaches_and_inserts() {
    if cfg!(target_arch = "aarch64") {
        // No single instruction loads all registers.
        return skip("a_tracer_may_be_killed_while_it_attaches_and_inserts", "threads find no way back alone");
    }
    for flags in machine::WIDTHS {
        killed_while_attaching(flags);
    }
}

fn killed_while_attaching(flags: &[&str]) {
    let mut target = target(flags, &[]);
    for round in 0..20u64 {
        let mut tracer = traced(target.pid);
        let traced = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", target.pid)).unwrap();
            !status.contains("TracerPid:\t0\n")
        };
        within_limit("attaching", traced);
        let moment = Instant::now();
        // Between the first and the last step of an attachment.
        while moment.elapsed() < Duration::from_micros(round * 250) {
            std::hint::spin_loop();
        }
        kill(&mut tracer);
        if let Some(status) = target.child.try_wait().unwrap() {
            panic!("round {round}: {status}");
        }
        within_limit(&format!("round {round}"), || is_as_in_file(&target.program, target.pid));
    }
    let (text, status) = target.end(b"x");
    assert_eq!((text.as_str(), status.code()), ("wrong 0 traps 0\n", Some(0)), "{status}");
}
