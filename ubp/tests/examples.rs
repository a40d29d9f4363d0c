//! The examples do what they show.
#![allow(dead_code, reason = "an example's main function is not called")]

mod common;
#[path = "../examples/count.rs"]
mod count;
#[path = "../examples/hold_by_condition.rs"]
mod hold_by_condition;
#[path = "../examples/registers_at_the_entry_point.rs"]
mod registers_at_the_entry_point;

use std::process::{Command, Stdio};

use common::{build, symbols};

/// A program that calls its function `work` 20 times, and where that function is.
fn program() -> (Command, u64) {
    let path = build("loop", &[]);
    let work = symbols(&path)["work"];
    let mut command = Command::new(path);
    command.arg("20").stdout(Stdio::null());
    (command, work)
}

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).unwrap()
}

#[test]
fn executions_are_counted() {
    let (command, work) = program();
    let status = Command::new(command.get_program()).args(command.get_args()).stdout(Stdio::null()).status().unwrap();
    let mut out = Vec::new();
    let code = count::run(command, &[work], &mut out).unwrap();
    assert_eq!(Some(i32::from(code)), status.code());
    assert_eq!(text(out), format!("        20 {work:#x}\n"));
}

#[test]
fn one_arrival_is_held() {
    let (command, work) = program();
    let mut out = Vec::new();
    hold_by_condition::run(command, work, 7, &mut out).unwrap();
    assert_eq!(text(out), "held at arrival 7\n20 arrivals, 1 held\n");
}

#[test]
fn registers_at_the_entry_point_are_shown() {
    let mut out = Vec::new();
    registers_at_the_entry_point::run(program().0, &mut out).unwrap();
    let out = text(out);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "at the entry point: true");
    assert!(lines[1].starts_with("code ["), "{out}");
    assert!(lines[2].starts_with("Registers {"), "{out}");
    assert_eq!(lines.len(), 3, "{out}");
}
