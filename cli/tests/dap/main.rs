//! `ntrace dap`, with an editor of few lines that sends what Visual Studio Code sends.

#[path = "../common/mod.rs"]
mod common;

mod breakpoints;
mod client;
mod ends;
mod recorded;
mod steps;
mod values;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use client::Client;
use serde_json::{Value, json};

/// The program, built once.
fn program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| common::build("stepped.c", &["-g", "-O0", "-pthread"])).clone()
}

/// The path of its source.
fn source() -> String {
    common::source("stepped.c").display().to_string()
}

/// The line with a comment.
fn line(mark: &str) -> u64 {
    let text = std::fs::read_to_string(source()).unwrap();
    let number = text.lines().position(|line| line.ends_with(&format!("// {mark}")));
    number.unwrap_or_else(|| panic!("no line {mark}")) as u64 + 1
}

/// Starts the program with its arguments, up to the point at which an editor sets breakpoints.
fn launched(program: &Path, arguments: &[&str]) -> Client {
    let mut client = Client::start();
    client.ask("launch", json!({ "program": program, "args": arguments }));
    client.event("initialized");
    client
}

/// Starts the program, which runs to breakpoints at lines with comments.
fn stopped_at(marks: &[&str], arguments: &[&str]) -> Client {
    let mut client = launched(&program(), arguments);
    let lines: Vec<Value> = marks.iter().map(|mark| json!({ "line": line(mark) })).collect();
    set(&mut client, &lines);
    client.ask("configurationDone", json!({}));
    client
}

/// Sets breakpoints in the program's source, all of which are verified.
#[track_caller]
fn set(client: &mut Client, breakpoints: &[Value]) -> Value {
    let body = client.ask(
        "setBreakpoints",
        json!({ "source": { "name": "stepped.c", "path": source() }, "breakpoints": breakpoints, "sourceModified": false }),
    );
    let all = body["breakpoints"].as_array().unwrap();
    assert_eq!(all.len(), breakpoints.len());
    assert!(all.iter().all(|one| one["verified"] == true), "{body}");
    body
}

/// The program runs to its end: what it wrote, and its status.
fn end(client: &mut Client) -> (String, i64) {
    let mut text = String::new();
    let mut status = None;
    loop {
        let event = client.next_event().expect("the program ends");
        let body = &event["body"];
        match event["event"].as_str().unwrap() {
            "output" if body["category"] != "console" => text += body["output"].as_str().unwrap(),
            "exited" => status = body["exitCode"].as_i64(),
            "terminated" => return (text, status.expect("the program has a status")),
            "stopped" => panic!("{body}"),
            _ => {}
        }
    }
}
