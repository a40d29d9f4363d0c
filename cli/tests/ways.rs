//! `ntrace count --stack`: hits are counted for each way to a location.

mod common;

use std::path::Path;
use std::process::Command;

use common::{build, run, scratch, stderr, stdout};
use serde_json::Value;

/// What programs/ways.c does: the callers of `leaf` up to `main`, and how often it takes this way in both processes together.
const WAYS: [(&[&str], u64); 3] =
    [(&["direct", "all", "main"], 60), (&["deep", "deep", "all", "main"], 40), (&["all", "main"], 20)];

/// Builds the program with a frame for each function.
fn program() -> std::path::PathBuf {
    build("ways.c", &["-O1", "-g", "-fno-inline", "-fno-optimize-sibling-calls"])
}

/// The results of a count, and that the program did what it does alone.
fn count(program: &Path, arguments: &[&str]) -> String {
    let file = scratch("ways");
    let name = program.to_str().unwrap();
    let output = run(&[&["count", "-o", file.to_str().unwrap()], arguments, &["--", name]].concat());
    let alone = Command::new(program).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output)), (Some(3), stdout(&alone)), "{}", stderr(&output));
    std::fs::read_to_string(&file).unwrap()
}

/// The rows of the JSON form: the functions of a stack up to `main`, and the hits.
fn rows(results: &Value) -> Vec<(Vec<&str>, u64)> {
    let stack = |row: &'_ Value| -> usize { row["stack"].as_array().unwrap().len() };
    let names = |row: &'_ Value| (0..stack(row)).collect::<Vec<_>>();
    let mut rows = Vec::new();
    for row in results["stacks"].as_array().unwrap() {
        let mut functions: Vec<&str> =
            names(row).into_iter().map(|n| row["stack"][n]["symbol"].as_str().unwrap_or("?")).collect();
        let main = functions.iter().position(|name| *name == "main").unwrap_or(functions.len() - 1);
        functions.truncate(main + 1);
        rows.push((functions, row["hits"].as_u64().unwrap()));
    }
    rows
}

#[test]
fn each_way_to_a_function_is_counted_in_all_processes_together() {
    let results: Value =
        serde_json::from_str(&count(&program(), &["-b", "leaf", "--stack", "--format", "json"])).unwrap();
    let expected: Vec<(Vec<&str>, u64)> = WAYS.iter().map(|(way, hits)| (way.to_vec(), *hits)).collect();
    assert_eq!(rows(&results), expected);
    assert_eq!((&results["total"], &results["other"]), (&120.into(), &0.into()));
    assert!(results["stacks"].as_array().unwrap().iter().all(|row| row["symbol"] == "leaf"), "{results}");
}

#[test]
fn the_rows_beyond_the_wanted_number_are_summed() {
    let results: Value =
        serde_json::from_str(&count(&program(), &["-b", "leaf", "--stack", "--top", "1", "--format", "json"])).unwrap();
    assert_eq!(rows(&results), [(WAYS[0].0.to_vec(), 60)]);
    assert_eq!((&results["total"], &results["other"]), (&120.into(), &60.into()));
}

#[test]
fn text_has_the_callers_below_the_location() {
    let text = count(&program(), &["-b", "leaf", "--stack"]);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert!(lines[1].starts_with("60  ") && lines[1].ends_with("!leaf at ways.c:7"), "{text}");
    assert!(
        lines[2].starts_with("#1 ") && lines[2].contains("!direct+") && lines[2].ends_with("at ways.c:11"),
        "{text}"
    );
    assert_eq!(lines.last(), Some(&"120  in all"), "{text}");
}

#[test]
fn folded_stacks_have_functions_without_offsets() {
    let program = program();
    let text = count(&program, &["-b", "leaf", "--stack", "--format", "folded"]);
    let file = program.file_name().unwrap().to_str().unwrap();
    for (way, hits) in WAYS {
        let functions = way.iter().rev().chain(&["leaf"]).map(|name| format!("{file}!{name}"));
        let end = format!("{} {hits}", functions.collect::<Vec<_>>().join(";"));
        assert!(text.lines().any(|line| line.ends_with(&end)), "{end} is missing in {text}");
    }
    let sum: u64 = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 120, "{text}");
}

#[test]
fn a_table_has_a_line_for_each_stack() {
    let text = count(&program(), &["-b", "leaf", "--stack", "--format", "csv"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines.len()), ("hits,location,stack", 1 + WAYS.len()), "{text}");
    assert!(lines[1].starts_with("60,"), "{text}");
}

#[test]
fn a_form_that_only_stacks_have_is_refused_without_them() {
    for (format, more) in [("folded", &[][..]), ("flamegraph", &["--by", "caller"])] {
        let arguments = [&["count", "-b", "leaf", "--format", format], more, &["--", "/bin/true"]].concat();
        let output = run(&arguments);
        let message = format!("--format {format}: only stacks have this form; add --stack");
        assert!(stderr(&output).contains(&message), "{}", stderr(&output));
        assert_eq!(output.status.code(), Some(2));
    }
}
