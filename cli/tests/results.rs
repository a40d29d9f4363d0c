//! `retval` in filters: calls are those whose results satisfy the expression.

mod common;

use std::path::Path;
use std::process::Output;

use common::{build, ntrace, scratch, stderr, stdout};
use serde_json::Value;

/// What a command writes to a file.
fn written(command: &str, location: &str, filter: &str, flags: &[&str], program: &Path) -> (String, Output) {
    let file = scratch("results");
    let mut ntrace = ntrace();
    ntrace.args([command, "-b", location, "--if", filter, "-o"]).arg(&file).args(flags).arg("--").arg(program);
    let output = ntrace.output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{filter}: {}", stderr(&output));
    assert_eq!(stdout(&output), "0\n");
    (std::fs::read_to_string(file).unwrap(), output)
}

/// The calls of a function that are wanted, by `ntrace calls` and by `ntrace latency`.
fn wanted(function: &str, filter: &str, program: &Path) -> usize {
    let (lines, _) = written("calls", function, filter, &["--return", "--format", "json"], program);
    let calls: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (table, _) = written("latency", function, filter, &["--format", "json"], program);
    let table: Value = serde_json::from_str(&table).unwrap();
    let timed: u64 = table["latencies"].as_array().unwrap().iter().filter_map(|row| row["count"].as_u64()).sum();
    assert_eq!(timed as usize, calls.len(), "{filter}: {table}");
    calls.len()
}

#[test]
fn calls_are_those_whose_results_satisfy_the_expression() {
    let program = build("results.c", &[]);
    // For n from 0 to 11; odd n are negated.
    for (function, filter, expected) in [
        ("number", "retval < 0", 6),
        ("number", "retval == -3 || retval == 4", 2),
        ("number", "n > 5 && retval > 0", 3),
        ("number", "n == -retval", 7),
        ("number", "text == \"alpha\" && retval < -4", 4),
        ("number", "text =~ \"b*\" || retval == -1", 7),
        ("number", "n == 2 || retval == -1", 2),
        ("number", "!(retval == 0) && hits > 10", 2),
        ("number", "n < 0 && retval == 0", 0),
        ("half", "retval * 2 > 9", 2),
        ("half", "retval > 0 && retval < 1", 1),
        ("text", "retval == \"beta\"", 3),
        ("text", "retval == 0", 3),
        ("text", "retval =~ \"?a*a\" || retval == 0", 6),
        ("text", "*(u8*)retval == 'a'", 3),
        ("color", "retval == \"BLUE\"", 4),
        ("color", "retval == 1 && n != 1", 3),
        ("nested", "retval >= 2 && retval < 4", 2),
        ("nested", "retval == depth && depth > 0", 5),
    ] {
        assert_eq!(wanted(function, filter, &program), expected, "{function} {filter}");
    }
}

#[test]
fn a_call_has_one_line_below_those_that_are_known_to_be_wanted() {
    let program = build("results.c", &[]);
    let (text, _) = written("calls", "nested", "depth == 1 || retval == 3 || retval == 4", &["--return"], &program);
    // Without time, thread, module and source line.
    let call = |line: &str| {
        let (_, call) = line.split_at(line.char_indices().nth(20).unwrap().0);
        let call = call.replace(&format!("{}!", program.file_name().unwrap().to_str().unwrap()), "");
        call.split_once(" at ").map_or(call.clone(), |(call, _)| call.to_string())
    };
    let lines: Vec<String> = text.lines().map(call).collect();
    assert_eq!(lines, ["  nested {", "        nested = 4", "      nested = 3", "  } nested = 1"]);
}

#[test]
fn results_are_refused_where_there_are_none() {
    let program = build("results.c", &[]);
    let path = program.to_str().unwrap();
    for (args, status, told) in [
        (&["trace", "-b", "number"][..], 2, "use ntrace calls"),
        (&["count", "-b", "number"], 2, "use ntrace calls"),
        (&["latency", "-b", "number", "--to", "half"], 2, "--if"),
        (&["calls", "-b", "number", "--sample", "1/2"], 2, "--sample"),
        (&["calls", "-b", "nothing"], 2, "returns nothing"),
    ] {
        let output = ntrace().args(args).args(["--if", "retval == 1", "--", path]).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(told), "{args:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "the program has not run");
    }
}
