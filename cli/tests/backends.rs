//! The kernel module and ptrace(2) give equal results.

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Counts, build, build_narrow, count, run, stderr, trace};
use serde_json::Value;

const KERNEL: &[&str] = &["--backend", "kernel"];
const PTRACE: &[&str] = &["--backend", "ptrace"];

/// The hits by location.
fn by_place(rows: &[Value]) -> BTreeMap<String, u64> {
    let place = |row: &Value| format!("{}!{}", row["module"].as_str().unwrap_or_default(), row["address"]);
    rows.iter().map(|row| (place(row), row["hits"].as_u64().unwrap())).collect()
}

/// Counts with both back ends. The output and the exit status must be equal.
fn counted(locations: &[&str], flags: &[&str], program: &Path, args: &[&str]) -> [BTreeMap<String, u64>; 2] {
    let [kernel, ptrace] = [KERNEL, PTRACE].map(|backend| count(locations, &[backend, flags].concat(), program, args));
    assert_eq!(stderr(&kernel.output), stderr(&ptrace.output));
    assert_eq!(kernel.output, ptrace.output);
    [by_place(&kernel.rows), by_place(&ptrace.rows)]
}

/// Whether all hits are equal. Hits that differ between two runs of one back end do not count, since the program itself varies.
fn same_but_for_chance(kernel: &BTreeMap<String, u64>, ptrace: &BTreeMap<String, u64>, again: impl FnOnce() -> Counts) {
    if kernel == ptrace {
        return;
    }
    let again = by_place(&again().rows);
    let differs = |place: &&String| kernel.get(*place) != ptrace.get(*place) && ptrace.get(*place) == again.get(*place);
    let places: Vec<_> = kernel.keys().chain(ptrace.keys()).filter(differs).collect();
    let show = |place: &&String| ((*place).clone(), kernel.get(*place).copied(), ptrace.get(*place).copied());
    assert!(places.is_empty(), "{:?}", places.iter().map(show).collect::<Vec<_>>());
}

#[test]
fn without_the_module_the_kernel_back_end_says_so() {
    if Path::new("/dev/ntrace").exists() {
        return crossing::skip("without_the_module_the_kernel_back_end_says_so", "the module is loaded");
    }
    let output = run(&["count", "--backend", "kernel", "-b", "main", "--", "true"]);
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(stderr(&output), "ntrace: /dev/ntrace: the kernel module is not loaded; --backend ptrace needs none\n");
}

/// What `ntrace channel` writes and tells for these lines, and its status.
fn by_hand(script: &str) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ntrace"));
    let mut ntrace =
        command.arg("channel").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    ntrace.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = ntrace.wait_with_output().unwrap();
    let [text, told] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (text, told, output.status.code())
}

#[test]
fn what_cannot_be_sent_is_told_by_line_and_value_and_the_next_line_is_carried_out() {
    let (text, told, status) = by_hand("atach 1\ndescribe nothing\n\n# a comment\nattach 1\ndescribe resume\n");
    let expected = "ntrace: line 1: 'atach' is no command: describe lists them\nntrace: line 2: 'nothing' is no command and no event\n\
                    ntrace: line 5: attach takes 2 values, and 1 are given: attach process:word options:word\n";
    assert_eq!((told.as_str(), status), (expected, Some(125)));
    assert!(text.starts_with("command resume thread:word\n  Resumes a held thread.\n"), "{text}");
    let (text, told, status) = by_hand("describe\n");
    assert!(text.contains("\nevent lost count:word\n"), "{text}");
    assert_eq!((told.as_str(), status), ("", Some(0)));
    if !Path::new("/dev/ntrace").exists() {
        let (_, told, status) = by_hand("hello\n");
        assert_eq!((told.as_str(), status), ("ntrace: /dev/ntrace: the kernel module is not loaded\n", Some(125)));
    }
}

crossing::channel_tests! {
    every_instruction_of_functions_is_counted_alike {
        for flags in [&["-fPIE", "-pie"][..], &["-fno-pie", "-no-pie"], &["-static"], &["-O3"]] {
            let program = build("calls.c", flags);
            let [kernel, ptrace] = counted(&["work", "middle", "main"], &["--every-instruction"], &program, &["20"]);
            assert!(kernel.len() > 10, "{kernel:?}");
            assert_eq!(kernel, ptrace, "{flags:?}");
        }
    }

    functions_of_libraries_are_counted_alike_from_their_first_instruction_on {
        let locations = ["libc!*init*", "libc!mem*", "_dl_init", "_dl_catch*"];
        let [kernel, ptrace] = counted(&locations, &[], Path::new("/bin/echo"), &["hi"]);
        assert!(kernel.values().filter(|hits| **hits > 0).count() > 3, "{kernel:?}");
        same_but_for_chance(&kernel, &ptrace, || count(&locations, PTRACE, Path::new("/bin/echo"), &["hi"]));
    }

    a_32_bit_program_is_counted_alike {
        let Some(program) = build_narrow("calls.c", &["-O1"]) else { return };
        let [kernel, ptrace] = counted(&["work", "middle", "main"], &["--every-instruction"], &program, &["20"]);
        assert_eq!(kernel, ptrace);
    }

    threads_forks_and_what_they_execute_are_counted_alike {
        let program = build("threads.c", &["-pthread"]);
        let [kernel, ptrace] = counted(&["step", "run"], &[], &program, &[]);
        assert_eq!(kernel, ptrace);
        let [kernel, ptrace] = counted(&["step"], &["--no-follow"], &program, &[]);
        assert_eq!(kernel, ptrace);
        let program = build("calls.c", &[]);
        let script = format!("{0} 3 >/dev/null 2>&1; exec {0} 4", program.display());
        let [kernel, ptrace] = counted(&["work", "middle"], &[], Path::new("/bin/sh"), &["-c", &script]);
        assert_eq!(kernel, ptrace);
    }

    hits_are_traced_alike_with_arguments_and_callers {
        let program = build("calls.c", &[]);
        let traced = |backend: &[&str]| {
            let args = [backend, &["-b", "work", "middle", "libc!write", "--args", "--stack", "--time", "none"]].concat();
            let (lines, output) = trace(&args, &program, &["5"]);
            assert_eq!(output.status.code(), Some(7));
            let shown = |line: &Value| {
                let strings: Vec<_> = line["args"].as_array().unwrap().iter().take(2).map(|arg| arg["string"].clone()).collect();
                let callers = line["stack"].as_array().unwrap().iter().map(|frame| frame["location"].clone());
                (line["location"].clone(), strings, callers.collect::<Vec<_>>())
            };
            lines.iter().map(shown).collect::<Vec<_>>()
        };
        let kernel = traced(KERNEL);
        assert!(kernel.len() > 10);
        assert_eq!(kernel, traced(PTRACE));
    }

    a_program_that_is_killed_has_its_counts_and_its_end {
        let mut killed = Command::new(env!("CARGO_BIN_EXE_ntrace"));
        killed.args(["count", "--backend", "kernel", "-b", "libc!malloc", "--", "/bin/sh", "-c", "kill -KILL $$"]);
        let output = killed.output().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(9), "{}", stderr(&output));
        assert!(stderr(&output).contains("in all"), "{}", stderr(&output));
    }

    what_a_full_buffer_does_is_chosen_by_the_same_words {
        let program = build("calls.c", &[]);
        let traced = |buffer: &str| {
            let args = [KERNEL, &["-b", "work", "--buffer", buffer]].concat();
            let (lines, output) = trace(&args, &program, &["3000"]);
            let told = stderr(&output);
            let number = |line: &str| line.split_whitespace().find_map(|word| word.parse::<usize>().ok());
            let lost = told.lines().find(|line| line.contains("lost") || line.contains("overwritten")).and_then(number);
            (lines.len(), lost.unwrap_or(0), told)
        };
        let (all, lost, told) = traced("lossless:64");
        assert!(all >= 3000 && lost == 0, "{all} {told}");
        for buffer in ["drop:64", "circular:64"] {
            let (lines, lost, told) = traced(buffer);
            assert_eq!(lines + lost, all, "{buffer}: {told}");
            if buffer == "circular:64" {
                assert!(lines <= 64 && told.contains("overwritten"), "{lines} {told}");
            }
        }
    }

    the_channel_is_used_by_hand {
        let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let script = format!(
            "hello\nsend describe\nattach {} 0\nbuffer 2 8192 0\nhold 1 0\nshow 1\nresume {0}\nresume {0}\n",
            cat.id()
        );
        let (text, told, status) = by_hand(&script);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("hello: done version=") && lines[1] == "describe: done vocabulary=", "{text}");
        for line in ["  command 0x0003 buffer mode:word size:word mark:word ->", "attach: done debuggee=1", "buffer: done", "hold: done"] {
            assert!(lines.contains(&line), "{line}: {text}");
        }
        let held = "event 1 held time=";
        assert!(lines.iter().any(|line| line.starts_with(held) && line.contains(" reason=3 ")), "{text}");
        let last = format!("resume: the thread is not held ({:#x})", cat.id());
        assert_eq!(lines[lines.len() - 2..], ["resume: done", &last]);
        assert_eq!((told.as_str(), status), ("", Some(125)));
        drop(cat.stdin.take());
        assert!(cat.wait().unwrap().success());
    }

    an_event_that_was_shown_before_a_reply_counts_for_the_next_show {
        let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        // A `show` that waits for ever is ended.
        let mut ntrace = Command::new("timeout")
            .args(["60", env!("CARGO_BIN_EXE_ntrace"), "channel"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(ntrace.stdout.take().unwrap()).lines().map(Result::unwrap);
        let input = ntrace.stdin.as_mut().unwrap();
        writeln!(input, "attach {} 0", cat.id()).unwrap();
        assert_eq!(lines.next().unwrap(), "attach: done debuggee=1");
        // Both ends are told of before the process is reaped.
        drop(cat.stdin.take());
        assert!(cat.wait().unwrap().success());
        writeln!(input, "hello\nshow 1\nshow 1\nhello").unwrap();
        drop(ntrace.stdin.take());
        let lines: Vec<String> = lines.collect();
        let is = |line: &String, start: &str| line.starts_with(start);
        let place = |start: &str| lines.iter().position(|line| is(line, start)).unwrap_or_else(|| panic!("{start}: {lines:?}"));
        assert!(place("event 2 ") < place("hello: done"), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| is(line, "hello: done")).count(), 2, "{lines:?}");
        assert!(ntrace.wait().unwrap().success());
    }
}
