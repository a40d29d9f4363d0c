//! Steps.

use serde_json::json;

use crate::client::Client;
use crate::common::build;
use crate::{launched, line, stopped_at};

/// Steps, and returns the function and the line.
#[track_caller]
fn step(client: &mut Client, how: &str, thread: i64) -> (String, u64) {
    client.ask(how, json!({ "threadId": thread, "granularity": "statement" }));
    assert_eq!(client.stop("step"), thread);
    client.place(thread)
}

fn at(function: &str, mark: &str) -> (String, u64) {
    (function.into(), line(mark))
}

#[test]
fn a_step_over_passes_calls_and_a_step_in_enters_them() {
    let mut client = stopped_at(&["CALL"], &[]);
    let thread = client.stop("breakpoint");
    assert_eq!(client.place(thread), at("main", "CALL"));
    assert_eq!(step(&mut client, "next", thread), at("main", "DEEP"));
    let (function, _) = step(&mut client, "stepIn", thread);
    assert_eq!(function, "recurse");
    assert_eq!(step(&mut client, "stepOut", thread), at("main", "DEEP"));
    assert_eq!(step(&mut client, "next", thread), at("main", "WRITE"));
    assert_eq!(step(&mut client, "next", thread), at("main", "PRINT"));
    // A function of a library without lines is passed.
    let (function, after) = step(&mut client, "stepIn", thread);
    assert_eq!((function.as_str(), after), ("main", line("PRINT") + 1));
    client.leave();
}

#[test]
fn steps_stay_in_their_frame_of_a_recursion() {
    let mut client = stopped_at(&["RECURSE"], &[]);
    let thread = client.stop("breakpoint");
    crate::set(&mut client, &[]);
    assert_eq!(client.stack(thread).iter().filter(|(function, ..)| function == "recurse").count(), 1);
    assert_eq!(step(&mut client, "next", thread), at("recurse", "UNWOUND"));
    assert_eq!(client.stack(thread).iter().filter(|(function, ..)| function == "recurse").count(), 1);
    // Behind the last line follows the caller.
    step(&mut client, "next", thread);
    assert_eq!(step(&mut client, "next", thread), at("main", "DEEP"));
    client.leave();
}

#[test]
fn a_step_goes_on_behind_breakpoints_whose_condition_does_not_hold() {
    let mut client = stopped_at(&["CALL"], &[]);
    let thread = client.stop("breakpoint");
    crate::set(
        &mut client,
        &[
            json!({ "line": line("WALK"), "condition": "sum == 1000" }),
            json!({ "line": line("WALKED"), "logMessage": "sum {sum}" }),
        ],
    );
    assert_eq!(step(&mut client, "next", thread), at("main", "DEEP"));
    client.leave();
}

#[test]
fn a_breakpoint_inside_of_a_call_ends_a_step_over() {
    let mut client = stopped_at(&["CALL", "WALK"], &[]);
    let thread = client.stop("breakpoint");
    client.ask("next", json!({ "threadId": thread }));
    assert_eq!(client.stop("breakpoint"), thread);
    assert_eq!(client.place(thread), at("walk", "WALK"));
    crate::set(&mut client, &[]);
    assert_eq!(step(&mut client, "stepOut", thread), at("main", "CALL"));
    client.leave();
}

#[test]
fn a_step_by_instructions_is_one_instruction() {
    let mut client = stopped_at(&["CALL"], &[]);
    let thread = client.stop("breakpoint");
    let address = |client: &mut Client| {
        let frames = client.ask("stackTrace", json!({ "threadId": thread, "levels": 1 }));
        frames["stackFrames"][0]["instructionPointerReference"].as_str().unwrap().to_owned()
    };
    let before = address(&mut client);
    let body = client.ask("disassemble", json!({ "memoryReference": before, "instructionCount": 2 }));
    client.ask("next", json!({ "threadId": thread, "granularity": "instruction" }));
    client.stop("step");
    assert_eq!(body["instructions"][1]["address"], address(&mut client));
    client.leave();
}

#[test]
fn steps_at_the_end_of_main_let_the_program_end() {
    let mut client = stopped_at(&["END"], &[]);
    let thread = client.stop("breakpoint");
    // The C library's code behind main may have lines.
    for _ in 0..50 {
        client.ask("next", json!({ "threadId": thread }));
        if client.next_of(&["stopped", "exited"])["exitCode"] == 3 {
            client.event("terminated");
            return client.leave();
        }
    }
    panic!("the program does not end");
}

#[test]
fn a_step_in_enters_a_function_of_a_library_behind_the_linkers_stub() {
    let library = build("linked.c", &["-g", "-O0", "-shared", "-fPIC", "-DLIBRARY"]);
    for binding in ["-Wl,-z,lazy", "-Wl,-z,now"] {
        let program = build("linked.c", &["-g", "-O0", library.to_str().unwrap(), binding]);
        let mut client = launched(&program, &[]);
        client.ask("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "main" }] }));
        client.ask("configurationDone", json!({}));
        let thread = client.stop("function breakpoint");
        // A lazy stub leads to the dynamic loader the first time, which has no lines: that call is passed.
        let (function, first) = step(&mut client, "next", thread);
        assert_eq!(function, "main");
        assert_eq!(step(&mut client, "stepIn", thread).0, "twice", "{binding}");
        let (function, back) = step(&mut client, "stepOut", thread);
        assert_eq!((function.as_str(), back), ("main", first), "{binding}");
        client.leave();
    }
}
