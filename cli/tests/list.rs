//! `ntrace list`.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use common::running::Running;
use common::{build, c_library, count, machine, ntrace, run, stderr, stdout};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// The rows of a list, and the exit status.
fn list(args: &[&str]) -> (Vec<Value>, Option<i32>) {
    let output = run(&[&["list", "--format", "json"], args].concat());
    let rows = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (rows, output.status.code())
}

/// What nm says of the functions of a file: address, size and name.
fn functions(path: &str) -> Vec<(u64, u64, String)> {
    let output = Command::new("nm").args(["-S", "--defined-only", path]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let of = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let &[address, size, "t" | "T", name] = &*words else { return None };
        let hex = |text| u64::from_str_radix(text, 16).unwrap();
        Some((hex(address), hex(size), name.to_string()))
    };
    text.lines().filter_map(of).collect()
}

#[test]
fn the_functions_of_a_file_have_the_addresses_and_sizes_that_nm_prints() {
    let program = build("calls.c", &[]);
    let path = program.to_str().unwrap();
    let (rows, status) = list(&["*", "-f", path]);
    assert_eq!(status, Some(0));
    let by_nm = functions(path);
    assert!(by_nm.len() > 3);
    for (address, size, name) in by_nm {
        let row = rows.iter().find(|row| row["address"] == format!("{address:#x}")).unwrap_or_else(|| panic!("{name}"));
        let other = row["names"].as_array().unwrap();
        assert!(row["symbol"] == *name || other.iter().any(|other| *other == *name), "{name}: {row}");
        assert!(row["size"].as_u64().unwrap() >= size, "{name}: {row}");
    }
}

#[test]
fn each_listed_location_leads_back_to_its_address() {
    let library = c_library();
    let (rows, _) = list(&["str*", "malloc", "malloc+0x1", "-f", &library]);
    assert!(rows.len() > 20);
    for row in rows.iter().step_by(rows.len() / 20) {
        let (again, status) = list(&[row["location"].as_str().unwrap(), "-f", &library]);
        assert_eq!(status, Some(0), "{row}");
        assert!(again.iter().any(|other| other["address"] == row["address"]), "{row}: {again:?}");
    }
}

#[test]
fn a_process_has_its_own_addresses_and_runs_on() {
    let program = build("waits.c", &[]);
    let mut child = Running::start(Command::new(&program).stdout(Stdio::piped()));
    let pid = child.id().to_string();
    let mut ready = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
    let (rows, status) = list(&["main", "-p", &pid]);
    assert_eq!((rows.len(), status), (1, Some(0)), "{rows:?}");
    let number = |key: &str| u64::from_str_radix(&rows[0][key].as_str().unwrap()[2..], 16).unwrap();
    let maps = std::fs::File::open(format!("/proc/{pid}/maps")).unwrap();
    let name = program.to_str().unwrap();
    let first = BufReader::new(maps).lines().map_while(Result::ok).find(|line| line.ends_with(name)).unwrap();
    let base = u64::from_str_radix(first.split_once('-').unwrap().0, 16).unwrap();
    assert_eq!(number("address"), base + number("in_file"));
    assert_eq!(child.try_wait().unwrap(), None);
}

#[test]
fn an_interrupt_while_a_process_is_read_leaves_it_as_it_was() {
    let mut child = Running::start(Command::new(build("waits.c", &[])).stdout(Stdio::piped()));
    let mut ready = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
    let pid = child.id().to_string();
    let of_process = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let is_traced = || !of_process("status").contains("TracerPid:\t0\n");
    let before = of_process("maps");
    let changed = (0..10).find(|_| {
        let mut ntrace = ntrace();
        let mut ntrace = ntrace.args(["list", "main", "-p", &pid]).stdout(Stdio::null()).spawn().unwrap();
        let mut ended = false;
        while !ended && !is_traced() {
            std::thread::yield_now();
            ended = ntrace.try_wait().unwrap().is_some();
        }
        if !ended {
            kill(Pid::from_raw(ntrace.id() as i32), Signal::SIGINT).unwrap();
        }
        ntrace.wait().unwrap();
        is_traced() || of_process("maps") != before
    });
    assert_eq!(changed, None);
}

#[test]
fn a_location_that_means_nothing_is_told_and_the_others_are_listed() {
    let program = build("calls.c", &[]);
    let output = run(&["list", "main", "mian", "-f", program.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output).lines().count(), 2, "{}", stdout(&output));
    assert!(stderr(&output).contains("'mian'") && stderr(&output).contains("similar: main"), "{}", stderr(&output));
}

#[test]
fn copies_of_a_function_in_others_are_listed_and_their_addresses_are_locations() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let program = build("copies.c", &["-O1", version]);
        let path = program.to_str().unwrap();
        let (rows, status) = list(&["doubled", "-f", path]);
        assert_eq!((rows.len(), status), (2, Some(0)), "{rows:?}");
        for (row, function) in rows.iter().zip(["first", "second"]) {
            assert_eq!((&row["symbol"], &row["inlined"]), (&function.into(), &"doubled".into()), "{row}");
            let location = row["location"].as_str().unwrap();
            assert_eq!(count(&[location], &[], &program, &[]).total, 1, "{row}");
        }
        assert_eq!(list(&["doubled@inlined", "-f", path]), (rows, Some(0)));
    }
    assert_eq!(list(&["doubled", "-f", build("copies.c", &["-O1", "-g0"]).to_str().unwrap()]).1, Some(1));
}

/// Where the list says so, a jump can be set while the program runs, and nowhere else.
#[test]
fn a_jump_is_set_where_the_list_says_that_one_can_be() {
    let program = build("barred.c", &[]);
    let path = program.to_str().unwrap();
    let (rows, _) = list(&["barred", machine::BARRED, "-f", path]);
    let mut seen = 0;
    for row in &rows {
        let location = row["location"].as_str().unwrap();
        let output = run(&["count", "--backend", "ptrace", "--method", "jump", "-b", location, "--", path]);
        let is_set = !stderr(&output).contains("no jump can stand there") && output.status.code() == Some(7);
        assert_eq!(row["jump"], is_set, "{row}: {}", stderr(&output));
        assert_eq!(row["no_jump"].is_null(), is_set, "{row}");
        seen += usize::from(is_set);
    }
    assert_eq!((rows.len(), seen), (2, 1), "{rows:?}");
}

#[test]
fn what_can_have_no_breakpoint_is_listed_with_the_reason() {
    let program = build("refused.c", &[]);
    let (rows, status) = list(&["around", "refused", "-f", program.to_str().unwrap()]);
    assert_eq!((rows.len(), status), (2, Some(0)), "{rows:?}");
    for row in rows {
        // Compilers differ in what the label is beside the function around it.
        let refused = row.to_string().contains("\"refused\"]") || row["symbol"] == "refused";
        assert_eq!(row["passed"] == "refused", refused, "{row}");
        assert_eq!(row["reason"].is_string(), refused, "{row}");
    }
}

#[test]
fn a_wrong_command_line_and_a_missing_file_are_told_apart() {
    assert_eq!(run(&["list", "main"]).status.code(), Some(2));
    assert_eq!(run(&["list", "main", "-f", "/nonexistent"]).status.code(), Some(125));
    assert_eq!(run(&["list", "main", "-p", "2147483647"]).status.code(), Some(127));
}
