//! Names that a debuggee chooses reach no terminal without escapes.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{build, ntrace, scratch, stderr, stdout};

/// The name in the program's source.
const PLAIN: &[u8] = b"chosen_by_debuggees";
/// The hostile name that replaces it: a title, a bell, a newline, invalid UTF-8, a C1 control character, text from right to left.
const HOSTILE: &[u8; PLAIN.len()] = b"ev\x1b]0;OWNED\x07\n\xff\xc2\x9b\xe2\x80\xae";
/// The escaped form of the hostile name.
const SHOWN: &str = r"ev\x1b]0;OWNED\x07\n\xff\u{9b}\u{202e}";

/// Returns a path with the hostile name.
fn path(of: &Path) -> PathBuf {
    let name = [HOSTILE, of.file_name().unwrap().as_bytes()].concat();
    of.with_file_name(OsStr::from_bytes(&name))
}

/// Builds the program with a hostile path, a hostile function and a hostile source file.
fn program(flags: &[&str]) -> PathBuf {
    let plain = build("hostile.c", flags);
    let mut bytes = fs::read(&plain).unwrap();
    let mut at = 0;
    let mut found = 0;
    while let Some(next) = bytes[at..].windows(PLAIN.len()).position(|window| window == PLAIN) {
        at += next;
        bytes[at..at + PLAIN.len()].copy_from_slice(HOSTILE);
        found += 1;
    }
    assert!(found >= 2, "{found} names");
    // `fs::copy` copies the permissions too.
    let hostile = path(&plain);
    fs::copy(&plain, &hostile).unwrap();
    fs::write(&hostile, bytes).unwrap();
    hostile
}

/// Returns the characters in `text` that must be escaped.
fn raw(text: &[u8]) -> Vec<char> {
    let is_raw =
        |c: &char| (c.is_control() && *c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    String::from_utf8_lossy(text).chars().filter(is_raw).collect()
}

/// Runs ntrace, checks that its output has no unescaped character, and returns the output.
fn run(args: &[&OsStr], input: &[u8]) -> String {
    let file = scratch("input");
    fs::write(&file, input).unwrap();
    let output = ntrace().args(args).stdin(fs::File::open(file).unwrap()).output().unwrap();
    looked_at(args, &output)
}

fn looked_at(args: &[&OsStr], output: &Output) -> String {
    for text in [&output.stdout, &output.stderr] {
        assert_eq!(raw(text), [], "{args:?}: {}", String::from_utf8_lossy(text).escape_debug());
    }
    stdout(output) + &stderr(output)
}

fn words<'a>(text: &'a str, last: &[&'a OsStr]) -> Vec<&'a OsStr> {
    text.split(' ').map(OsStr::new).chain(last.iter().copied()).collect()
}

#[test]
fn names_of_functions_sources_and_files_are_escaped_by_trace_and_count() {
    let program = program(&[]);
    for command in ["trace --args --stack -b ev* --", "count -b ev* --", "count --all --every-instruction -b ev* --"] {
        let text = run(&words(command, &[program.as_os_str()]), b"");
        assert!(text.contains(&format!("!{SHOWN}")), "{command}: {text}");
        assert!(text.contains(" at ev\\x1b"), "{command}: {text}");
        assert_eq!(text.lines().filter(|line| line.starts_with(r"\xff")).count(), 0, "{text}");
    }
}

#[test]
fn a_file_of_results_is_as_harmless_as_a_terminal() {
    let program = program(&[]);
    for (format, names) in [("text", SHOWN.to_string()), ("json", SHOWN.replace(r"\xff", r"\\xff"))] {
        let file = scratch("out");
        let words =
            words("trace --format", &[OsStr::new(format), OsStr::new("-b"), OsStr::new("ev*"), OsStr::new("-o")]);
        let words = [&words[..], &[file.as_os_str(), OsStr::new("--"), program.as_os_str()]].concat();
        run(&words, b"");
        let text = fs::read(&file).unwrap();
        assert!(raw(&text).is_empty(), "{}", String::from_utf8_lossy(&text).escape_debug());
        let names = match format {
            "json" => names
                .replace(r"\x1b", r"\u001b")
                .replace(r"\x07", r"\u0007")
                .replace("{9b}", "009b")
                .replace("{202e}", "202e"),
            _ => names,
        };
        assert!(String::from_utf8_lossy(&text).contains(&names), "{names}: {}", String::from_utf8_lossy(&text));
    }
}

#[test]
fn paths_are_escaped_by_survey_and_record() {
    let program = program(&["-static"]);
    let text = run(&words("survey", &[program.as_os_str()]), b"");
    assert!(text.contains(SHOWN), "{text}");
    let trace = path(&scratch("recording"));
    let recorded = ["record", "-o"].map(OsStr::new);
    let text = run(&[&recorded[..], &[trace.as_os_str(), OsStr::new("--"), program.as_os_str()]].concat(), b"");
    assert_eq!(text, "");
    for command in ["record --check", "record --print", "record --format json --print"] {
        let text = run(&words(command, &[trace.as_os_str()]), b"");
        assert!(text.contains(r"OWNED"), "{command}: {text}");
    }
    fs::remove_file(trace).unwrap();
}

#[test]
fn what_explain_was_asked_is_escaped_in_its_answer() {
    for arch in ["x86_64", "arm64"] {
        let text =
            run(&words("explain --arch", &[OsStr::new(arch), OsStr::new("-")]), b"\x1b[31m\xff\x9b\n\xe2\x80\xae\n");
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains(r"\x1b[31m"), "{text}");
    }
}

#[test]
fn messages_escape_what_they_name() {
    let missing = path(Path::new("/no/such/"));
    let name = missing.as_os_str();
    for command in
        ["count -b main --", "trace -b main --", "record -o /dev/null --", "survey", "record --check", "record --print"]
    {
        let text = run(&words(command, &[name]), b"");
        assert!(text.contains(SHOWN), "{command}: {text}");
    }
    // The debuggee chooses the similar names too.
    let program = program(&[]);
    let near = OsStr::from_bytes(b"ex\x1b]0;OWNED\x07\n\\xff\xc2\x9b\xe2\x80\xae");
    let text = run(&[OsStr::new("count"), OsStr::new("-b"), near, OsStr::new("--"), program.as_os_str()], b"");
    assert!(text.contains(&format!("similar: {SHOWN}")), "{text}");
    // The command line may contain names of files too.
    let text = run(&words("count", &[OsStr::from_bytes(b"--a\xc2\x9b")]), b"");
    assert!(text.contains(r"--a\u{9b}"), "{text}");
}

#[test]
fn the_name_of_another_tracer_is_escaped() {
    let mut command = Command::new(build("hostile.c", &[]));
    let mut tracer = command.arg("traced").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut traced = String::new();
    BufReader::new(tracer.stdout.take().unwrap()).read_line(&mut traced).unwrap();
    for command in ["count -b main -p", "record -o /dev/null -p"] {
        let text = run(&words(command, &[OsStr::new(traced.trim())]), b"");
        let shown = format!(r"is already traced by process {} (\x1b[31m\nred)", tracer.id());
        assert!(text.contains(&shown), "{text}");
    }
    drop(tracer.stdin.take());
    tracer.wait().unwrap();
}
