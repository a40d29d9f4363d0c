//! `ntrace trace --events` and `--watch`.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use common::{build, build_narrow, run, stderr, stdout, trace};

/// Events of a program that says itself what it does.
fn traced(args: &[&str], program: &Path) -> (Vec<Value>, String) {
    let (events, output) = trace(args, program, &[]);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    (events, stdout(&output))
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

/// The lines of the program that begin with a word, without it.
fn told<'a>(output: &'a str, word: &str) -> Vec<&'a str> {
    output.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ')).collect()
}

#[test]
fn system_calls_have_the_names_arguments_and_results_that_the_program_tells() {
    let program = build("events.c", &["-pthread"]);
    let (events, output) = traced(&["--events", "syscalls=lseek,getpgid"], &program);
    let shown = |event: &&Value| {
        let arguments: Vec<&str> = (0..3).map(|number| event["arguments"][number].as_str().unwrap()).collect();
        let result = event["result"].as_str().or(event["error"].as_str()).unwrap();
        format!("{} {} {result}", event["name"].as_str().unwrap(), arguments.join(" "))
    };
    let calls = of(&events, "syscall");
    let ours = |call: &String| call.contains("0x1234567") || call.starts_with("getpgid");
    let seen: Vec<String> = calls.iter().map(shown).filter(ours).collect();
    assert_eq!(seen, told(&output, "call"), "{output}");
    assert!(calls.iter().all(|call| call["name"] == "lseek" || call["name"] == "getpgid"), "{calls:?}");
    assert_eq!(events.len(), calls.len());
    assert!(calls.iter().all(|call| call["duration"].as_u64().is_some()), "{calls:?}");
}

#[test]
fn a_call_that_ends_its_thread_or_program_is_printed_without_a_return() {
    let program = build("events.c", &["-pthread"]);
    let (events, output) = traced(&["--events", "syscalls=exit,exit_group,execve,pause"], &program);
    let named = |name: &str| -> Vec<&Value> { events.iter().filter(|event| event["name"] == name).collect() };
    let threads = told(&output, "thread");
    let exits: Vec<String> = named("exit").iter().map(|event| event["tid"].to_string()).collect();
    assert_eq!(exits, threads);
    let statuses: Vec<&Value> = named("exit_group").iter().map(|event| &event["arguments"][0]).collect();
    assert_eq!(statuses, ["0x3", "0x4", "0x7"]);
    assert!(named("exit_group").iter().chain(&named("exit")).all(|event| event["result"].is_null()));
    assert_eq!(named("execve").iter().map(|event| &event["result"]).collect::<Vec<_>>(), ["0x0"]);
    // The child may be killed before its call.
    assert!(named("pause").iter().all(|event| event["result"].is_null() && event["error"].is_null()));
}

#[test]
fn a_32_bit_program_has_its_own_numbers() {
    let Some(program) = build_narrow("events.c", &["-pthread"]) else { return };
    let (events, output) = traced(&["--events", "syscalls=getpgid"], &program);
    let results: Vec<&str> = events.iter().filter_map(|event| event["result"].as_str()).collect();
    let expected: Vec<&str> = told(&output, "call getpgid").iter().filter_map(|line| line.rsplit(' ').next()).collect();
    assert_eq!((results, events[0]["number"].as_u64()), (expected, Some(132)));
}

#[test]
fn signals_are_those_that_were_sent() {
    let program = build("events.c", &["-pthread"]);
    let (events, output) = traced(&["--events", "signals"], &program);
    let signals = of(&events, "signal");
    let usr1: Vec<_> = signals.iter().filter(|event| event["signal"] == "SIGUSR1").collect();
    assert_eq!(told(&output, "handled"), [usr1.len().to_string()]);
    assert!(usr1.iter().all(|event| event["origin"] == "process" && event["sender"] == event["pid"]), "{usr1:?}");
    let children: Vec<String> =
        told(&output, "child").iter().map(|line| line.split(' ').next().unwrap().into()).collect();
    let senders: BTreeSet<String> =
        signals.iter().filter(|event| event["signal"] == "SIGCHLD").map(|event| event["sender"].to_string()).collect();
    // The kernel drops a signal that the program ignores when it is sent, unless ptrace wants to see it.
    if !std::path::Path::new("/dev/ntrace").exists() {
        assert_eq!(senders, children.into_iter().collect());
    }
    assert_eq!(events.len(), signals.len());
}

#[test]
fn lives_are_those_of_the_programs_threads_and_children() {
    let program = build("events.c", &["-pthread"]);
    let (events, output) = traced(&["--events", "lives"], &program);
    let first = events[0]["pid"].as_i64().unwrap();
    let tids = |kind| of(&events, kind).iter().map(|event| event["tid"].to_string()).collect::<Vec<_>>();
    let threads = told(&output, "thread");
    let begun: Vec<String> = tids("thread_started").into_iter().filter(|tid| threads.contains(&tid.as_str())).collect();
    assert_eq!(begun, threads);
    assert!(threads.iter().all(|thread| tids("thread_exited").iter().any(|tid| tid == thread)));
    let children: Vec<String> = of(&events, "forked").iter().map(|event| event["child"].to_string()).collect();
    let mut ends = Vec::new();
    for event in &events {
        let (pid, number) = (event["pid"].to_string(), &event["signal"]);
        match event["event"].as_str().unwrap() {
            "exited" if event["pid"] != first => ends.push(format!("{pid} exited {}", event["status"])),
            "killed" => ends.push(format!("{pid} killed {}", if number == "SIGKILL" { "9" } else { "?" })),
            _ => {}
        }
    }
    assert_eq!(ends, told(&output, "child"));
    assert_eq!(children, ends.iter().map(|end| end.split(' ').next().unwrap()).collect::<Vec<_>>());
    let executed = of(&events, "exec");
    assert_eq!(executed.len(), 1);
    assert_eq!(executed[0]["program"], program.to_str().unwrap());
    assert_eq!(events.last().unwrap()["status"], 7);
}

#[test]
fn maps_name_the_libraries_of_the_program() {
    let program = build("events.c", &["-pthread"]);
    let (events, _) = traced(&["--events", "maps"], &program);
    let libc: Vec<_> = of(&events, "loaded")
        .into_iter()
        .filter(|event| event["module"].as_str().is_some_and(|module| module.contains("libc.so")))
        .collect();
    // Once in the program, and once in the program that its child executes.
    assert_eq!(libc.len(), 2, "{events:?}");
    assert!(libc.iter().all(|event| event["build_id"].is_string() && event["start"].is_string()));
}

#[test]
fn events_stand_beside_hits_in_their_order() {
    let program = build("calls.c", &[]);
    let (events, output) = trace(&["--events", "syscalls=write,lives", "-b", "work"], &program, &["3"]);
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let hits = kinds.iter().filter(|kind| **kind == "hit").count();
    assert_eq!((hits, kinds.last()), (3, Some(&"exited")), "{}", stderr(&output));
    let exit = kinds.iter().position(|kind| *kind == "exited").unwrap();
    assert!(kinds.iter().rposition(|kind| *kind == "hit") < Some(exit));
}

#[test]
fn text_has_a_line_for_each_event() {
    let program = build("events.c", &["-pthread"]);
    let flags = ["trace", "--events", "syscalls=lseek,signals,lives", "--time", "none", "--"];
    let output = run(&[&flags[..], &[program.to_str().unwrap()]].concat());
    let text = stderr(&output);
    for part in [
        "  lseek(0x3e8, 0x12345670, 0x2, ",
        ") = EBADF\n",
        "  SIGUSR1 from process ",
        "  thread started\n",
        "  forked ",
        "  exited with 3\n",
        "  killed by SIGKILL\n",
        "  executed /",
        "  exited with 7\n",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn an_unknown_event_is_an_error_of_the_command_line() {
    for (events, part) in [("signal", "no such event: 'signal'"), ("syscalls=opennat", "similar: openat")] {
        let output = run(&["trace", "--events", events, "--", "/bin/true"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}

#[test]
fn a_watched_variable_tells_each_write_with_its_value_and_place() {
    let program = build("variable.c", &[]);
    let (events, output) = trace(&["--watch", "counter"], &program, &[]);
    let values: Vec<&str> = events.iter().map(|event| event["value"].as_str().unwrap()).collect();
    assert_eq!(values, ["0x10001", "0x20002", "0x30003", "0x40004", "0x50005", "0x60006"], "{}", stderr(&output));
    assert!(events.iter().all(|event| event["event"] == "watched" && event["symbol"] == "set"), "{events:?}");
    assert_eq!(stdout(&output), "writes 6 reads 3 sum 786444\n");
}

#[test]
fn reads_and_executions_are_watched_where_asked_for() {
    let program = build("variable.c", &[]);
    let count = |watch, symbol: &str| {
        let (events, _) = trace(&["--watch", watch], &program, &[]);
        (events.len(), events.iter().filter(|event| event["symbol"] == symbol).count())
    };
    assert_eq!(count("variable_c!counter:8:w", "get").1, 0);
    assert_eq!(count("counter:rw", "get"), (9, 3));
    assert_eq!(count("get:x", "get"), (3, 3));
}

#[test]
fn a_variable_that_no_module_has_and_too_many_bytes_are_told() {
    let program = build("variable.c", &[]);
    let output = run(&["trace", "--watch", "no_such_variable", "--", program.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("no module has such a variable"), "{}", stderr(&output));
    let output = run(&["trace", "--watch", "counter:64", "--", program.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("it needs 8 debug registers of"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "writes 6 reads 3 sum 786444\n");
}
