//! Programs that are recorded do what they do alone, and their traces say what the processor did.
#![cfg(target_os = "linux")]

mod common;
mod trace;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::build;
use common::machine::{BUILDS, loads};
use record::{Ended, EventKind, Item, Next, Options, RecordError, Recorder, Threads};
use trace::{check, items};

/// Records a program to its end: the trace, what it wrote, and how it ended.
fn record(program: &Path, options: Options) -> (Vec<u8>, String, Option<Ended>) {
    let (mut output, end) = crossing::pipe();
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(end);
    let mut trace = Vec::new();
    let ended = crossing::on_one_processor(|| {
        let mut recorder = Recorder::spawn(command, options, &mut trace).unwrap();
        recorder.run().unwrap()
    });
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    (trace, text, ended)
}

/// A program alone, of which the end is an exit.
fn alone(program: &Path) -> (String, Option<Ended>) {
    let Output { status, stdout, .. } = Command::new(program).stdin(Stdio::null()).output().unwrap();
    (String::from_utf8(stdout).unwrap(), status.code().map(Ended::Exited))
}

/// A program notices nothing, and all that the processor did is what `insn` says.
fn is_transparent(name: &str, flags: &[&str], options: Options) -> Option<Vec<Item>> {
    let program = build(name, flags)?;
    let expected = alone(&program);
    let (trace, text, ended) = record(&program, options);
    assert_eq!((text, ended), expected);
    let (wrong, _) = check(&trace);
    assert!(wrong.is_empty(), "{wrong:#?}");
    Some(items(&trace))
}

#[test]
fn a_program_that_looks_for_a_tracer_finds_none() {
    for flags in BUILDS {
        is_transparent("odd", flags, Options::default());
    }
    let items = is_transparent("odd", &["-static"], {
        let mut options = Options::default();
        options.follow_forks = true;
        options
    })
    .unwrap();
    let forks = items
        .iter()
        .filter(|item| matches!(item, Item::Event(event) if matches!(event.kind, EventKind::Started { .. })));
    assert_eq!(forks.count(), 2);
}

#[test]
fn all_threads_are_recorded_or_the_first_alone() {
    for (threads, expected) in [(Threads::All, 4), (Threads::Main, 1)] {
        let items = is_transparent("pool", &["-static", "-pthread"], {
            let mut options = Options::default();
            options.threads = threads;
            options
        })
        .unwrap();
        let mut steps: HashMap<u32, u64> = HashMap::new();
        for item in &items {
            if let Item::Step(step) = item {
                *steps.entry(step.tid).or_default() += 1;
            }
        }
        assert_eq!(steps.len(), expected);
        assert!(steps.values().all(|&steps| steps > 100), "{steps:?}");
    }
}

#[test]
fn threads_that_end_all_at_once_leave_a_whole_trace() {
    let program = build("crowd", &["-static", "-pthread"]).unwrap();
    for _ in 0..10 {
        let (trace, _, ended) = record(&program, Options::default());
        assert_eq!(ended, Some(Ended::Exited(7)));
        let ends = items(&trace).into_iter().filter(
            |item| matches!(item, Item::Event(event) if matches!(event.kind, EventKind::Exited(_) | EventKind::Killed(_))),
        );
        assert_eq!(ends.count(), 9);
    }
}

#[test]
fn registers_are_those_before_the_instruction() {
    let program = build("pool", &["-static", "-pthread"]).unwrap();
    let (trace, ..) = record(&program, {
        let mut options = Options::default();
        options.registers = true;
        options.threads = Threads::Main;
        options
    });
    let mut wanted = None;
    let mut seen = 0;
    for item in items(&trace) {
        let Item::Step(step) = item else {
            wanted = None;
            continue;
        };
        let registers = step.registers.expect("registers");
        if let Some((place, value)) = wanted.take() {
            assert_eq!(registers.0[place], value, "register {place} at {:#x}", step.pc);
            seen += 1;
        }
        if matches!(step.next, Next::At(_)) {
            wanted = loads(step.code.bytes());
        }
    }
    assert!(seen > 10, "only {seen} seen");
}

#[test]
fn another_program_begins_anew() {
    let program = build("pool", &["-static", "-pthread"]).unwrap();
    let mut command = Command::new(&program);
    command.arg("exec").stdout(Stdio::null());
    let mut trace = Vec::new();
    let mut recorder = Recorder::spawn(command, Options::default(), &mut trace).unwrap();
    assert_eq!(recorder.run().unwrap(), Some(Ended::Exited(0)));
    drop(recorder);
    assert_eq!(check(&trace).0, [""; 0]);
    let items = items(&trace);
    let exec =
        items.iter().position(|item| matches!(item, Item::Event(event) if event.kind == EventKind::Exec)).unwrap();
    assert!(matches!(items[exec - 1], Item::Step(step) if step.next == Next::Unfinished));
    let name = program.to_str().unwrap().as_bytes();
    let is_its = |item: &Item| matches!(item, Item::Mapping(mapping) if mapping.path == name);
    assert!(items[..exec].iter().any(is_its) && items[exec..].iter().any(is_its), "code is told anew");
}

#[test]
fn a_program_that_is_let_go_runs_on_as_if_alone() {
    let program = build("odd", &["-static"]).unwrap();
    let (expected, _) = alone(&program);
    for steps in [1, 1_000, 8_000] {
        let mut child =
            Command::new(&program).arg("wait").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut trace = Vec::new();
        let mut recorder = Recorder::attach(child.id(), Options::default(), &mut trace).unwrap();
        child.stdin.take().unwrap().write_all(b"!").unwrap();
        while recorder.steps() < steps && recorder.advance(Duration::ZERO, None).unwrap() {}
        recorder.finish().unwrap();
        drop(recorder);
        let output = child.wait_with_output();
        assert_eq!(check(&trace).0, [""; 0]);
        let last = items(&trace).pop();
        let is_released = |item: &Item| matches!(item, Item::Event(event) if event.kind == EventKind::Released);
        assert!(last.as_ref().is_some_and(is_released), "{last:?}");
        assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), expected, "after {steps} steps");
    }
}

#[test]
fn a_program_whose_trace_cannot_be_written_runs_on() {
    let program = build("pool", &["-static", "-pthread"]).unwrap();
    let (mut output, end) = crossing::pipe();
    let mut command = Command::new(&program);
    command.stdout(end);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut recorder = Recorder::spawn(command, Options::default(), io::BufWriter::new(full)).unwrap();
    let error = recorder.run().unwrap_err();
    assert!(matches!(&error, RecordError::Output(source) if source.kind() == io::ErrorKind::StorageFull), "{error}");
    assert!(recorder.ended().is_none());
    drop(recorder);
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(text, "333\n");
}

#[test]
fn what_cannot_be_recorded_is_named() {
    let spawn = |program: &str| Recorder::spawn(Command::new(program), Options::default(), io::sink()).unwrap_err();
    assert!(matches!(spawn("/nowhere"), RecordError::Spawn(error) if error.kind() == io::ErrorKind::NotFound));
    let attach = |pid| Recorder::attach(pid, Options::default(), io::sink()).unwrap_err();
    assert!(matches!(attach(u32::MAX >> 1), RecordError::NoSuchProcess(_)));
    let mut child = Command::new("/bin/sleep").arg("1000").spawn().unwrap();
    let recorder = Recorder::attach(child.id(), Options::default(), io::sink()).unwrap();
    let error = attach(child.id());
    assert!(matches!(error, RecordError::AlreadyTraced { pid, .. } if pid == child.id()), "{error}");
    drop(recorder);
    child.kill().unwrap();
    child.wait().unwrap();
}
