//! `ntrace record`.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use common::machine::STACK;
use common::{build, ntrace, run, scratch, source, stderr, stdout};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A recording in the repository.
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/tests/data/x86-64.ntrace");

#[test]
fn a_recorded_program_runs_as_if_alone_and_its_trace_is_checked_and_printed() {
    let program = build("calls.c", &["-static"]);
    let plain = Command::new(&program).arg("2").output().unwrap();
    let file = scratch("calls.ntrace");
    let recorded =
        ntrace().args(["record", "--registers", "-o"]).arg(&file).arg("--").arg(&program).arg("2").output().unwrap();
    assert_eq!((recorded.status, stdout(&recorded)), (plain.status, stdout(&plain)), "{}", stderr(&recorded));
    // Standard error is a pipe and not a terminal, so no progress is shown.
    assert_eq!(stderr(&recorded), stderr(&plain));
    let checked = ntrace().args(["record", "--check"]).arg(&file).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    assert!(stdout(&checked).contains(" instructions compared, 0 wrong, at 0 places\n"), "{}", stdout(&checked));
    let printed = ntrace().args(["record", "--format", "json", "--print"]).arg(&file).output().unwrap();
    let name = program.file_name().unwrap().to_str().unwrap();
    let mut steps = 0;
    for line in stdout(&printed).lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        if value["event"] == "step" && value["module"] == name {
            steps += 1;
            assert!(value["registers"][STACK].is_string() && value["text"].is_string(), "{line}");
        }
    }
    assert!(steps > 1000, "{steps} steps of {name}");
    fs::remove_file(file).unwrap();
}

#[test]
fn a_trace_is_printed_as_text() {
    let printed = run(&["record", "--print", TRACE]);
    assert_eq!(printed.status.code(), Some(0));
    let text = stdout(&printed);
    for wanted in [
        "system call 0",
        "  rep movsb",
        "(in one step with the next)",
        "(not completed)",
        "signal 11, by its instruction",
    ] {
        assert!(text.contains(wanted), "{wanted}");
    }
}

#[test]
fn a_mismatch_is_told_with_address_bytes_and_what_was_expected_and_seen() {
    // rep movsb (f3 a4) becomes movsb with a segment prefix (26 a4), whose next address cannot be its own.
    let mut trace = fs::read(TRACE).unwrap();
    let at = trace.windows(2).position(|bytes| bytes == [0xf3, 0xa4]).unwrap();
    trace[at] = 0x26;
    let file = scratch("wrong.ntrace");
    fs::write(&file, trace).unwrap();
    let checked = ntrace().args(["record", "--check"]).arg(&file).output().unwrap();
    assert_eq!(checked.status.code(), Some(1), "{}", stderr(&checked));
    let text = stdout(&checked);
    let line = text.lines().find(|line| line.contains(": 26 a4 ")).unwrap_or_else(|| panic!("{text}"));
    assert!(
        line.starts_with("thread ") && line.contains(" goes to 0x") && line.contains("the processor went to 0x"),
        "{line}"
    );
    fs::remove_file(file).unwrap();
}

#[test]
fn a_cut_trace_is_checked_so_far_and_a_wrong_one_refused() {
    let trace = fs::read(TRACE).unwrap();
    let check = |bytes: &[u8]| {
        let mut child = ntrace()
            .args(["record", "--check", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // ntrace may end before it has read the whole input.
        let _ = child.stdin.take().unwrap().write_all(bytes);
        child.wait_with_output().unwrap()
    };
    let cut = check(&trace[..trace.len() / 2]);
    assert_eq!(cut.status.code(), Some(0));
    assert!(stderr(&cut).contains("the trace was cut here"), "{}", stderr(&cut));
    assert!(stdout(&cut).contains(" 0 wrong"));
    let wrong = check(b"\x7fELF\x02\x01\x01\x00");
    assert_eq!(wrong.status.code(), Some(125));
    assert!(stderr(&wrong).contains("at byte 0: not a trace: it begins with [7f, 45"), "{}", stderr(&wrong));
}

#[test]
fn a_full_disk_and_a_closed_pipe_leave_the_program_alone() {
    let program = build("calls.c", &["-static"]);
    let plain = Command::new(&program).arg("2").output().unwrap();
    let full = ntrace().args(["record", "-o", "/dev/full", "--"]).arg(&program).arg("2").output().unwrap();
    assert_eq!((full.status.code(), stdout(&full)), (Some(125), stdout(&plain)));
    assert!(stderr(&full).contains("/dev/full: No space left on device"), "{}", stderr(&full));
    let file = scratch("output");
    let script = "\"$0\" record -o - -- sh -c '\"$0\" 2 >\"$1\"' \"$1\" \"$2\" | head -c 1000 >/dev/null";
    let ntrace = env!("CARGO_BIN_EXE_ntrace");
    let closed = Command::new("sh").arg("-c").arg(script).arg(ntrace).arg(&program).arg(&file).output().unwrap();
    assert!(stderr(&closed).contains("-: Broken pipe"), "{}", stderr(&closed));
    assert_eq!(fs::read(&file).unwrap(), plain.stdout);
    fs::remove_file(file).unwrap();
}

#[test]
fn a_running_process_is_recorded_until_ctrl_c_and_runs_on() {
    let mut program = Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let file = scratch("cat.ntrace");
    let mut recorder = ntrace();
    recorder.args(["record", "-p", &program.id().to_string(), "-o"]).arg(&file);
    let recorder = recorder.stderr(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (program.stdin.take().unwrap(), program.stdout.take().unwrap());
    // Wait until the recording contains some steps.
    while fs::metadata(&file).map_or(0, |data| data.len()) < 500 {
        input.write_all(b"a").unwrap();
        output.read_exact(&mut [0]).unwrap();
    }
    kill(Pid::from_raw(recorder.id() as i32), Signal::SIGINT).unwrap();
    let ended = recorder.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), stderr(&ended)), (Some(0), String::new()));
    input.write_all(b"b").unwrap();
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), program.wait().unwrap().code()), ("b", Some(0)));
    let checked = ntrace().args(["record", "--check"]).arg(&file).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}{}", stdout(&checked), stderr(&checked));
    assert!(!stderr(&checked).contains("cut"));
    fs::remove_file(file).unwrap();
}

#[test]
fn what_cannot_be_done_is_said() {
    for (args, status, message) in [
        (&["record", "-o", "/dev/null", "--", "/nowhere/prog"][..], 127, "/nowhere/prog: no such program"),
        (&["record", "-o", "/dev/null", "-p", "2147483647"], 127, "no such process"),
        (
            &["record", "-o", "/dev/null", "--threads", "1,2", "--", "/bin/true"],
            2,
            "--threads accepts thread ids only with -p",
        ),
        (&["record", "-o", "/nowhere/file", "--", "/bin/true"], 125, "/nowhere/file: No such file"),
        (&["record", "--check", "/nowhere/file"], 125, "/nowhere/file: No such file"),
        (&["record", "--", "/bin/true"], 2, "--output"),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{args:?}: {}", stderr(&output));
    }
}

/// The steps of a recording: address, bytes, and where the processor went. The recording is checked, and removed.
fn steps(file: &Path) -> Vec<[String; 3]> {
    let items = items(file);
    let steps = items.iter().filter(|item| item["event"] == "step");
    steps.map(|step| ["pc", "bytes", "next"].map(|key| step[key].to_string())).collect()
}

/// What a recording contains, as JSON. The recording is checked, and removed.
fn items(file: &Path) -> Vec<Value> {
    let checked = ntrace().args(["record", "--check"]).arg(file).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}{}", stdout(&checked), stderr(&checked));
    let printed = ntrace().args(["record", "--format", "json", "--print"]).arg(file).output().unwrap();
    fs::remove_file(file).unwrap();
    stdout(&printed).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The address of a function of a program that lies at its own addresses, as JSON has it.
fn address(program: &Path, name: &str) -> String {
    let output = Command::new("nm").arg(program).output().unwrap();
    let found =
        stdout(&output).lines().find_map(|line| Some(line.strip_suffix(&format!(" {name}"))?[..16].to_string()));
    format!("\"{:#x}\"", u64::from_str_radix(&found.expect("nm knows the function"), 16).unwrap())
}

#[test]
fn a_part_of_a_run_is_recorded_as_in_the_recording_of_the_whole_run_and_the_program_ends_as_alone() {
    let program = build("calls.c", &["-static", "-no-pie"]);
    let plain = Command::new(&program).arg("3").output().unwrap();
    // Random addresses of the stack make the C library take other ways.
    let record = |flags: &[&str]| {
        let file = scratch("part.ntrace");
        let mut command = Command::new("setarch");
        command.args(["-R", env!("CARGO_BIN_EXE_ntrace"), "record", "-o"]).arg(&file).args(flags).arg("--");
        let output = command.arg(&program).arg("3").output().unwrap();
        assert_eq!((output.status, stdout(&output)), (plain.status, stdout(&plain)), "{flags:?}: {}", stderr(&output));
        assert_eq!(stderr(&output), stderr(&plain), "{flags:?}");
        steps(&file)
    };
    let all = record(&[]);
    let [middle, quiet] = ["middle", "quiet"].map(|name| address(&program, name));
    let first = |wanted: &str| all.iter().position(|[pc, ..]| pc == wanted).expect("the function is called");
    let (begin, end) = (first(&middle), first(&quiet));
    assert!(10 < begin && begin + 7 < end && end + 5 < all.len(), "{begin} {end}");
    let line = fs::read_to_string(source("calls.c")).unwrap().lines().position(|line| line.contains("int middle("));
    let line = format!("calls.c:{}", 1 + line.unwrap());
    for (flags, wanted) in [
        (&["--after", "middle"][..], &all[begin..]),
        (&["--until", "quiet"], &all[..end]),
        (&["--after", "middle", "--until", "quiet"], &all[begin..end]),
        (&["--after", &line, "--limit", "7", "--registers"], &all[begin..begin + 7]),
        (&["--limit", "12"], &all[..12]),
    ] {
        let part = record(flags);
        assert_eq!(part.len(), wanted.len(), "{flags:?}");
        assert!(part == wanted, "{flags:?}");
    }
}

#[test]
fn a_part_of_a_run_with_threads_children_and_another_program_is_checked() {
    let program = build("threads.c", &["-pthread", "-no-pie"]);
    let (path, first) = (program.to_str().unwrap(), address(&program, "step"));
    let script = format!("exec '{path}'");
    for (flags, run) in [
        (&["--after", "step", "--limit", "20000"][..], &[path][..]),
        (&["--follow-forks", "--after", "step", "--limit", "20000"], &["sh", "-c", &script]),
    ] {
        let file = scratch("part.ntrace");
        let plain = Command::new(run[0]).args(&run[1..]).output().unwrap();
        let output = ntrace().args(["record", "-o"]).arg(&file).args(flags).arg("--").args(run).output().unwrap();
        assert_eq!((output.status, stdout(&output)), (plain.status, stdout(&plain)), "{run:?}: {}", stderr(&output));
        let items = items(&file);
        let mut steps = items.iter().filter(|item| item["event"] == "step");
        assert_eq!(steps.clone().count(), 20000, "{run:?}");
        // Threads are left out until the part begins. Others may execute any number of instructions while the first one executes this one.
        let mut part = items.iter().skip_while(|item| item["event"] != "released");
        let thread = &part.find(|item| item["event"] == "started").expect("a thread is recorded")["tid"];
        let step = steps.find(|step| step["tid"] == *thread).expect("the first thread executes an instruction");
        assert_eq!(step["pc"].to_string(), first, "{run:?}");
    }
}

#[test]
fn a_location_is_found_in_a_program_with_another_root() {
    let (program, root) = (build("calls.c", &["-static", "-no-pie"]), scratch("root"));
    fs::create_dir(&root).unwrap();
    fs::copy(&program, root.join("calls")).unwrap();
    let run = |command: &mut Command| command.arg(&root).args(["/calls", "3"]).output().unwrap();
    let plain = run(&mut Command::new("chroot"));
    if plain.status.code() != Some(7) {
        return crossing::skip("a_location_is_found_in_a_program_with_another_root", stderr(&plain).trim());
    }
    let file = scratch("part.ntrace");
    let output = run(ntrace().args(["record", "--after", "calls!middle", "-o"]).arg(&file).args(["--", "chroot"]));
    assert_eq!((output.status, stdout(&output)), (plain.status, stdout(&plain)), "{}", stderr(&output));
    assert_eq!(steps(&file)[0][0], address(&program, "middle"));
}

#[test]
fn a_part_without_a_beginning_and_a_time_that_is_over_are_told() {
    let program = build("calls.c", &[]);
    let run = |flags: &[&str]| {
        let output = ntrace().args(["record", "-o", "/dev/null"]).args(flags).arg("--").arg(&program).output().unwrap();
        (output.status.code(), stderr(&output))
    };
    let (status, shown) = run(&["--after", "midle"]);
    assert_eq!(status, Some(125), "{shown}");
    assert!(shown.contains("no such symbol") && shown.contains("similar: middle"), "{shown}");
    assert!(shown.contains("--after: the location was not found, so that nothing was recorded"), "{shown}");
    let (status, shown) = run(&["--after", "abort"]);
    assert_eq!(status, Some(7), "{shown}");
    assert!(shown.contains("no thread reached the location, so that nothing was recorded"), "{shown}");
    let (status, shown) = run(&["--after", "0x1234"]);
    assert_eq!(status, Some(2), "{shown}");
    assert!(shown.contains("write MODULE!ADDRESS"), "{shown}");
    let mut program = Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let file = scratch("short.ntrace");
    let pid = program.id().to_string();
    let output = ntrace().args(["record", "--duration", "50ms", "-p", &pid, "-o"]).arg(&file).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    drop(program.stdin.take());
    assert_eq!(program.wait().unwrap().code(), Some(0));
    steps(&file);
}
