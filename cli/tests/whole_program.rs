//! A breakpoint on every instruction does not change what a program does.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{build, build_narrow, count, ntrace, scratch, stderr, stdout};
use crossing::whole::without_exclusives;
use serde_json::Value;

/// Runs a program alone, and with every instruction traced or counted. Its output and exit status must be equal.
fn undisturbed(command: &str, program: &Path, args: &[&str]) -> String {
    let plain = Command::new(program).args(args).output().unwrap();
    let file = scratch("all");
    let mut ntrace = ntrace();
    ntrace.args([command, "--every-instruction", "-o"]).arg(&file).arg("--").arg(program).args(args);
    let traced = ntrace.output().unwrap();
    assert_eq!(traced.status, plain.status, "{}", stderr(&traced));
    assert_eq!(stdout(&traced), stdout(&plain));
    assert_eq!(without_exclusives(&stderr(&traced)), stderr(&plain));
    let text = fs::read_to_string(&file).unwrap();
    let _ = fs::remove_file(&file);
    text
}

#[test]
fn eight_threads_with_signals_and_forks_run_as_if_alone() {
    let program = build("threads.c", &["-pthread"]);
    let hits = undisturbed("trace", &program, &[]);
    let module = program.file_name().unwrap().to_str().unwrap().to_string();
    let starts = |name: &str| {
        let place = format!(" {module}!{name} at ");
        hits.lines().filter(|line| line.contains(&place)).count()
    };
    assert_eq!(starts("step"), 8 * 50 + 3);
    assert_eq!(starts("run"), 8);
    for library in ["libc.so.6!", "ld-linux-"] {
        assert!(hits.contains(library), "{library}");
    }
}

#[test]
fn a_static_and_a_32_bit_program_run_as_if_alone() {
    let counts = undisturbed("trace", &build("calls.c", &["-static"]), &["3"]);
    assert!(counts.contains("!work"));
    if let Some(program) = build_narrow("calls.c", &["-O1"]) {
        undisturbed("count", &program, &["3"]);
    }
}

#[test]
fn ls_runs_as_if_alone() {
    let counts = undisturbed("count", Path::new("/bin/ls"), &["-l", "/usr/share/common-licenses"]);
    assert!(counts.lines().count() > 1000);
}

#[test]
fn padding_that_a_function_falls_through_is_counted() {
    let counts = count(&[], &["--every-instruction"], &build("falls.c", &[]), &["a", "b", "c"]);
    let number = |row: &Value| {
        let text = row["address"].as_str().unwrap().trim_start_matches("0x");
        u64::from_str_radix(text, 16).unwrap()
    };
    let at = |name| number(counts.rows.iter().find(|row| row["symbol"] == name && row["offset"] == 0).expect("a row"));
    let (first, second) = (at("first"), at("second"));
    let inside =
        |row: &&Value| row["module"].as_str().unwrap().contains("falls") && (first..=second).contains(&number(row));
    let hits: Vec<&Value> = counts.rows.iter().filter(inside).map(|row| &row["hits"]).collect();
    assert_eq!(hits, [3; 4]);
}
