//! `ntrace count`.

mod common;

use std::path::Path;
use std::process::Command;

use common::{build, build_narrow, c_library, count, machine, ntrace, run, scratch, stderr, stdout};

#[test]
fn a_function_is_counted_as_often_as_the_program_calls_it() {
    let program = build("calls.c", &[]);
    let counts = count(&["work"], &[], &program, &["1000"]);
    assert_eq!(counts.at("!work"), 1000);
    assert_eq!(counts.output.status.code(), Some(7));
    assert_eq!(stderr(&counts.output), "to standard error\n");
}

#[test]
fn kinds_of_programs_make_no_difference() {
    let flags: [(&str, &[&str]); 6] = [
        ("position-independent", &["-fPIE", "-pie"]),
        ("fixed", &["-fno-pie", "-no-pie"]),
        ("static", &["-static"]),
        ("static and position-independent", &["-static-pie", "-fPIE"]),
        ("optimised", &["-O3"]),
        ("marked", &[machine::MARKS]),
    ];
    for (kind, flags) in flags {
        let program = build("calls.c", flags);
        assert_eq!(count(&["middle", "work"], &[], &program, &["20"]).total, 40, "{kind}");
    }
}

#[test]
fn a_32_bit_program_is_counted() {
    let Some(program) = build_narrow("calls.c", &["-O1"]) else { return };
    let counts = count(&["work", "middle"], &[], &program, &["20"]);
    assert_eq!((counts.at("!work"), counts.at("!middle")), (20, 20));
    assert_eq!(stdout(&counts.output), stdout(&Command::new(&program).arg("20").output().unwrap()));
}

#[test]
fn forked_children_count_too_unless_no_follow_is_given() {
    let program = build("threads.c", &["-pthread"]);
    assert_eq!(count(&["step"], &[], &program, &[]).at("!step"), 8 * 50 + 3);
    assert_eq!(count(&["step"], &["--no-follow"], &program, &[]).at("!step"), 8 * 50);
}

#[test]
fn a_program_that_runs_another_is_counted_in_both() {
    let program = build("calls.c", &[]);
    let script = format!("{0} 3 >/dev/null 2>&1; exec {0} 4", program.display());
    let counts = count(&["work"], &[], Path::new("/bin/sh"), &["-c", &script]);
    assert_eq!(counts.at("!work"), 7);
    assert_eq!(counts.output.status.code(), Some(7));
}

#[test]
fn counts_are_sorted_and_named_in_text() {
    let program = build("calls.c", &[]);
    let output = ntrace().args(["count", "-b", "work", "main", "--"]).arg(&program).arg("9").output().unwrap();
    let text = stderr(&output);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let work = lines.iter().position(|line| line.first() == Some(&"9")).expect("a line for work");
    let main = lines.iter().position(|line| line.first() == Some(&"1")).expect("a line for main");
    assert!(work < main, "{text}");
    assert_eq!(stdout(&output), stdout(&Command::new(&program).arg("9").output().unwrap()));
}

#[test]
fn locations_without_hits_are_summed_in_one_line_and_listed_on_request() {
    let program = build("calls.c", &[]);
    let zeros = |flags: &[&str]| {
        let file = scratch("counts");
        let mut ntrace = ntrace();
        ntrace.args(["count", "-b", "work", "libc!wcs*", "-o"]).arg(&file).args(flags).arg("--").arg(&program).arg("3");
        assert!(ntrace.output().unwrap().status.code() == Some(7));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.lines().any(|line| line.trim_start().starts_with("3  ") && line.contains("!work")), "{text}");
        let zeros = text.lines().filter(|line| line.trim_start().starts_with("0  "));
        zeros.map(str::to_owned).collect::<Vec<_>>()
    };
    let listed = zeros(&["--all"]);
    assert!(listed.len() > 10 && listed.iter().all(|line| line.contains("wcs")), "{listed:?}");
    let sum = format!("{:>12}  at {} other locations (--all lists them)", 0, listed.len());
    assert_eq!(zeros(&[]), [sum]);
    let json = count(&["work", "libc!wcs*"], &[], &program, &["3"]);
    assert_eq!(json.rows.iter().filter(|row| row["hits"] == 0).count(), listed.len());
}

#[test]
fn a_location_with_hits_in_one_process_only_is_not_among_those_without() {
    let program = build("calls.c", &[]);
    // Neither the shell's copy of the function nor the program's first one has hits.
    let script = format!("{0} 2 >/dev/null 2>&1; exec {0} 2 >/dev/null 2>&1", program.display());
    let output = run(&["count", "--quiet", "-b", "work", "libc!write", "--", "sh", "-c", &script]);
    let json = count(&["work", "libc!write"], &[], Path::new("sh"), &["-c", &script]);
    let silent = json.rows.iter().filter(|row| row["hits"] == 0).count();
    let text = stderr(&output);
    assert!(text.contains("libc.so.6!write"), "{text}");
    assert_eq!(text.contains(" 0  at "), silent > 0, "{text}");
    assert!(silent == 0 || text.contains(&format!(" 0  at {silent} other location")), "{text}");
}

/// The child has copies of the breakpoints of all programs that its parent executed.
#[test]
fn children_of_a_program_that_took_the_place_of_another_have_no_locations_of_the_first() {
    let script = "echo one; exec sh -c 'echo two; (echo three); true'";
    let counts = count(&["libc!write"], &[], Path::new("sh"), &["-c", script]);
    assert_eq!((counts.at("!write"), counts.total), (3, 3));
    assert!(counts.rows.iter().all(|row| row["module"].is_string()), "{:?}", counts.rows);
}

/// Returns the count of the kernel's own probes. They get an address, since newer versions of perf also take the library's own stub,
/// `malloc@plt`, for a name, and count such a call twice.
fn by_perf(library: &str, function: &str, program: &[&str]) -> Option<u64> {
    let symbols = Command::new("nm").args(["--dynamic", "--defined-only", library]).output().expect("nm runs");
    let symbols = stdout(&symbols);
    let is_named = |line: &&str| line.split(' ').nth(2).is_some_and(|name| name.split('@').next() == Some(function));
    let address = symbols.lines().find(is_named).and_then(|line| line.split(' ').next()).expect("a dynamic symbol");
    let name = format!("ntrace_{}", std::process::id());
    let event = format!("{name}:{function}");
    let probe =
        Command::new("perf").args(["probe", "-q", "-x", library, "--add", &format!("{event}=0x{address}")]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        crossing::skip("count, beside perf probe", "perf probe is not available here");
        return None;
    }
    let stat = Command::new("perf").args(["stat", "-x,", "-e", &event, "--"]).args(program).output();
    let _ = Command::new("perf").args(["probe", "-q", "--del", &event]).output();
    let text = stderr(&stat.ok()?);
    let line = text.lines().find(|line| line.contains(&event))?;
    line.split(',').next()?.parse().ok()
}

#[test]
fn malloc_of_ls_is_counted_as_by_uprobes() {
    let program = ["ls", "-l", "/usr/lib"];
    let Some(expected) = by_perf(&c_library(), "malloc", &program) else { return };
    let counts = count(&["libc!malloc"], &[], Path::new("ls"), &program[1..]);
    assert_eq!(counts.total, expected);
    assert!(expected > 100);
}

#[test]
fn every_instruction_of_a_function_is_counted() {
    let program = build("calls.c", &[]);
    let counts = count(&["middle"], &["--every-instruction"], &program, &["10"]);
    assert!(counts.rows.len() >= 4, "{:?}", counts.rows);
    assert!(counts.rows.iter().all(|row| row["hits"] == 10), "{:?}", counts.rows);
}

#[test]
fn code_that_only_a_computed_jump_reaches_is_counted() {
    let program = build("table.c", &[]);
    let counts = count(&["choose"], &["--every-instruction"], &program, &["10"]);
    let hits: Vec<u64> = counts.rows.iter().filter_map(|row| row["hits"].as_u64()).filter(|hits| *hits != 0).collect();
    assert_eq!(hits, [20, 20, 20, 10, 10, 10, 10], "{:?}", counts.rows);
}

#[test]
fn instructions_that_carry_no_breakpoint_are_listed_each_with_its_reason() {
    let program = build("refused.c", &["-O1"]);
    let counts = count(&["around"], &["--every-instruction"], &program, &[]);
    assert!(counts.output.status.success(), "{}", stderr(&counts.output));
    let [refused] = counts.refused.as_slice() else { panic!("{:?}", counts.refused) };
    assert!(refused["location"].as_str().unwrap().contains("refused"), "{refused}");
    assert!(refused["module"].as_str().unwrap().ends_with(program.file_name().unwrap().to_str().unwrap()), "{refused}");
    let reason = refused["reason"].as_str().unwrap();
    let told = stderr(&counts.output);
    assert!(told.contains("1 instruction carries no breakpoint") && told.contains(reason), "{told}");
    assert!(counts.rows.iter().all(|row| row["address"] != refused["address"]), "{:?}", counts.rows);
}

/// Programs may order data by address, so that other addresses would change which instructions they execute.
#[test]
fn libraries_lie_where_they_lie_without_breakpoints() {
    let files = |words: &[&str]| {
        let mut command = Command::new("setarch");
        let output = command.args([std::env::consts::ARCH, "--addr-no-randomize"]).args(words).output().unwrap();
        let maps = stdout(&output);
        // Counters of jumps lie in a file without a name.
        let is_files = |line: &&str| line.contains(" /") && !line.contains(" /memfd: (deleted)");
        maps.lines().filter(is_files).map(str::to_owned).collect::<Vec<_>>()
    };
    let cat = ["cat", "/proc/self/maps"];
    let alone = files(&cat);
    assert!(alone.len() > 10, "{alone:?}");
    let command = env!("CARGO_BIN_EXE_ntrace");
    let count = [command, "count", "--backend", "ptrace", "-b", "libc!malloc", "-o", "/dev/null", "--"];
    assert_eq!(files(&[&count[..], &cat].concat()), alone);
}

#[test]
fn a_command_line_without_a_location_is_a_usage_error() {
    let output = run(&["count", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn an_instruction_that_faults_counts_by_a_jump_as_by_a_trap() {
    let program = build("faults.c", &[]);
    for method in ["jump", "trap"] {
        let counts = count(&["load"], &["--backend", "ptrace", "--method", method], &program, &[]);
        assert_eq!((counts.at("!load"), stdout(&counts.output)), (10, "5\n".to_string()), "{method}");
    }
}
