//! Runs `ntrace explain`.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use super::{ntrace, run, stderr, stdout};

/// Returns the JSON answers.
pub(crate) fn explain(args: &[&str]) -> Vec<Value> {
    let output = run(&[&["explain", "--json"], args].concat());
    assert_eq!(stderr(&output), "");
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the answers to the lines of standard input.
pub(crate) fn from_lines(lines: &str, args: &[&str]) -> String {
    let mut command = ntrace();
    command.args(["explain", "-"]).args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = lines.to_string();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    stdout(&output)
}
