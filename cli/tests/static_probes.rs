//! Static probes (USDT): `usdt:PROVIDER:NAME`.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use common::{build, build_narrow, build_with, ntrace, run, scratch, stderr, stdout};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use regex::Regex;
use serde_json::Value;

/// The hits of `ntrace trace --format json`: the probe, and the values of its arguments.
fn hits(args: &[&str]) -> Vec<(String, Vec<Value>)> {
    let file = scratch("hits");
    let output = run(&[&["trace", "--args", "--format", "json", "-o", file.to_str().unwrap()], args].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(file).unwrap();
    let hit = |line: &str| {
        let hit: Value = serde_json::from_str(line).unwrap();
        let value = |argument: &Value| match &argument["string"] {
            Value::Null => argument["value"].clone(),
            text => text.clone(),
        };
        let args = hit["args"].as_array().unwrap().iter().map(value).collect();
        (hit["probe"].as_str().unwrap_or_default().to_string(), args)
    };
    text.lines().map(hit).collect()
}

fn all_hits(text: &str, rounds: i64) -> Vec<(String, Vec<Value>)> {
    let round = |number: i64| {
        [
            ("usdt:demo:begin".to_string(), vec![text.into(), number.into(), (-7).into()]),
            ("usdt:demo:asked".to_string(), vec![(number * 10).into(), (-2).into()]),
            ("usdt:demo:end".to_string(), vec![(number as f64 + 2.5).into(), number.into()]),
        ]
    };
    (0..rounds).flat_map(round).collect()
}

/// A program that makes a round for each line, and says what its semaphore is.
struct Rounds {
    child: Child,
    lines: ChildStdin,
    answers: BufReader<std::process::ChildStdout>,
}

impl Rounds {
    fn start() -> Rounds {
        let program = build("probes.c", &[]);
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (lines, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Rounds { child, lines, answers }
    }

    /// The semaphore of the next round.
    fn semaphore(&mut self) -> u32 {
        self.lines.write_all(b"go\n").unwrap();
        loop {
            let mut answer = String::new();
            assert_ne!(self.answers.read_line(&mut answer).unwrap(), 0, "the program ended");
            if let Some((_, semaphore)) = answer.trim().split_once("semaphore ") {
                return semaphore.parse().unwrap();
            }
        }
    }

    /// Attaches ntrace, and makes rounds until the semaphore is raised.
    fn traced(&mut self) -> Child {
        let pid = self.child.id().to_string();
        let file = scratch("hits");
        let mut tracer = ntrace();
        tracer.args(["trace", "-b", "usdt:demo:asked", "-o"]).arg(&file).args(["-p", &pid]);
        let mut tracer = tracer.spawn().unwrap();
        while self.semaphore() != 1 {
            assert_eq!(tracer.try_wait().unwrap(), None, "ntrace ended");
        }
        tracer
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_probes_of_a_file_are_those_that_readelf_prints() {
    let python = Command::new("/usr/bin/python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let python = python.map(|output| stdout(&output).trim().to_string()).unwrap_or_default();
    let program = build("probes.c", &[]);
    for path in [program.to_str().unwrap(), &python].into_iter().filter(|path| !path.is_empty()) {
        let notes = Command::new("readelf").args(["-nW", path]).output().unwrap();
        let form = r"Provider: ([^ \n]+)[ \n]+Name: ([^ \n]+)[ \n]+Location: 0x0*([0-9a-f]+),.*Semaphore: 0x0*([0-9a-f]*)[ \n]+Arguments: ?(.*)";
        let form = Regex::new(form).unwrap();
        let mut expected: Vec<[String; 4]> = form
            .captures_iter(&stdout(&notes))
            .map(|found| {
                let semaphore = if found[4].is_empty() { String::new() } else { format!("0x{}", &found[4]) };
                [
                    format!("usdt:{}:{}", &found[1], &found[2]),
                    format!("0x{}", &found[3]),
                    semaphore,
                    found[5].to_string(),
                ]
            })
            .collect();
        let output = run(&["list", "usdt:*:*", "--format", "json", "-f", path]);
        let row = |line: &str| {
            let row: Value = serde_json::from_str(line).unwrap();
            ["probe", "address", "semaphore", "arguments"].map(|key| row[key].as_str().unwrap_or_default().to_string())
        };
        let mut listed: Vec<[String; 4]> = stdout(&output).lines().map(row).collect();
        expected.sort();
        listed.sort();
        assert_eq!(listed, expected, "{path}");
    }
    assert_eq!(run(&["list", "usdt:demo:*", "-f", program.to_str().unwrap()]).status.code(), Some(0));
}

#[test]
fn a_probe_shows_its_arguments_and_one_with_a_semaphore_is_reached() {
    let program = build("probes.c", &[]);
    let path = program.to_str().unwrap();
    assert_eq!(hits(&["-b", "usdt:demo:*", "--", path, "a text", "3"]), all_hits("a text", 3));
    // Without a tracer the program does not reach the probe.
    assert_eq!(stdout(&Command::new(&program).args(["a", "1"]).output().unwrap()), "");
}

#[test]
fn a_32_bit_program_shows_the_same_arguments() {
    let Some(program) = build_narrow("probes.c", &[]) else { return };
    assert_eq!(hits(&["-b", "usdt:demo:*", "--", program.to_str().unwrap(), "narrow", "2"]), all_hits("narrow", 2));
}

#[test]
fn a_filter_knows_the_arguments_of_probes() {
    let program = build("probes.c", &[]);
    let path = program.to_str().unwrap();
    for (location, filter, expected) in [
        ("usdt:demo:begin", "arg1 == 2 && arg2 == -7", 1),
        ("usdt:demo:begin", "arg0 == \"text\" && arg1 < 2", 2),
        ("usdt:demo:begin", "arg0 =~ \"no*\"", 0),
        ("usdt:demo:end", "arg0 > 3 && arg0 < 10", 3),
        ("usdt:demo:asked", "arg0 >= 20 && arg1 == -2", 2),
    ] {
        let found = hits(&["-b", location, "--if", filter, "--", path, "text", "4"]);
        assert_eq!(found.len(), expected, "{filter}");
    }
    let refused = run(&["trace", "-b", "usdt:demo:end", "--if", "arg7 == 1", "--", path, "text", "1"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}

#[test]
fn the_semaphore_of_a_library_is_raised_each_time_it_is_loaded() {
    let host = build("host.c", &["-ldl"]);
    let Some(library) = build_with("gcc", "probes.c", &["-O1", "-shared", "-fPIC"]) else { return };
    let found = hits(&["-b", "usdt:demo:asked", "--", host.to_str().unwrap(), library.to_str().unwrap()]);
    assert_eq!(found.len(), 2 * 4, "{found:?}");
}

#[test]
fn the_semaphore_is_lowered_when_ntrace_leaves_also_when_its_front_is_killed() {
    let mut rounds = Rounds::start();
    assert_eq!(rounds.semaphore(), 0);
    let mut tracer = rounds.traced();
    kill(Pid::from_raw(tracer.id() as i32), Signal::SIGTERM).unwrap();
    assert!(tracer.wait().unwrap().success());
    assert_eq!(rounds.semaphore(), 0);

    let mut tracer = rounds.traced();
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    // The worker sees the end of the front a moment later.
    while rounds.semaphore() != 0 {}
}

#[test]
fn two_tracers_one_after_the_other_and_a_fork_leave_the_semaphore_as_it_was() {
    let mut rounds = Rounds::start();
    let mut tracer = rounds.traced();
    rounds.lines.write_all(b"fork\n").unwrap();
    let mut answer = String::new();
    rounds.answers.read_line(&mut answer).unwrap();
    assert_eq!(answer, "asked 1\n", "the child is traced too");
    assert_eq!(rounds.semaphore(), 1);
    kill(Pid::from_raw(tracer.id() as i32), Signal::SIGTERM).unwrap();
    assert!(tracer.wait().unwrap().success());
    assert_eq!(rounds.semaphore(), 0);
}

#[test]
fn a_probe_marks_the_begin_and_the_end_of_a_trace_and_of_a_way() {
    let program = build("probes.c", &[]);
    let path = program.to_str().unwrap();
    let found = hits(&["-b", "usdt:demo:begin", "--after", "usdt:demo:asked", "--", path, "text", "3"]);
    assert_eq!(found.len(), 2, "{found:?}");
    let flags = ["-b", "usdt:demo:begin", "--to", "usdt:demo:asked", "--format", "json", "--", path, "text", "5"];
    let output = run(&[&["latency"], &flags[..]].concat());
    let table: Value = serde_json::from_str(stderr(&output).lines().last().unwrap()).unwrap();
    assert_eq!(table["latencies"][0]["count"], 5, "{table}");
}

#[test]
fn a_name_that_no_probe_has_is_told_with_those_that_there_are() {
    let program = build("probes.c", &[]);
    let output = run(&["list", "usdt:demo:bgin", "-f", program.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(told.contains("there are usdt:demo:asked, usdt:demo:begin, usdt:demo:end"), "{told}");
}
