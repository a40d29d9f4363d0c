//! `ntrace coverage`: what it says of a program is what the compiler's own instrumentation says of the same program.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{build, build_go, build_with, ntrace, run, scratch, source, stderr, stdout};

/// The lines with code, and whether each was executed.
type Lines = BTreeMap<u32, bool>;

/// Runs `ntrace coverage` and returns what it writes to a file.
fn coverage(flags: &[&str], program: &Path, args: &[&str]) -> (String, Output) {
    let file = scratch("coverage");
    let mut command = ntrace();
    command.arg("coverage").args(flags).arg("-o").arg(&file).arg("--").arg(program).args(args);
    let output = command.output().expect("ntrace runs");
    (std::fs::read_to_string(&file).unwrap_or_default(), output)
}

/// The lines of the source file in what `--format lcov` writes.
fn lines_of(lcov: &str, file: &Path) -> Lines {
    let of_file = |record: &&str| record.lines().any(|line| line.strip_prefix("SF:") == file.to_str());
    let record = lcov.split("end_of_record\n").find(of_file).unwrap_or_else(|| panic!("no {file:?} in {lcov}"));
    let line = |line: &str| {
        let (line, count) = line.strip_prefix("DA:")?.split_once(',')?;
        Some((line.parse().ok()?, count != "0"))
    };
    record.lines().filter_map(line).collect()
}

/// Builds a program with the compiler's instrumentation, runs it with the arguments, and returns what gcov says.
fn instrumented(compiler: &str, name: &str, flags: &[&str], args: &[&str]) -> (Lines, Output) {
    let folder = scratch("instrumented");
    std::fs::create_dir(&folder).expect("a folder");
    let here = |command: &str| {
        let mut command = Command::new(command);
        command.current_dir(&folder);
        command
    };
    let built = here(compiler).args(["--coverage", "-g", "-o", "program"]).arg(source(name)).args(flags).output();
    assert!(built.as_ref().unwrap().status.success(), "{}", stderr(&built.unwrap()));
    let output =
        Command::new(folder.join("program")).current_dir(&folder).args(args).output().expect("the program runs");
    let notes = format!("program-{}.gcda", Path::new(name).file_stem().unwrap().to_str().unwrap());
    let told = here("gcov").args(["-t", &notes]).output().expect("gcov runs");
    let text = stdout(&told);
    let own = format!("Source:{}", source(name).display());
    let part = text.split("        -:    0:Source:").find(|part| own.ends_with(part.lines().next().unwrap_or("?")));
    let mut lines = Lines::new();
    for line in part.unwrap_or_else(|| panic!("{text}{}", stderr(&told))).lines() {
        // A template's instances follow as parts of their own, with the sums before them.
        if line.starts_with("-----") {
            continue;
        }
        let mut fields = line.splitn(3, ':');
        let (count, number) = (fields.next().unwrap_or("-").trim(), fields.next().unwrap_or("0").trim());
        // gcov counts labels too, which have no instruction.
        let code = fields.next().unwrap_or("").trim();
        let is_label = code.ends_with(':') && (code.starts_with("case ") || code == "default:");
        if let (false, false, Ok(number @ 1..)) = (count == "-", is_label, number.parse()) {
            *lines.entry(number).or_default() |= !count.starts_with(['#', '=']);
        }
    }
    (lines, output)
}

/// Compares the coverage of a program that runs with the arguments, for each line that gcov counts.
#[track_caller]
fn compare(compiler: &str, name: &str, flags: &[&str], args: &[&str]) {
    let (expected, undisturbed) = instrumented(compiler, name, flags, args);
    let Some(program) = build_with(compiler, name, &[&["-g"], flags].concat()) else { return };
    let (lcov, output) = coverage(&["--format", "lcov"], &program, args);
    assert_eq!(stdout(&output), stdout(&undisturbed), "{args:?}: {}", stderr(&output));
    assert_eq!(output.status.code(), undisturbed.status.code(), "{args:?}: {}", stderr(&output));
    let told = lines_of(&lcov, &source(name));
    let own: Lines = told.into_iter().filter(|(line, _)| expected.contains_key(line)).collect();
    assert_eq!(own, expected, "{name} {args:?}");
}

#[test]
fn lines_are_executed_that_gcov_counts() {
    for args in [&[][..], &["1", "3", "4"], &["2", "x", "6", "7"], &["8", "0", "7"], &["signal", "thread", "fork"]] {
        compare("gcc", "covered.c", &["-O0", "-lpthread"], args);
    }
}

#[test]
fn what_children_and_executed_programs_do_is_in_the_sum() {
    compare("gcc", "covered.c", &["-O0", "-lpthread"], &["fork", "exec", "1", "exec"]);
}

#[test]
fn exceptions_destructors_and_instances_are_covered_as_gcov_counts_them() {
    for args in [&["3"][..], &["1", "2"], &["0", "4", "5", "6"]] {
        compare("g++", "covered.cpp", &["-O0"], args);
    }
}

#[test]
fn the_line_table_of_gos_runtime_says_what_debug_information_says() {
    let (Some(program), Some(without)) = (build_go("instances.go", &[]), build_go("instances.go", &["-ldflags=-w"]))
    else {
        return;
    };
    let own = |program: &Path| {
        let (lcov, output) = coverage(&["--format", "lcov"], program, &[]);
        assert!(output.status.success(), "{}", stderr(&output));
        lines_of(&lcov, &source("instances.go"))
    };
    let lines = own(&program);
    assert!(lines.values().any(|executed| *executed), "{lines:?}");
    assert_eq!(own(&without), lines);
}

/// A program without debug information, and the one with it.
fn optimised() -> (PathBuf, PathBuf) {
    (
        build_with("gcc", "covered.c", &["-O2", "-lpthread", "-s"]).expect("gcc builds"),
        build("covered.c", &["-lpthread"]),
    )
}

#[test]
fn without_debug_information_there_are_functions_and_blocks() {
    let (stripped, _) = optimised();
    let (text, output) = coverage(&["--format", "json"], &stripped, &["1", "3"]);
    let report: serde_json::Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let module = &report["modules"][0];
    assert_eq!(module["module"].as_str(), stripped.to_str());
    let blocks = |value: &serde_json::Value| (value["executed"].as_u64().unwrap(), value["all"].as_u64().unwrap());
    let (executed, all) = blocks(&module["blocks"]);
    assert!(0 < executed && executed < all, "{module}");
    let functions = module["functions"].as_array().unwrap();
    assert!(functions.iter().any(|function| blocks(&function["blocks"]).0 > 0), "{module}");
    assert!(functions.iter().any(|function| blocks(&function["blocks"]).0 == 0), "{module}");
    assert_eq!(module["files"].as_array().map(Vec::len), Some(0));
    let (text, output) = coverage(&[], &stripped, &["1", "3"]);
    assert!(text.contains("no debug information") && output.status.code() == Some(3), "{text}");
}

#[test]
fn functions_at_locations_are_covered_alone_and_in_libraries_too() {
    let (_, program) = optimised();
    let functions = |locations: &[&str]| -> BTreeMap<String, bool> {
        let flags: Vec<&str> = locations.iter().flat_map(|location| ["-b", location]).collect();
        let (text, output) = coverage(&[&["--format", "json"], &flags[..]].concat(), &program, &["1", "3"]);
        let report: serde_json::Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
        let modules = report["modules"].as_array().unwrap().iter();
        let all = modules.flat_map(|module| module["functions"].as_array().unwrap());
        all.map(|one| (one["name"].as_str().unwrap().into(), one["blocks"]["executed"] != 0)).collect()
    };
    assert_eq!(functions(&["handler"]), BTreeMap::from([("handler".into(), false)]));
    let both = functions(&["main", "libc!printf", "libc!abort"]);
    assert_eq!((both["main"], both["printf"], both["abort"]), (true, true, false), "{both:?}");
    assert_eq!(both.len(), 3, "{both:?}");
}

#[test]
fn what_has_no_meaning_for_coverage_is_refused() {
    for flags in [&["--every-instruction"][..], &["--if", "arg0 == 1"], &["--sample", "1/2"], &["--after", "main"]] {
        let output = run(&[&["coverage"], flags, &["--", "true"]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("no meaning"), "{}", stderr(&output));
    }
}
