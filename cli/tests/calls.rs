//! `ntrace calls`.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::{build, build_narrow, build_with, ntrace, run, scratch, stderr, stdout};
use serde_json::Value;

/// Traces calls, and returns the lines and the program's output.
fn calls(locations: &[&str], flags: &[&str], program: &Path, args: &[&str]) -> (Vec<String>, Output) {
    let file = scratch("calls");
    let mut command = ntrace();
    command.arg("calls").args(flags).arg("-o").arg(&file);
    for location in locations {
        command.args(["-b", location]);
    }
    let output = command.arg("--").arg(program).args(args).output().unwrap();
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    (text.lines().map(str::to_string).collect(), output)
}

/// The calls as a tree, without times, threads, modules and source lines.
fn tree(locations: &[&str], flags: &[&str], program: &Path, args: &[&str]) -> Vec<String> {
    let (lines, output) = calls(locations, flags, program, args);
    let module = format!("{}!", program.file_name().unwrap().to_str().unwrap());
    let call = |line: &String| {
        // The columns of time and thread are as wide as in "  12.3 µs  123456  ".
        let (_, call) = line.split_at_checked(line.char_indices().nth(20).map_or(0, |(at, _)| at)).unwrap();
        let call = call.replace(&module, "");
        call.split_once(" at ").map_or(call.clone(), |(call, _)| call.to_string())
    };
    assert!(!lines.is_empty(), "{}", stderr(&output));
    lines.iter().map(call).collect()
}

fn json(locations: &[&str], program: &Path, args: &[&str]) -> (Vec<Value>, Output) {
    let (lines, output) = calls(locations, &["--format", "json"], program, args);
    (lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect(), output)
}

#[test]
fn calls_are_indented_below_the_call_that_made_them() {
    let program = build("calls.c", &[]);
    let expected = ["main {", "  middle {", "    work", "  } middle", "  middle {", "    work", "  } middle", "} main"];
    assert_eq!(tree(&["main", "middle", "work"], &[], &program, &["2"]), expected);
    assert_eq!(
        tree(&["main", "middle", "work"], &["--depth", "2"], &program, &["2"]),
        ["main {", "  middle", "  middle", "} main"]
    );
    assert_eq!(tree(&["work", "main"], &[], &program, &["1"]), ["main {", "  work", "} main"]);
}

#[test]
fn calls_of_a_32_bit_program_are_paired_too() {
    let Some(program) = build_narrow("calls.c", &["-O1"]) else { return };
    assert_eq!(tree(&["middle", "work"], &[], &program, &["1"]), ["middle {", "  work", "} middle"]);
}

#[test]
fn a_call_that_an_exception_leaves_does_not_hide_the_next() {
    let Some(program) = build_with("g++", "thrown.cpp", &["-O1", "-g"]) else { return };
    let round = ["catcher {", "  between {", "    thrower", "  } between", "} catcher", "last"];
    let thrown = ["catcher {", "  between {", "    thrower {", "} catcher", "last"];
    let expected: Vec<&str> = [&round[..], &thrown, &round, &thrown].concat();
    assert_eq!(tree(&["catcher", "between", "thrower", "last"], &[], &program, &[]), expected);
}

#[test]
fn each_call_has_its_time_and_the_part_of_it_that_is_its_own() {
    let program = build("calls.c", &[]);
    let (calls, output) = json(&["main", "middle", "work"], &program, &["3"]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(stdout(&output), stdout(&Command::new(&program).arg("3").output().unwrap()));
    let of = |name: &str| calls.iter().filter(|call| call["symbol"] == name).collect::<Vec<_>>();
    assert_eq!((of("work").len(), of("middle").len(), of("main").len()), (3, 3, 1));
    let sum = |calls: &[&Value], key: &str| calls.iter().map(|call| call[key].as_u64().unwrap()).sum::<u64>();
    for (caller, called, depth) in [("main", "middle", 1), ("middle", "work", 2)] {
        let inner = sum(&of(caller), "duration") - sum(&of(caller), "own");
        assert_eq!(inner, sum(&of(called), "duration"), "{calls:?}");
        assert!(of(caller).iter().all(|call| call["depth"] == depth), "{calls:?}");
    }
}

#[test]
fn arguments_and_returned_values_stand_with_the_call() {
    let program = build("calls.c", &[]);
    let lines = tree(&["middle", "work"], &["--args", "--return"], &program, &["1"]);
    assert_eq!(lines[0], "middle(n=0) {");
    // 'h' and the lower half of the third argument.
    assert_eq!(lines[1], format!("  work(n=0, text=\"hello\", big={}) = {}", 0x1_2345_6789_u64, 0x2345_67f1));
    assert_eq!(lines[2], format!("}} middle = {}", 0x2345_67f2));
    let (calls, _) = calls(&["work"], &["--args", "--return", "--format", "json"], &program, &["1"]);
    let call: Value = serde_json::from_str(&calls[0]).unwrap();
    assert_eq!((&call["args"][1]["string"], &call["return"]["value"]), (&"hello".into(), &0x2345_67f1.into()));
}

#[test]
fn folded_stacks_name_each_function_on_the_way() {
    let program = build("calls.c", &[]);
    let (lines, _) = calls(&["main", "middle", "work"], &["--format", "folded"], &program, &["4"]);
    let name = program.file_name().unwrap().to_str().unwrap();
    let stack = |functions: &[&str]| functions.iter().map(|f| format!("{name}!{f}")).collect::<Vec<_>>().join(";");
    let seen: Vec<&str> = lines.iter().map(|line| line.rsplit_once(' ').unwrap().0).collect();
    assert_eq!(seen, [stack(&["main"]), stack(&["main", "middle"]), stack(&["main", "middle", "work"])]);
    assert!(lines.iter().all(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap() > 0), "{lines:?}");
}

#[test]
fn a_flame_graph_has_a_frame_for_each_stack() {
    let program = build("calls.c", &[]);
    let (lines, output) = calls(&["main", "middle", "work"], &["--format", "flamegraph"], &program, &["4"]);
    assert_eq!(output.status.code(), Some(7));
    let picture = lines.join("\n");
    assert!(picture.trim_start().starts_with("<?xml") && picture.trim_end().ends_with("</svg>"), "{picture}");
    for function in ["main", "middle", "work"] {
        assert!(picture.contains(&format!("!{function} (")), "{function} is missing in {picture}");
    }
}

#[test]
fn slices_of_a_perfetto_trace_lie_within_that_of_their_caller() {
    let program = build("threads.c", &["-pthread"]);
    let (lines, output) = calls(&["run", "step"], &["--format", "perfetto"], &program, &[]);
    assert_eq!(output.status.code(), Some(42));
    let trace: Vec<Value> = serde_json::from_str(&lines.join("\n")).unwrap();
    let slices: Vec<&Value> = trace.iter().filter(|entry| entry["ph"] == "X").collect();
    let of = |name: &str| slices.iter().filter(|slice| slice["name"] == name).collect::<Vec<_>>();
    assert_eq!((of("run").len(), of("step").len()), (8, 8 * 50 + 3));
    let span = |slice: &Value| {
        let [start, length] = ["ts", "dur"].map(|key| slice[key].as_f64().unwrap());
        (start, start + length)
    };
    for run in of("run") {
        let inner: Vec<_> = of("step").into_iter().filter(|step| step["tid"] == run["tid"]).collect();
        assert_eq!(inner.len(), 50);
        let (start, end) = span(run);
        assert!(inner.iter().all(|step| start <= span(step).0 && span(step).1 <= end), "{run}");
    }
    let name = |slice: &&Value| trace.iter().any(|e| e["name"] == "process_name" && e["pid"] == slice["pid"]);
    assert!(slices.iter().all(name));
}

#[test]
fn counters_of_a_perfetto_trace_have_the_calls_and_the_numbers_of_their_time() {
    let program = build("calls.c", &[]);
    let (lines, output) = calls(&["middle", "work"], &["--args", "--return", "--format", "perfetto"], &program, &["3"]);
    assert_eq!(output.status.code(), Some(7));
    let trace: Vec<Value> = serde_json::from_str(&lines.join("\n")).unwrap();
    let of = |phase: &str| trace.iter().filter(|entry| entry["ph"] == phase).collect::<Vec<_>>();
    let (slices, counters) = (of("X"), of("C"));
    let sums = |location: &str| {
        let rates = counters.iter().filter(|entry| entry["name"] == "calls a second");
        rates
            .filter_map(|entry| entry["args"].as_object()?.iter().find(|(key, _)| key.ends_with(location))?.1.as_f64())
            .sum::<f64>()
    };
    // A window lasts a tenth of a second, and behind the last there is none.
    assert_eq!((sums("!middle").round(), sums("!work").round()), (30.0, 30.0), "{counters:?}");
    assert!(
        counters.iter().rfind(|entry| entry["name"] == "calls a second").unwrap()["args"]
            .as_object()
            .unwrap()
            .values()
            .all(|rate| *rate == 0.0)
    );
    let works: Vec<_> = slices.iter().filter(|slice| slice["name"] == "work").collect();
    for (number, slice) in works.iter().enumerate() {
        let at = |time: f64, key: &str| {
            let is_here = |entry: &&&Value| entry["ts"].as_f64() == Some(time) && entry["pid"] == slice["pid"];
            let entry = counters.iter().filter(is_here).find(|entry| entry["args"][key].is_number());
            entry.unwrap_or_else(|| panic!("{key} at {time}: {counters:?}"))["args"][key].as_f64().unwrap()
        };
        let [start, length] = ["ts", "dur"].map(|key| slice[key].as_f64().unwrap());
        assert_eq!(at(start, "n"), number as f64);
        let ends: Vec<f64> = counters
            .iter()
            .filter(|entry| entry["args"]["return"].is_number())
            .map(|entry| entry["ts"].as_f64().unwrap())
            .collect();
        assert!(ends.iter().any(|end| (end - start - length).abs() < 0.01), "{ends:?} {start} {length}");
    }
}

#[test]
fn threads_signals_and_forks_disturb_neither_the_pairs_nor_the_program() {
    let program = build("threads.c", &["-pthread"]);
    let (calls, output) = json(&["step", "run"], &program, &[]);
    assert_eq!(stdout(&output), stdout(&Command::new(&program).output().unwrap()));
    let of = |name: &str, depth: u64| calls.iter().filter(|c| c["symbol"] == name && c["depth"] == depth).count();
    assert_eq!((of("step", 2), of("step", 1), of("run", 1), calls.len()), (8 * 50, 3, 8, 8 * 50 + 3 + 8));
}

#[test]
fn what_is_no_function_is_refused() {
    let program = build("calls.c", &[]);
    let program = program.to_str().unwrap();
    let output = run(&["calls", "-b", "calls.c:27", "--", program]);
    assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
    assert!(stderr(&output).contains("is not the first instruction of a function"), "{}", stderr(&output));
    let output = run(&["calls", "-b", "main", "--every-instruction", "--", program]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
