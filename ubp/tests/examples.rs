//! The examples do what they show.
#![allow(dead_code, reason = "an example's main function is not called")]

#[path = "../examples/block_coverage.rs"]
mod block_coverage;
mod common;
#[path = "../examples/count.rs"]
mod count;
#[path = "../examples/debugger.rs"]
mod debugger;
#[path = "../examples/hold_by_condition.rs"]
mod hold_by_condition;
#[path = "../examples/inject_faults.rs"]
mod inject_faults;
#[path = "../examples/log_points.rs"]
mod log_points;
#[path = "../examples/log_syscalls.rs"]
mod log_syscalls;
#[path = "../examples/registers_at_the_entry_point.rs"]
mod registers_at_the_entry_point;
#[path = "../examples/watch_writes.rs"]
mod watch_writes;

use std::process::{Command, Stdio};

use common::{build, instructions, machine, symbols};

/// A program that calls its function `work` 20 times, and where that function is.
fn program() -> (Command, u64) {
    let path = build("loop", &[]);
    let work = symbols(&path)["work"];
    let mut command = Command::new(path);
    command.arg("20").stdout(Stdio::null());
    (command, work)
}

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).unwrap()
}

#[test]
fn executions_are_counted() {
    let (command, work) = program();
    let status = Command::new(command.get_program()).args(command.get_args()).stdout(Stdio::null()).status().unwrap();
    let mut out = Vec::new();
    let code = count::run(command, &[work], &mut out).unwrap();
    assert_eq!(Some(i32::from(code)), status.code());
    assert_eq!(text(out), format!("        20 {work:#x}\n"));
}

#[test]
fn one_arrival_is_held() {
    let (command, work) = program();
    let mut out = Vec::new();
    hold_by_condition::run(command, work, 7, &mut out).unwrap();
    assert_eq!(text(out), "held at arrival 7\n20 arrivals, 1 held\n");
}

#[test]
fn registers_at_the_entry_point_are_shown() {
    let mut out = Vec::new();
    registers_at_the_entry_point::run(program().0, &mut out).unwrap();
    let out = text(out);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "at the entry point: true");
    assert!(lines[1].starts_with("code ["), "{out}");
    assert!(lines[2].starts_with("Registers {"), "{out}");
    assert_eq!(lines.len(), 3, "{out}");
}

#[test]
fn a_line_is_written_whenever_the_program_comes_by() {
    let (command, work) = program();
    let register = machine::ARGUMENTS[0].to_string();
    let points = [(work, format!("work({{{register}}})")), (work, "again".to_string())];
    let mut out = Vec::new();
    log_points::run(command, &points, &mut out).unwrap();
    let out = text(out);
    let seen: Vec<&str> = out.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    let both = |at: u64| [format!("#{}: work({at:#x})", at + 1), format!("#{}: again", at + 1)];
    assert_eq!(seen, (0..20).flat_map(both).collect::<Vec<_>>());
}

#[test]
fn the_blocks_that_sort_executes_are_found_and_sort_sorts() {
    let sort = |lines: &str| {
        let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
        let [from, to] = ["from", "to"].map(|name| directory.join(format!("sort-{}-{name}", std::process::id())));
        std::fs::write(&from, lines).unwrap();
        let mut command = Command::new("sort");
        command.arg(&from).env("LC_ALL", "C").stdout(std::fs::File::create(&to).unwrap());
        let mut out = Vec::new();
        let (all, executed) = block_coverage::run(command, &mut out).unwrap();
        (std::fs::read_to_string(to).unwrap(), all, executed)
    };
    let (sorted, all, executed) = sort("c\nb\na\n");
    assert_eq!(sorted, "a\nb\nc\n");
    assert!(executed > 100 && executed < all, "{executed} of {all}");
    let (nothing, same, fewer) = sort("");
    assert_eq!((nothing.as_str(), same), ("", all));
    assert!(fewer < executed, "{fewer} of {executed}");
}

#[test]
fn a_debugger_breaks_steps_shows_and_goes_on() {
    let path = build("loop", &["-fno-omit-frame-pointer", "-O0"]);
    let names = symbols(&path);
    let (work, main) = (names["work"], names["main"]);
    let at = instructions(&path, "work")[3];
    let mut command = Command::new(&path);
    command.arg("3").stdout(Stdio::null());
    let commands = format!(
        "break +{work:x}\nbreak 10\ncontinue\nstep\nuntil +{at:x}\nover\nregisters\nmemory +{work:x}\nbacktrace\n\
         continue\ncontinue\ncontinue\n"
    );
    let mut out = Vec::new();
    debugger::run(command, commands.as_bytes(), &mut out).unwrap();
    let out = text(out);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 11, "{out}");
    assert!(lines[0].contains("no breakpoint at 0x10"), "{out}");
    assert!(lines[1].starts_with("breakpoint 0 at 0x") && lines[1].ends_with(", hit 1"), "{out}");
    assert!(lines[2..5].iter().all(|line| line.starts_with("at 0x")), "{out}");
    assert!(lines[5].starts_with("Registers {") && lines[6].starts_with('['), "{out}");
    // The caller is main: its code begins within a page of the return address.
    let digits = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let pc = digits(lines[1].split_whitespace().nth(3).unwrap().trim_end_matches(','));
    let words = lines[7].split(|c: char| !c.is_ascii_alphanumeric());
    let frames: Vec<u64> = words.filter(|word| word.starts_with("0x")).map(digits).collect();
    assert!(frames.len() > 1 && frames[1].wrapping_sub(pc - work + main) < 4096, "{out}");
    assert!(lines[8].ends_with("hit 2") && lines[9].ends_with("hit 3"), "{out}");
    let status = Command::new(&path).arg("3").stdout(Stdio::null()).status().unwrap();
    assert_eq!(lines[10], format!("exited with {}", status.code().unwrap()));
}

#[test]
fn writes_are_told_with_the_code_behind_them() {
    let path = build("watched", &[]);
    let known = symbols(&path);
    let mut command = Command::new(&path);
    command.args(["store", "3"]).stdout(Stdio::null());
    let mut out = Vec::new();
    match watch_writes::run(command, known["words"], 4, &mut out) {
        Err(error) => return common::skip("writes_are_told_with_the_code_behind_them", &error.to_string()),
        Ok(code) => assert_eq!(code, 5),
    }
    let text = text(out);
    if text.is_empty() {
        return common::skip(
            "writes_are_told_with_the_code_behind_them",
            "the debug registers of this machine do not work",
        );
    }
    let first = u8::from(common::machine::WATCH_IS_BEHIND);
    for (line, value) in text.lines().zip(first..) {
        let (pc, bytes) = line.split_once(": ").unwrap();
        let pc = u64::from_str_radix(pc.trim_start_matches("0x"), 16).unwrap();
        assert!((known["store"]..known["store"] + 32).contains(&pc), "{text}");
        assert_eq!(bytes, format!("[{value:02x}, 00, 00, 00]"));
    }
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn system_calls_are_logged_with_their_results() {
    let path = build("called", &[]);
    let mut command = Command::new(&path);
    command.arg("calls").stdout(Stdio::null());
    let mut out = Vec::new();
    assert_eq!(log_syscalls::run(command, ubp::Syscalls::ALL, &mut out).unwrap(), 8);
    let text = text(out);
    let parent = format!(" = {:#x}", std::process::id());
    assert_eq!(text.lines().filter(|line| line.ends_with(&parent)).count(), 5, "{text}");
    assert!(text.lines().last().unwrap().ends_with(" exits with 8"), "{text}");
    assert!(text.contains("No such file or directory"), "the loader looks for a file that is not there: {text}");
}

#[test]
fn a_chosen_call_returns_what_it_is_told_and_the_others_run() {
    let work_of = |n: i64| n * ((n % 7) * (n % 7 - 1) / 2);
    let sum: i64 = (0..20).map(work_of).sum();
    let (command, work) = program();
    // The fifth call is that with 4.
    let injected = inject_faults::run(command, work, 5, -1).unwrap();
    assert_eq!(injected, (true, ((sum - work_of(4) - 1) & 63) as i32));
    assert_eq!(inject_faults::run(program().0, work, 21, -1).unwrap(), (false, (sum & 63) as i32));
}

#[test]
fn the_guide_shows_the_debugger_as_it_is() {
    let (guide, code) = (include_str!("../../docs/debugger.md"), include_str!("../examples/debugger.rs"));
    let blocks: Vec<&str> = guide.split("```rust\n").skip(1).map(|text| text.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 6, "{} blocks", blocks.len());
    for block in blocks {
        let mut rest = code;
        // The guide leaves indentation out.
        for line in block.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let at =
                rest.find(line).unwrap_or_else(|| panic!("the example has no such line behind the one before: {line}"));
            rest = &rest[at + line.len()..];
        }
    }
}
