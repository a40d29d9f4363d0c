//! How sessions begin and end.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::client::Client;
use crate::common;
use crate::{end, launched, line, program, set, source, stopped_at};

#[test]
fn a_signal_that_ends_programs_stops_where_it_arises() {
    let mut client = stopped_at(&[], &["crash"]);
    let stop = client.event("stopped");
    assert_eq!((&stop["reason"], &stop["text"]), (&json!("exception"), &json!("signal SIGSEGV")));
    let thread = stop["threadId"].as_i64().unwrap();
    assert_eq!(client.place(thread), ("main".into(), line("CRASH")));
    let info = client.ask("exceptionInfo", json!({ "threadId": thread }));
    assert_eq!(info["exceptionId"], "signal SIGSEGV");
    client.ask("continue", json!({ "threadId": thread }));
    assert_eq!(end(&mut client).1, 128 + 11);
    client.leave();
}

#[test]
fn a_program_stops_at_its_beginning_where_that_is_asked_for() {
    let mut client = Client::start();
    client.ask(
        "launch",
        json!({ "program": program(), "stopOnEntry": true, "cwd": "/", "env": { "A": "b", "PATH": null } }),
    );
    client.event("initialized");
    client.ask("configurationDone", json!({}));
    let thread = client.stop("entry");
    client.ask("continue", json!({ "threadId": thread }));
    assert_eq!(end(&mut client).1, 3);
    client.leave();
}

#[test]
fn a_pause_stops_a_program_that_runs() {
    let mut client = stopped_at(&["WAIT"], &["wait"]);
    let thread = client.stop("breakpoint");
    set(&mut client, &[]);
    client.ask("continue", json!({ "threadId": thread }));
    client.ask("pause", json!({ "threadId": thread }));
    let thread = client.stop("pause");
    assert!(client.stack(thread).iter().any(|(function, ..)| function == "main"));
    assert!(client.refused("next", json!({ "threadId": 1 })).contains("no thread 1"));
    client.ask("terminate", json!({}));
    assert_eq!(end(&mut client).1, 128 + 15);
    client.leave();
}

#[test]
fn a_program_that_was_started_dies_with_the_editor() {
    for hangs_up in [true, false] {
        let mut client = stopped_at(&[], &["wait"]);
        let threads = client.ask("threads", json!({}));
        let pid = threads["threads"][0]["id"].as_i64().unwrap();
        if hangs_up {
            assert_eq!(client.hang_up(), Some(0));
        } else {
            client.leave();
        }
        // The kernel may still be about to end the killed process; the test runner ends this test if it never does.
        let is_alive = || {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !state.is_empty() && !state.contains(") Z ")
        };
        while is_alive() {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_process_that_was_attached_to_runs_on_when_the_editor_leaves() {
    let mut process = Command::new(program()).arg("wait").stdout(Stdio::piped()).spawn().unwrap();
    let mut client = Client::start();
    client.ask("attach", json!({ "pid": process.id() }));
    client.event("initialized");
    // The process may still be about to start.
    set(&mut client, &[json!({ "line": line("WAIT") })]);
    client.ask("configurationDone", json!({}));
    let thread = client.stop("breakpoint");
    set(&mut client, &[json!({ "line": line("CALL") })]);
    let stack = client.stack(thread);
    let main = stack.iter().find(|(function, ..)| function == "main").unwrap().2;
    // The program waits for this variable.
    let go = client.ask("evaluate", json!({ "expression": "&go", "frameId": main }));
    let address = go["result"].as_str().unwrap().parse::<u64>().unwrap();
    client.ask("writeMemory", json!({ "memoryReference": format!("{address:#x}"), "data": "AQAAAA==" }));
    client.ask("continue", json!({ "threadId": thread }));
    let thread = client.stop("breakpoint");
    assert_eq!(client.place(thread), ("main".into(), line("CALL")));
    client.leave();
    let mut first = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "sum 12 deep 61 total 328350\n");
    let status = process.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(3), None));
}

#[test]
fn a_request_that_makes_no_sense_is_refused_and_the_conversation_goes_on() {
    let mut client = Client::start();
    assert!(client.refused("launch", json!({ "program": "/nowhere/at/all" })).contains("no such program"));
    assert!(client.refused("attach", json!({ "pid": "x" })).contains("'attach' are wrong"));
    assert!(client.refused("attach", json!({ "pid": 1 << 30 })).contains("no such process"));
    assert!(client.refused("goto", json!({})).contains("'goto'"));
    assert!(client.refused("continue", json!({ "threadId": 1 })).contains("no program"));
    assert!(client.refused("stackTrace", json!({ "threadId": 1 })).contains("no program"));
    assert!(client.refused("configurationDone", json!({})).contains("no program"));
    client.leave();
    let mut client = launched(&program(), &[]);
    assert!(client.refused("launch", json!({ "program": program() })).contains("debugged already"));
    let body = client.ask("setBreakpoints", json!({ "source": { "path": source() } }));
    assert_eq!(body["breakpoints"], json!([]));
    client.leave();
}

#[test]
fn what_is_not_of_the_protocol_ends_the_conversation() {
    let mut client = Client::connect();
    client.send_bytes(b"GET / HTTP/1.1\r\n\r\n");
    assert!(client.next_event().is_none());
    assert_eq!(client.hang_up(), Some(125));
}

#[test]
fn children_are_debugged_where_that_is_asked_for_and_run_by_themselves_otherwise() {
    let program = common::build("forked.c", &["-g", "-O0"]);
    for follows in [false, true] {
        let mut client = Client::start();
        client.ask("launch", json!({ "program": program, "followForks": follows }));
        let parent = client.event("process")["systemProcessId"].as_i64().unwrap();
        client.event("initialized");
        client.ask("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "inner" }] }));
        client.ask("configurationDone", json!({}));
        if follows {
            let child = client.stop("function breakpoint");
            assert_ne!(child, parent);
            assert_eq!(client.stack(child)[1].0, "main");
            client.ask("continue", json!({ "threadId": child }));
        }
        assert_eq!(client.stop("function breakpoint"), parent);
        client.ask("continue", json!({ "threadId": parent }));
        assert_eq!(end(&mut client), ("7 4\n".into(), 2));
        client.leave();
    }
}
