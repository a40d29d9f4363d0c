//! The examples do what they show.
#![allow(dead_code, reason = "an example's main function is not called")]

#[path = "../examples/allocations.rs"]
mod allocations;
#[path = "../examples/backtrace.rs"]
mod backtrace;
mod common;
#[path = "../examples/lines.rs"]
mod lines;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use backtrace::Target;
use common::{build, marked};
use ubp::Pid;

/// A program without output, and with no input.
fn quiet(program: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Checks the frames of a stack from `inner` to `main`.
#[track_caller]
fn check(stack: &[u8], program: &std::path::Path) {
    let stack = std::str::from_utf8(stack).unwrap();
    let name = program.file_name().unwrap().to_str().unwrap();
    let mut frames = stack.lines();
    let expected = [("inner", None), ("outer", Some("OUTER")), ("main", Some("MAIN"))];
    for (number, (function, mark)) in expected.into_iter().enumerate() {
        let frame = frames.next().unwrap_or_else(|| panic!("{stack}"));
        assert!(frame.starts_with(&format!("#{number} ")), "{stack}");
        let place = frame.split_once(&format!(" {name}!")).unwrap_or_else(|| panic!("{stack}")).1;
        let (found, line) = place.split_once(" at calls.c:").unwrap_or_else(|| panic!("{stack}"));
        assert_eq!(found.split('+').next(), Some(function), "{stack}");
        if let Some(mark) = mark {
            assert_eq!(line, marked("calls.c", mark).to_string(), "{stack}");
        }
    }
    assert!(frames.next().is_some(), "the C library called main: {stack}");
}

#[test]
fn a_program_stops_at_a_function_and_every_frame_has_its_function_and_line() {
    for flags in [&[][..], &["-no-pie"], &["-fno-asynchronous-unwind-tables"], &["-fno-omit-frame-pointer"]] {
        let program = build("calls.c", flags);
        let mut out = Vec::new();
        backtrace::run(Target::Program(quiet(&program)), "inner", &mut out).unwrap();
        check(&out, &program);
    }
}

#[test]
fn a_running_process_stops_at_a_function_and_goes_on() {
    let program = build("calls.c", &[]);
    let mut child = Command::new(&program).arg("wait").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(printed.next().unwrap().unwrap(), "waits");
    let mut input = child.stdin.take().unwrap();
    let pid = Pid(child.id() as i32);
    let traced = std::thread::spawn(move || {
        let mut out = Vec::new();
        backtrace::run(Target::Process(pid), "inner", &mut out).map_err(|error| error.to_string()).map(|()| out)
    });
    // The breakpoint is set, or the tracer has failed.
    while !is_set(pid, &program) && !traced.is_finished() {
        std::thread::yield_now();
    }
    input.write_all(b"x").unwrap();
    check(&traced.join().unwrap().unwrap(), &program);
    assert_eq!(printed.next().unwrap().unwrap(), "6");
    assert!(child.wait().unwrap().success());
}

/// Whether a breakpoint is set in the code of a process: memory of `inner` differs from the file.
fn is_set(pid: Pid, program: &std::path::Path) -> bool {
    use std::os::unix::fs::FileExt;
    let image = ubp_symbols::Image::open(program).unwrap();
    let inner = image.symbols().iter().find(|symbol| symbol.name == "inner").unwrap().address;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let first = maps.lines().find(|line| line.ends_with(program.to_str().unwrap())).unwrap();
    let base = u64::from_str_radix(first.split('-').next().unwrap(), 16).unwrap();
    let mut bytes = [0; 4];
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    memory.read_exact_at(&mut bytes, base + inner).unwrap();
    image.bytes_at(inner).unwrap()[..4] != bytes
}

#[test]
fn a_program_stops_at_a_line_and_the_code_around_it_is_listed() {
    let program = build("calls.c", &[]);
    let line = marked("calls.c", "OUTER");
    let mut out = Vec::new();
    lines::run(quiet(&program), "calls.c", line, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let shown: Vec<&str> = out.lines().collect();
    assert!(shown[0].contains("!outer") && shown[0].ends_with(&format!("at calls.c:{line}")), "{out}");
    assert_eq!(shown[1..].len(), 5, "{out}");
    assert_eq!(shown[2], format!("  {:>5}  __attribute__((noinline)) int outer(int n) {{", line - 1));
    assert_eq!(shown[3], format!("> {line:>5}      int sum = inner(n) * 2; /* OUTER */"));
}

#[test]
fn a_function_that_is_never_called_is_an_error_and_the_program_ends_by_itself() {
    let program = build("calls.c", &[]);
    let error = backtrace::run(Target::Program(quiet(&program)), "nobody", &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "the program ended before it called nobody");
}

#[test]
fn callers_of_an_allocator_are_listed_by_what_they_ask_for() {
    let program = build("allocates.c", &[]);
    let mut out = Vec::new();
    allocations::run(quiet(&program), "malloc", &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    let of = |function: &str| {
        let row = rows.iter().find(|row| row[4].contains(&format!("!{function}+"))).unwrap_or_else(|| panic!("{out}"));
        (row[0].to_string(), row[2].to_string())
    };
    assert_eq!(of("greedy"), ("10000".into(), "10".into()));
    assert_eq!(of("modest"), ("50".into(), "5".into()));
    assert!(out.find("!greedy+") < out.find("!modest+"), "{out}");
}
