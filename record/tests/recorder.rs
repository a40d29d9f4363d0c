//! Programs that are recorded do what they do alone, and their traces say what the processor did.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::{Command, Stdio};

use record::{Checker, Ended, Options, Recorder, read};

/// Records a program to its end.
fn record(command: Command, options: Options) -> (Vec<u8>, Option<Ended>) {
    let mut trace = Vec::new();
    let mut recorder = Recorder::spawn(command, options, &mut trace).unwrap();
    let ended = recorder.run().unwrap();
    drop(recorder);
    (trace, ended)
}

fn check(trace: &[u8]) -> (u64, Vec<String>) {
    let mut reader = read(trace).unwrap();
    let mut checker = Checker::new(reader.header());
    let wrong: Vec<String> =
        reader.by_ref().filter_map(|item| checker.item(&item.unwrap())).map(|wrong| wrong.to_string()).collect();
    assert!(reader.is_complete());
    (reader.steps(), wrong)
}

#[test]
fn a_program_is_what_insn_says() {
    let mut command = Command::new("/bin/true");
    command.stdout(Stdio::null());
    let (trace, ended) = record(command, Options::default());
    assert_eq!(ended, Some(Ended::Exited(0)));
    let (steps, wrong) = check(&trace);
    assert!(steps > 10_000);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
