//! The example does what it shows.
#![allow(dead_code, reason = "an example's main function is not called")]

#[path = "../examples/serve.rs"]
mod serve;

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crossing::skip;
use serve::Target;
use ubp::Pid;

/// What gdb says to `commands` once it is connected to the example with `target`.
fn gdb(target: Target, commands: &[&str]) -> String {
    let (reader, mut writer) = UnixStream::pair().expect("two sockets");
    let server = std::thread::spawn(move || serve::run(target, &mut writer).expect("a client that leaves"));
    let mut line = String::new();
    BufReader::new(reader).read_line(&mut line).expect("a line of the example");
    let connect = line.split('\'').nth(1).unwrap_or_else(|| panic!("{line:?}"));
    let mut gdb = Command::new("timeout");
    gdb.args(["-s", "KILL", "100", "gdb", "-q", "-nx", "-batch", "-ex", "set sysroot /", "-ex", connect]);
    gdb.args(commands.iter().flat_map(|command| ["-ex", command])).stdin(Stdio::null());
    let output = gdb.output().expect("timeout(1)");
    // Where gdb has not connected, the example waits for ever.
    assert!(output.status.success(), "{output:?}");
    server.join().expect("the example ends");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn has_gdb(test: &str) -> bool {
    let has = Command::new("gdb").arg("--version").output().is_ok();
    if !has {
        skip(test, "no gdb");
    }
    has
}

#[test]
fn gdb_runs_a_program_to_its_end() {
    if has_gdb("gdb_runs_a_program_to_its_end") {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit 5"]);
        let said = gdb(Target::Program(command), &["continue"]);
        assert!(said.contains("exited with code 05"), "{said}");
    }
}

#[test]
fn a_process_that_gdb_leaves_runs_on() {
    if !has_gdb("a_process_that_gdb_leaves_runs_on") {
        return;
    }
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat starts");
    let said = gdb(Target::Process(Pid(child.id() as i32)), &["info threads", "detach"]);
    assert!(said.contains("* 1 "), "{said}");
    drop(child.stdin.take());
    assert!(child.wait().expect("a child").success(), "{said}");
}
