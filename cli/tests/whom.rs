//! Which processes are traced, and for how long.

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use common::running::Running;
use common::{build, ntrace, run, scratch, stderr};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A program that works until SIGTERM, and then ends with status 3.
struct Working {
    child: Running,
    out: BufReader<std::process::ChildStdout>,
}

impl Working {
    fn start(program: &std::path::Path) -> Working {
        let mut child = Running::start(Command::new(program).stdout(Stdio::piped()));
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        out.read_line(&mut ready).unwrap();
        Working { child, out }
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Ends the program, which must not have noticed anything.
    fn end(mut self) {
        signal(&self.child, Signal::SIGTERM);
        let rest: Vec<String> = self.out.by_ref().lines().map(Result::unwrap).collect();
        assert_eq!((rest.as_slice(), self.child.wait().unwrap().code()), (&["done".to_string()][..], Some(3)));
    }
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
}

/// Traces `beat` until all of these processes have hits, and no other has.
fn trace_all(flags: &[String], processes: &[Working]) {
    trace_these(flags, &processes.iter().map(Working::pid).collect());
}

/// The same by the ids of the processes.
fn trace_these(flags: &[String], all: &BTreeSet<String>) {
    let file = scratch("hits");
    let mut tracer = ntrace();
    // ntrace ends by itself if a process is missing.
    tracer.args(["trace", "-b", "beat", "--duration", "60s"]);
    let mut tracer = Running::start(tracer.args(["--format", "json", "-o"]).arg(&file).args(flags));
    let seen = || {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        // The last line may not be complete yet.
        let hits = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        hits.map(|hit| hit["pid"].to_string()).collect::<BTreeSet<String>>()
    };
    while seen() != *all {
        assert_eq!(tracer.try_wait().unwrap(), None, "ntrace ended");
        std::thread::yield_now();
    }
    signal(&tracer, Signal::SIGTERM);
    assert_eq!(tracer.wait().unwrap().code(), Some(0));
    assert_eq!(seen(), *all);
}

#[test]
fn several_processes_are_traced_at_once_and_run_on() {
    let program = build("waits.c", &[]);
    let working: Vec<Working> = (0..3).map(|_| Working::start(&program)).collect();
    // A process that is named twice is traced once.
    let pids = working.iter().chain(working.first()).map(Working::pid);
    let flags: Vec<String> = pids.flat_map(|pid| ["-p".to_string(), pid]).collect();
    trace_all(&flags, &working);
    working.into_iter().for_each(Working::end);
}

#[test]
fn processes_are_found_by_the_name_of_their_program() {
    let program = build("waits.c", &[]);
    let name = program.file_name().unwrap().to_str().unwrap();
    let working = [Working::start(&program), Working::start(&program)];
    trace_all(&["--name".into(), name.into()], &working);
    working.into_iter().for_each(Working::end);
    let output = run(&["count", "-b", "beat", "--name", name]);
    assert_eq!(output.status.code(), Some(127), "{}", stderr(&output));
}

#[test]
fn processes_are_found_by_the_path_of_their_executable_file() {
    let (program, other) = (build("waits.c", &[]), build("waits.c", &[]));
    let [path, name] = [program.to_str().unwrap(), program.file_name().unwrap().to_str().unwrap()];
    let working = [Working::start(&program), Working::start(&program)];
    let others = Working::start(&other);
    let folder = path.rsplit('/').nth(1).unwrap();
    trace_all(&["--exec".into(), format!("*/{folder}/{name}")], &working);
    trace_all(&["--exec".into(), format!("{}?", &name[..name.len() - 1])], &working);
    working.into_iter().for_each(Working::end);
    let output = run(&["count", "-b", "beat", "--exec", name]);
    assert_eq!(output.status.code(), Some(127), "{}", stderr(&output));
    others.end();
}

/// The processes that a process has made.
fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn processes_of_a_container_are_those_of_its_pid_namespace() {
    let program = build("waits.c", &[]);
    let outside = Working::start(&program);
    let mut unshare = Command::new("unshare");
    unshare.args(["-r", "-p", "-f", "sh", "-c", "\"$0\" & exec \"$0\""]).arg(&program);
    let mut container = unshare.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut ready = BufReader::new(container.stdout.take().unwrap()).lines();
    // Both processes say that they are ready, unless the kernel permits no namespaces.
    if !matches!((ready.next(), ready.next()), (Some(Ok(_)), Some(Ok(_)))) {
        let _ = container.wait();
        outside.end();
        return crossing::skip("processes_of_a_container_are_those_of_its_pid_namespace", "no PID namespace");
    }
    let first = children(container.id())[0];
    let all: BTreeSet<String> = children(first).into_iter().chain([first]).map(|pid| pid.to_string()).collect();
    assert_eq!(all.len(), 2);
    for pid in &all {
        trace_these(&["--container".into(), pid.clone()], &all);
    }
    // The end of its first process ends a PID namespace.
    kill(Pid::from_raw(first as i32), Signal::SIGKILL).unwrap();
    container.wait().unwrap();
    outside.end();
    let output = run(&["count", "-b", "beat", "--container", &first.to_string()]);
    assert_eq!(output.status.code(), Some(127), "{}", stderr(&output));
}

#[test]
fn a_process_that_cannot_be_traced_is_told_and_others_stay_as_they_were() {
    let program = build("waits.c", &[]);
    let working = Working::start(&program);
    let output = run(&["count", "-b", "beat", "-p", &working.pid(), "-p", "1999999999"]);
    assert_eq!(output.status.code(), Some(127), "{}", stderr(&output));
    let status = std::fs::read_to_string(format!("/proc/{}/status", working.pid())).unwrap();
    assert!(status.contains("TracerPid:\t0\n"), "{status}");
    working.end();
}

#[test]
fn after_the_last_hit_the_program_runs_on_and_gives_the_exit_status() {
    let program = build("calls.c", &[]);
    let program = program.to_str().unwrap();
    for command in ["trace", "calls"] {
        let output = run(&[command, "-b", "work", "--limit", "3", "--", program, "1000"]);
        let text = stderr(&output);
        assert_eq!(text.lines().filter(|line| line.contains("!work")).count(), 3, "{text}");
        assert!(text.contains("to standard error\n"), "{text}");
        assert_eq!(output.status.code(), Some(7));
    }
}

#[test]
fn a_signal_reaches_a_program_that_runs_on() {
    let program = build("waits.c", &[]);
    let mut tracer = ntrace();
    tracer.args(["trace", "-b", "beat", "--limit", "1", "--"]).arg(&program);
    let mut tracer = tracer.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut hit = String::new();
    BufReader::new(tracer.stderr.as_mut().unwrap()).read_line(&mut hit).unwrap();
    assert!(hit.contains("!beat"), "{hit}");
    signal(&tracer, Signal::SIGTERM);
    assert_eq!(tracer.wait().unwrap().code(), Some(3));
}

#[test]
fn a_program_of_unlimited_time_is_left_when_the_duration_is_over() {
    let program = build("waits.c", &[]);
    let working = Working::start(&program);
    let output = run(&["latency", "-b", "beat", "--duration", "50ms", "-p", &working.pid()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).trim_start().starts_with("count "), "{}", stderr(&output));
    working.end();
}
