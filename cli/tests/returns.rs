//! `ntrace trace --return`.

mod common;

use std::path::Path;
use std::process::Command;

use common::{build, build_narrow, build_with, ntrace, run, stderr, stdout, trace};

/// The entries and returns as text without columns, modules, times and source lines.
fn shown(locations: &[&str], flags: &[&str], program: &Path, args: &[&str]) -> Vec<String> {
    let mut command = ntrace();
    command.args(["trace", "--return", "--time", "none"]).args(flags);
    command.args(locations.iter().flat_map(|location| ["-b", location]));
    let output = command.arg("--").arg(program).args(args).output().unwrap();
    let plain = Command::new(program).args(args).output().unwrap();
    assert_eq!((output.status, &output.stdout), (plain.status, &plain.stdout), "{}", stderr(&output));
    let text = stderr(&output);
    let calls = text.lines().filter_map(|line| line.split_once('!')).map(|(_, call)| call);
    let call = |call: &str| {
        let call = call.split(" at ").next().unwrap();
        call.split(" after ").next().unwrap().to_string()
    };
    calls.map(call).collect()
}

#[test]
fn a_line_tells_what_a_function_returned_also_where_calls_do_not_nest_plainly() {
    let program = build("returns.c", &["-O2"]);
    let factorial = ["factorial(n=3)", "factorial(n=2)", "factorial(n=1)"];
    let back = ["factorial returned 1", "factorial returned 2", "factorial returned 6"];
    assert_eq!(shown(&["factorial"], &["--args"], &program, &[]), [&factorial[..], &back].concat());
    let tail = ["tail", "target", "target returned 9", "tail returned 9"];
    assert_eq!(shown(&["tail", "target"], &[], &program, &[]), tail);
    let returned = ["catches", "leaves", "leaves returned 1", "catches returned 10"];
    // This call of `leaves` is left by longjmp, and has no line of a return.
    let left = ["catches", "leaves", "catches returned 50"];
    assert_eq!(shown(&["catches", "leaves"], &[], &program, &[]), [&returned[..], &left].concat());
    assert_eq!(
        shown(&["half", "nothing"], &[], &program, &[]),
        ["half", "half returned 1.5", "nothing", "nothing returned"]
    );
}

#[test]
fn calls_that_an_exception_leaves_have_no_return() {
    let Some(program) = build_with("g++", "thrown.cpp", &["-O1", "-g"]) else { return };
    let round = |n| {
        let values = [n, n + 1, n].map(|value| format!("returned {value}"));
        let [thrower, between, catcher] = ["thrower", "between", "catcher"].map(String::from);
        let names = vec![catcher.clone(), between.clone(), thrower.clone()];
        let back = [(thrower, &values[0]), (between, &values[1]), (catcher, &values[2])];
        names.into_iter().chain(back.map(|(name, value)| format!("{name} {value}"))).collect::<Vec<_>>()
    };
    let thrown = |n| {
        ["catcher", "between", "thrower"]
            .map(String::from)
            .into_iter()
            .chain([format!("catcher returned {n}")])
            .collect()
    };
    let expected: Vec<Vec<String>> = vec![round(0), thrown(1), round(2), thrown(3)];
    assert_eq!(shown(&["catcher", "between", "thrower"], &[], &program, &[]), expected.concat());
}

#[test]
fn a_return_has_the_time_between_and_the_depth_of_the_call() {
    let program = build("calls.c", &[]);
    let (lines, _) = trace(&["-b", "middle", "work", "--return"], &program, &["2"]);
    let events: Vec<_> =
        lines.iter().map(|line| (line["event"].as_str().unwrap(), line["symbol"].as_str().unwrap())).collect();
    let round = [("hit", "middle"), ("hit", "work"), ("return", "work"), ("return", "middle")];
    assert_eq!(events, [round, round].concat());
    assert_eq!((&lines[2]["depth"], &lines[3]["depth"]), (&2.into(), &1.into()));
    assert_eq!(lines[2]["return"]["value"], 0x2345_67f1);
    let [inner, outer] = [2, 3].map(|line: usize| lines[line]["duration"].as_u64().unwrap());
    assert!(inner < outer, "{lines:?}");
}

#[test]
fn a_filter_of_results_leaves_one_line_for_a_wanted_call() {
    let program = build("calls.c", &[]);
    let lines = shown(&["work"], &["--args", "--if", "retval > 0x234567f2 && n != 3"], &program, &["5"]);
    let expected = [2, 4].map(|n| format!("work(n={n}, text=\"hello\", big=4886718345) returned {}", 0x2345_67f1 + n));
    assert_eq!(lines, expected);
    let lines = shown(&["work"], &["--args", "--if", "n == 1"], &program, &["3"]);
    assert_eq!(lines, ["work(n=1, text=\"hello\", big=4886718345)", "work returned 591751154"]);
    // Each line counts.
    assert_eq!(shown(&["work"], &["--limit", "3"], &program, &["5"]).len(), 3);
}

#[test]
fn threads_forks_and_signals_disturb_no_return() {
    let program = build("threads.c", &["-pthread"]);
    let (lines, output) = trace(&["-b", "step", "run", "--return"], &program, &[]);
    assert_eq!(stdout(&output), stdout(&Command::new(&program).output().unwrap()));
    let of = |event: &str, name: &str| lines.iter().filter(|l| l["event"] == event && l["symbol"] == name).count();
    assert_eq!((of("return", "step"), of("return", "run")), (8 * 50 + 3, 8));
    assert_eq!((of("hit", "step"), of("hit", "run")), (8 * 50 + 3, 8));
}

#[test]
fn returns_of_a_32_bit_program_are_seen_too() {
    let Some(program) = build_narrow("calls.c", &["-O1"]) else { return };
    assert_eq!(shown(&["work"], &[], &program, &["1"]).len(), 2);
}

#[test]
fn nothing_returns_from_what_is_no_function() {
    let program = build("calls.c", &[]);
    let program = program.to_str().unwrap();
    for (arguments, status, message) in [
        (&["-b", "calls.c:27"][..], 125, "is not the first instruction of a function"),
        (&["-b", "main", "--every-instruction"], 2, "only functions are called"),
    ] {
        let output = run(&[&["trace", "--return"], arguments, &["--", program]].concat());
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}
