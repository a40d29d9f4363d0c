//! `--follow`: processes that begin later.

mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::running::Running;
use common::{build, ntrace, run, scratch, stderr};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A name of a program that no other test executes.
fn own(name: &str) -> PathBuf {
    let link = scratch(name);
    std::fs::hard_link(build("groups.c", &["-pthread"]), &link).unwrap();
    link
}

fn has_module(test: &str) -> bool {
    let has = Path::new("/dev/ntrace").exists();
    if !has {
        crossing::skip(test, "no /dev/ntrace");
    }
    has
}

/// The results of ntrace, which follows while `act` runs. `act` gets the file of the results.
fn followed(args: &[&str], whom: &str, act: impl FnOnce(&Path)) -> String {
    let file = scratch("followed");
    let mut tracer = ntrace();
    tracer.args(args).args(["--follow", whom, "-o"]).arg(&file).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut tracer = Running::start(&mut tracer);
    let mut told = BufReader::new(tracer.stderr.take().unwrap());
    let mut first = String::new();
    told.read_line(&mut first).unwrap();
    assert_eq!(first, format!("ntrace: waits for programs that --follow {whom} names; Ctrl-C ends\n"));
    act(&file);
    kill(Pid::from_raw(tracer.id() as i32), Signal::SIGINT).unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut told, &mut rest).unwrap();
    assert_eq!(tracer.wait().unwrap().code(), Some(0), "{rest}");
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn calls_in_all_programs_that_begin_later_are_counted() {
    if !has_module("calls_in_all_programs_that_begin_later_are_counted") {
        return;
    }
    let program = own("follow-counted");
    let whom = format!("exec:{}", program.display());
    let results = followed(&["count", "-b", "work", "--quiet", "--format", "json"], &whom, |_| {
        for _ in 0..3 {
            // A shell starts it, so that it is nobody's child whom ntrace knows.
            let script = format!("{0} >/dev/null & {0} >/dev/null; wait", program.display());
            assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        }
    });
    let results: Value = serde_json::from_str(&results).unwrap();
    // groups.c calls it 81 times.
    assert_eq!(results["total"], 6 * 81, "{results}");
}

#[test]
fn a_trace_names_each_program_that_begins_and_its_hits() {
    if !has_module("a_trace_names_each_program_that_begins_and_its_hits") {
        return;
    }
    let program = own("follow-traced");
    let whom = format!("user,exec:{}", program.file_name().unwrap().to_str().unwrap());
    let mut pid = 0;
    let args = ["trace", "-b", "work", "--events", "lives", "--format", "json"];
    let lines = followed(&args, &whom, |file| {
        let child = Command::new(&program).stdout(Stdio::null()).spawn().unwrap();
        pid = child.id();
        assert!(child.wait_with_output().unwrap().status.success());
        // A signal ends the trace at once. Events that happened before may not be printed.
        while !std::fs::read_to_string(file).unwrap().contains("\"exited\"") {
            std::thread::yield_now();
        }
    });
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["pid"] == pid), "{}", lines[0]);
    let named = |name: &str| lines.iter().filter(|line| line["event"] == name).count();
    assert_eq!((lines[0]["event"].as_str(), lines[0]["program"].as_str()), (Some("exec"), program.to_str()));
    assert_eq!((named("exec"), named("exited")), (1, 1));
    assert_eq!(lines.iter().filter(|line| line["symbol"] == "work").count(), 81, "{}", lines[1]);
}

#[test]
fn nothing_that_was_executed_is_told() {
    if !has_module("nothing_that_was_executed_is_told") {
        return;
    }
    let output = run(&["count", "-b", "work", "--follow", "exec:/nowhere/at/all", "--duration", "1ms"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("nothing was executed that --follow names"), "{}", stderr(&output));
}

#[test]
fn what_runs_already_is_traced_beside_what_is_followed() {
    if !has_module("what_runs_already_is_traced_beside_what_is_followed") {
        return;
    }
    let start = || Running::start(Command::new("sleep").arg("1000"));
    let (one, other) = (start(), start());
    let pids = [one.id().to_string(), other.id().to_string()];
    let flags = ["-p", &pids[0], "-p", &pids[1], "--follow", "exec:/nowhere/at/all", "--duration", "1ms"];
    let output = run(&[&["count", "-b", "libc!malloc"], &flags[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn rules_act_in_what_is_followed() {
    if !has_module("rules_act_in_what_is_followed") {
        return;
    }
    let program = own("follow-ruled");
    let rules = scratch("rules.toml");
    let rule = "[[rules]]\nname = \"call\"\nevent = \"breakpoint\"\nat = \"work\"\nwhen = [\"arg0 == 1000\"]\ndo = [\"record\"]\n";
    std::fs::write(&rules, rule).unwrap();
    let args = ["trace", "--rules", rules.to_str().unwrap(), "--format", "json"];
    let mut told = String::new();
    let lines = followed(&args, &format!("exec:{}", program.display()), |_| {
        told = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
    });
    let calls = told.lines().find_map(|line| line.strip_prefix("value 1000 ")).unwrap();
    let records = lines.lines().filter(|line| serde_json::from_str::<Value>(line).unwrap()["rule"] == "call");
    assert_eq!(records.count().to_string(), calls, "{lines}");
}

#[test]
fn what_cannot_be_followed_is_refused_with_what_to_do() {
    let refused = |args: &[&str], status: i32, expected: &str| {
        let output = run(&[&["count", "-b", "main"], args].concat());
        assert_eq!(output.status.code(), Some(status), "{args:?} {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{args:?} {}", stderr(&output));
    };
    refused(&["--follow", "git"], 2, "'git' is none of exec:GLOB");
    refused(&["--follow", "exec:git", "--", "true"], 2, "--follow traces what others start");
    refused(&["--follow", "exec:git", "--backend", "ptrace"], 2, "--follow needs the kernel module");
    refused(&["--follow", "children"], 2, "give the program to run");
    refused(&["--follow", "children", "--no-follow", "--", "true"], 2, "contradict each other");
    refused(&["--follow", "user:nobody-has-this-name"], 2, "there is no user of this name");
    refused(&["--follow", "cgroup:/nowhere"], 2, "there is no such control group");
    refused(&["--follow", "pidns:4194305"], 2, "cannot be seen");
    if !Path::new("/dev/ntrace").exists() {
        refused(&["--follow", "exec:git"], 125, "/dev/ntrace: --follow needs the kernel module, which is not loaded");
    }
}

#[test]
fn the_children_of_what_is_traced_need_no_module() {
    let output = run(&["count", "-b", "main", "--follow", "children", "--backend", "ptrace", "--", "true"]);
    // true(1) has no symbols.
    assert!(stderr(&output).contains("main"), "{}", stderr(&output));
}
