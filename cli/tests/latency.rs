//! `ntrace latency`.

mod common;

use std::path::Path;
use std::process::Output;

use common::{build, build_go, ntrace, run, scratch, stderr, stdout};
use serde_json::Value;

/// Measures, and returns the table and the program's output.
fn latency(flags: &[&str], program: &Path, args: &[&str]) -> (Value, Output) {
    let file = scratch("latency.json");
    let mut command = ntrace();
    command.arg("latency").args(flags).args(["--format", "json", "-o"]).arg(&file);
    let output = command.arg("--").arg(program).args(args).output().unwrap();
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    (serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output))), output)
}

fn rows(table: &Value) -> &Vec<Value> {
    table["latencies"].as_array().unwrap()
}

/// How often the function of each row returned.
fn counts(table: &Value) -> Vec<u64> {
    let mut counts: Vec<u64> = rows(table).iter().map(|row| row["count"].as_u64().unwrap()).collect();
    counts.sort_unstable();
    counts
}

#[test]
fn a_function_that_sleeps_takes_as_long_as_it_sleeps() {
    let (table, output) = latency(&["-b", "libc!clock_nanosleep"], Path::new("sleep"), &["0.05"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(counts(&table), [1]);
    let row = &rows(&table)[0];
    let time = row["minimum"].as_u64().unwrap();
    assert!(time >= 50_000_000, "{row}");
    for key in ["total", "own", "mean", "p50", "p90", "p99", "maximum"] {
        assert_eq!(row[key], time, "{key} of {row}");
    }
}

#[test]
fn quantiles_ascend_and_the_histogram_has_every_call() {
    let program = build("calls.c", &[]);
    let (table, output) = latency(&["-b", "work", "middle"], &program, &["200"]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!((counts(&table), &table["open"], &table["unseen"]), (vec![200, 200], &0.into(), &0.into()));
    for row in rows(&table) {
        let times = ["minimum", "p50", "p90", "p99", "maximum"].map(|key| row[key].as_u64().unwrap());
        assert!(times.is_sorted(), "{row}");
        let buckets = row["histogram"].as_array().unwrap();
        assert_eq!(buckets.iter().map(|bucket| bucket["count"].as_u64().unwrap()).sum::<u64>(), 200);
    }
    let of = |name: &str| rows(&table).iter().find(|row| row["symbol"] == name).unwrap();
    let time = |name: &str, key: &str| of(name)[key].as_u64().unwrap();
    assert_eq!(time("middle", "total") - time("middle", "own"), time("work", "total"));
}

#[test]
fn rows_can_be_those_of_threads_processes_and_callers() {
    let program = build("threads.c", &["-pthread"]);
    let by = |what: &str| counts(&latency(&["-b", "step", "--by", what], &program, &[]).0);
    assert_eq!(by("thread"), [1, 1, 1, 50, 50, 50, 50, 50, 50, 50, 50]);
    assert_eq!(by("process"), [1, 1, 1, 400]);
    assert_eq!(by("caller"), [3, 400]);
    assert_eq!(by("location"), [403]);
}

#[test]
fn rows_can_be_those_of_the_values_of_an_expression() {
    let program = build("calls.c", &[]);
    let (table, output) = latency(&["-b", "work", "--by", "n % 3"], &program, &["8"]);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let mut found: Vec<_> = rows(&table).iter().map(|row| (row["by"].as_str().unwrap(), &row["count"])).collect();
    found.sort_unstable_by_key(|(by, _)| *by);
    assert_eq!(found, [("n % 3=0", &Value::from(3)), ("n % 3=1", &3.into()), ("n % 3=2", &2.into())]);
    // A name that means nothing is told once, and the times are there.
    let (table, output) = latency(&["-b", "work", "--by", "nosuch"], &program, &["4"]);
    assert_eq!((counts(&table), &rows(&table)[0]["by"]), (vec![4], &"nosuch=?".into()));
    assert_eq!(stderr(&output).matches("'nosuch' is no argument").count(), 1, "{}", stderr(&output));
    let output = run(&["latency", "-b", "work", "--by", "n +", "--", program.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("  n +\n"), "{}", stderr(&output));
}

#[test]
fn the_time_between_two_locations_is_that_of_one_thread() {
    let program = build("threads.c", &["-pthread"]);
    let (table, _) = latency(&["-b", "step", "--to", "raise"], &program, &[]);
    assert_eq!(counts(&table), [8 * 5], "{table}");
    assert!(rows(&table)[0]["by"].as_str().unwrap().starts_with("to libc.so.6!"), "{table}");
    // A location may be written in any way.
    let (other, _) = latency(&["-b", "ste?", "--to", "libc!raise"], &program, &[]);
    assert_eq!(counts(&other), [8 * 5], "{other}");
    // The last way of each thread, and that of each child, leads nowhere.
    assert_eq!(table["open"], 8 + 3);
}

#[test]
fn a_call_that_never_returns_is_told() {
    let program = build("calls.c", &[]);
    let (table, _) = latency(&["-b", "libc!exit", "-b", "work"], &program, &["3"]);
    assert_eq!((counts(&table), &table["open"]), (vec![3], &1.into()));
    let output = run(&["latency", "-b", "libc!exit", "--", program.to_str().unwrap()]);
    assert!(stderr(&output).ends_with("1 call had not returned\n"), "{}", stderr(&output));
}

#[test]
fn calls_of_goroutines_return_although_their_stacks_move() {
    let Some(program) = build_go("grows.go", &[]) else { return };
    let (table, output) = latency(&["-b", "main.leaf", "main.deep"], &program, &[]);
    assert_eq!(stdout(&output), "sum 620\n");
    assert_eq!((counts(&table), &table["open"]), (vec![20 * 31, 20 * 31], &0.into()), "{table}");
}

#[test]
fn text_has_a_line_for_each_row_and_for_each_bucket() {
    let program = build("calls.c", &[]);
    let file = scratch("latency");
    let path = file.to_str().unwrap();
    let output = run(&["latency", "-b", "work", "--histogram", "-o", path, "--", program.to_str().unwrap(), "9"]);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["count", "total", "own", "mean", "p50", "p90", "p99", "max", "location"]);
    assert_eq!(lines[1][0], "9");
    assert!(lines[1].iter().any(|word| word.ends_with("!work")), "{text}");
    let in_buckets: u64 = lines[2..].iter().map(|line| line[5].parse::<u64>().unwrap()).sum();
    assert_eq!(in_buckets, 9, "{text}");
}

#[test]
fn a_location_within_a_function_is_refused() {
    let program = build("calls.c", &[]);
    let output = run(&["latency", "-b", "calls.c:27", "--", program.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
    assert!(stderr(&output).contains("is not the first instruction of a function"), "{}", stderr(&output));
    let output = run(&["latency", "--every-instruction", "--", program.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
