//! Callers are found with each kind of unwind information and without any.

mod common;

use std::path::Path;
use std::process::Command;

use common::{build, build_go, ntrace, scratch, stderr, trace};
use serde_json::Value;

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

/// The stacks that `ntrace count --stack` tells, and what it tells beside.
fn counted(method: &str, location: &str, program: &[&str]) -> (Vec<Value>, String) {
    let file = scratch(&format!("stacks-{}", program.concat().replace('/', "-")));
    let options = ["count", "--quiet", "--stack", "--format", "json", "--method", method, "-b", location, "-o"];
    let output = ntrace().args(options).arg(&file).arg("--").args(program).output().expect("it runs");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let told: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let stacks = told["stacks"].as_array().expect("stacks").clone();
    // Where the program and its libraries lie differs.
    let named = |mut stack: Value| {
        let frames = stack["stack"].as_array().expect("callers");
        let names = frames.iter().map(|frame| frame["location"].clone()).collect();
        stack["stack"] = Value::Array(names);
        stack.as_object_mut().expect("an object").remove("address");
        stack
    };
    (stacks.into_iter().map(named).collect(), stderr(&output))
}

#[test]
fn callers_in_the_copy_of_a_stack_are_those_of_a_held_thread() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let program = ["/bin/ls", "-l", "/usr/lib"];
    let plain = Command::new(program[0]).args(&program[1..]).output().expect("ls").stdout;
    assert!(!plain.is_empty());
    let (by_jumps, _) = counted("jump", "libc!malloc", &program);
    let (by_traps, _) = counted("trap", "libc!malloc", &program);
    assert!(by_jumps.len() > 20, "{} stacks", by_jumps.len());
    assert_eq!(by_jumps, by_traps);
}

#[test]
fn a_stack_that_is_too_large_for_its_copy_has_its_innermost_callers_and_a_mark() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let program = build("deep.c", &[]);
    let of = |method, depth| counted(method, "leaf", &[program.to_str().expect("text"), depth]);
    let (held, told) = of("trap", "30");
    let whole = held[0]["stack"].as_array().expect("callers");
    assert!(whole.len() > 31 && held[0].get("stack_cut").is_none() && told.is_empty(), "{told}");
    let (copied, told) = of("jump", "30");
    let callers = copied[0]["stack"].as_array().expect("callers");
    assert!((5..10).contains(&callers.len()) && whole.starts_with(callers), "{callers:?}");
    assert_eq!(copied[0]["stack_cut"], true);
    assert!(told.contains("1 hits had more than 32120 bytes of stack"), "{told}");
    // A stack that has room is whole.
    let (copied, told) = of("jump", "5");
    assert_eq!((&copied[0]["stack"], told), (&of("trap", "5").0[0]["stack"], String::new()));
}
