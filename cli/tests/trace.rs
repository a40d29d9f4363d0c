//! `ntrace trace`.

mod common;

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use common::{build, build_narrow, machine, ntrace, run, scratch, stderr, stdout, trace};

#[test]
fn a_hit_tells_time_thread_and_location() {
    let program = build("calls.c", &[]);
    let (hits, output) = trace(&["-b", "work"], &program, &["5"]);
    assert_eq!(hits.len(), 5);
    let mut before = 0.0;
    for hit in &hits {
        assert_eq!((&hit["event"], &hit["symbol"], &hit["offset"]), (&"hit".into(), &"work".into(), &0.into()));
        assert_eq!(hit["module"], program.to_str().unwrap());
        assert_eq!(hit["pid"], hit["tid"]);
        let time = hit["time"].as_f64().unwrap();
        assert!(time >= before && time < 60.0);
        before = time;
    }
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn arguments_are_those_of_the_call_with_strings_as_text() {
    let program = build("calls.c", &[]);
    let (hits, _) = trace(&["-b", "work", "--args"], &program, &["3"]);
    for (number, hit) in hits.iter().enumerate() {
        let args = hit["args"].as_array().unwrap();
        assert_eq!((&args[0]["name"], &args[0]["value"]), (&"n".into(), &number.into()));
        assert_eq!(args[1]["string"], "hello");
        assert_eq!(args[2]["value"], 0x1_2345_6789_u64);
    }
}

#[test]
fn arguments_and_callers_of_32_bit_code_come_from_its_stack() {
    let flags = ["-O1", "-fno-omit-frame-pointer", "-fno-pie", "-no-pie"];
    let Some(program) = build_narrow("calls.c", &flags) else { return };
    let (hits, output) = trace(&["-b", "work", "--args", "--stack"], &program, &["2"]);
    assert_eq!(hits.len(), 2, "{}", stderr(&output));
    assert_eq!(hits[1]["args"][0]["value"], "0x1");
    assert_eq!(hits[1]["args"][1]["string"], "hello");
    let stack: Vec<&str> = hits[1]["stack"].as_array().unwrap().iter().filter_map(|f| f["symbol"].as_str()).collect();
    assert_eq!(stack[..2], ["middle", "main"], "{stack:?}");
}

#[test]
fn a_trace_by_jumps_is_one_by_traps() {
    let input = scratch("numbers");
    let numbers: String = (0..3000_u64).map(|number| format!("{}\n", number * 2_654_435_761 % 10_007)).collect();
    fs::write(&input, numbers).unwrap();
    let input = input.to_str().unwrap();
    for program in [&["sort", "-n", input][..], &["gzip", "-c", input], &["awk", "{ s += $1 } END { print s }", input]]
    {
        let by = |method| {
            // Without a random layout pointers are the same in each run.
            let mut command = Command::new("setarch");
            command.arg("-R").arg(ntrace().get_program());
            command.args(["trace", "-b", "libc!str*", "-b", "libc!mem*", "--args", "--format", "json"]);
            let output =
                command.args(["--backend", "ptrace", "--method", method, "--"]).args(program).output().unwrap();
            let hits: Vec<Value> = stderr(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let shown = |hit: &Value| {
                let first = &hit["args"][0];
                let is_string = hit["symbol"].as_str().is_some_and(|symbol| symbol.contains("strl"));
                format!(
                    "{} {} {}",
                    hit["symbol"],
                    first["value"],
                    if is_string { &first["string"] } else { &Value::Null }
                )
            };
            (hits.iter().map(shown).collect::<Vec<_>>(), output.stdout)
        };
        let (by_jumps, by_traps) = (by("auto"), by("trap"));
        assert!(by_jumps.0.len() > 50, "{program:?}");
        assert_eq!(by_jumps, by_traps, "{program:?}");
    }
}

#[test]
fn the_stack_names_every_caller_once() {
    for flags in [&["-fomit-frame-pointer"][..], &["-fno-omit-frame-pointer"], &[machine::MARKS]] {
        let program = build("calls.c", flags);
        let (hits, _) = trace(&["-b", "work", "--stack"], &program, &["4"]);
        for hit in &hits {
            let stack = hit["stack"].as_array().unwrap();
            let names: Vec<&str> = stack.iter().filter_map(|frame| frame["symbol"].as_str()).collect();
            assert_eq!(names[..2], ["middle", "main"], "{flags:?} {names:?}");
            assert_eq!(names.iter().filter(|name| **name == "middle").count(), 1, "{names:?}");
            assert_eq!(names.last(), Some(&"_start"), "{names:?}");
        }
    }
}

#[test]
fn text_goes_to_standard_error_and_never_into_the_programs_output() {
    let program = build("calls.c", &[]);
    let plain = Command::new(&program).arg("3").output().unwrap();
    let output = ntrace().args(["trace", "-b", "work", "--args", "--"]).arg(&program).arg("3").output().unwrap();
    assert_eq!(output.stdout, plain.stdout);
    let text = stderr(&output);
    assert_eq!(text.lines().filter(|line| line.contains("!work(") && line.contains("\"hello\"")).count(), 3, "{text}");
    assert!(text.contains("to standard error\n"), "{text}");
}

#[test]
fn time_can_be_left_out() {
    let program = build("calls.c", &[]);
    let (hits, _) = trace(&["-b", "work", "--time", "none"], &program, &["1"]);
    assert!(hits[0].get("time").is_none());
    let (hits, _) = trace(&["-b", "work", "--time", "epoch"], &program, &["1"]);
    assert!(hits[0]["time"].as_f64().unwrap() > 1.7e9);
}

#[test]
fn the_programs_standard_input_is_its_own() {
    let file = scratch("input");
    fs::write(&file, "one\ntwo\n").unwrap();
    let input = fs::File::open(&file).unwrap();
    let output =
        ntrace().args(["trace", "-b", "libc!read", "-o", "/dev/null", "--", "cat"]).stdin(input).output().unwrap();
    assert_eq!(stdout(&output), "one\ntwo\n");
}

#[test]
fn death_by_a_signal_is_passed_on() {
    use std::os::unix::process::ExitStatusExt;
    let output = run(&["trace", "-b", "libc!exit", "-o", "/dev/null", "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(output.status.signal(), Some(15), "{}", stderr(&output));
}

#[test]
fn a_full_disk_is_an_error_and_the_program_still_ends_by_itself() {
    let program = build("calls.c", &[]);
    for command in ["trace", "count"] {
        let mut ntrace = ntrace();
        ntrace.args([command, "-b", "work", "-o", "/dev/full", "--"]).arg(&program).arg("2000");
        let output = ntrace.output().unwrap();
        assert_eq!(output.status.code(), Some(125));
        assert!(stderr(&output).contains("No space left"), "{}", stderr(&output));
        assert_eq!(stdout(&output), stdout(&Command::new(&program).arg("2000").output().unwrap()));
    }
}

#[test]
fn a_closed_pipe_is_an_error_and_the_program_still_ends_by_itself() {
    let program = build("calls.c", &[]);
    let mut ntrace = ntrace();
    // The program's standard error is not the closed pipe.
    let script = format!("exec {} 20000 2>/dev/null", program.display());
    ntrace.args(["trace", "-b", "work", "--", "sh", "-c", &script]);
    let mut child = ntrace.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(stdout(&output), stdout(&Command::new(&program).arg("20000").output().unwrap()));
}

#[test]
fn a_full_buffer_loses_hits_and_tells_how_many_or_keeps_the_last_ones() {
    if machine::NARROW.is_none() {
        // No jumps.
        return;
    }
    let program = build("calls.c", &[]);
    let trace = |buffer: &str| {
        let options = ["-b", "work", "--args", "--backend", "ptrace", "--method", "jump", "--buffer", buffer];
        let (hits, output) = trace(&options, &program, &["5000"]);
        let numbers: Vec<u64> = hits.iter().filter_map(|hit| hit["args"][0]["value"].as_u64()).collect();
        assert_eq!(numbers.len(), hits.len());
        (numbers, stderr(&output))
    };
    let (all, told) = trace("lossless:64");
    assert!(all.iter().copied().eq(0..5000) && !told.contains("hits"), "{told}");
    let (last, told) = trace("circular:100");
    assert!(last.iter().copied().eq(4872..5000), "{last:?}");
    assert!(told.contains("4872 earlier hits were overwritten"), "{told}");
    let (some, told) = trace("drop:64");
    let lost = 5000 - some.len();
    assert!(some.is_sorted_by(|a, b| a < b), "{some:?}");
    assert_eq!(told.contains(&format!("{lost} hits were lost")), lost > 0, "{told}");
}

#[test]
fn a_buffer_that_does_not_exist_is_refused() {
    let output = run(&["trace", "-b", "main", "--buffer", "ring:64", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("none of lossless, drop and circular"), "{}", stderr(&output));
}
