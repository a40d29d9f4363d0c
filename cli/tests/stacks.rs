//! Callers are found with each kind of unwind information and without any.

mod common;

use std::path::Path;

use common::{build, build_go, trace};

/// Returns the callers of a function at its first hit, up to the named function.
fn callers(function: &str, program: &Path, last: &str) -> Vec<String> {
    let (hits, _) = trace(&["-b", function, "--stack"], program, &[]);
    let stack = hits[0]["stack"].as_array().expect("a stack");
    let names = stack.iter().map(|frame| frame["symbol"].as_str().unwrap_or("?").to_string());
    let mut names: Vec<String> = names.collect();
    names.truncate(names.iter().position(|name| name == last).map_or(names.len(), |at| at + 1));
    names
}

#[test]
fn callers_are_found_where_only_debuggers_are_told_how_frames_are_left() {
    const WITHOUT: &[&str] = &["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer"];
    for flags in [&[][..], WITHOUT] {
        let program = build("chain.c", flags);
        assert_eq!(callers("three", &program, "main"), ["two", "one", "main"], "{flags:?}");
        assert_eq!(callers("two", &program, "main"), ["one", "main"], "{flags:?}");
    }
}

#[test]
fn callers_are_found_in_go_with_and_without_debug_information() {
    const EVERY: [&str; 5] = ["main.middle", "main.main.func1", "main.apply", "main.main", "runtime.main"];
    for flags in [&[][..], &["-ldflags=-s -w"], &["-buildmode=pie", "-ldflags=-s -w"]] {
        let Some(program) = build_go("instances.go", flags) else { return };
        assert_eq!(callers("main.leaf", &program, "runtime.main"), EVERY, "{flags:?}");
        // The function is hit at its first instruction, before it allocates its frame.
        assert_eq!(callers("main.middle", &program, "runtime.main"), EVERY[1..], "{flags:?}");
    }
}
