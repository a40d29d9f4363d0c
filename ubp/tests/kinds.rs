//! Kinds of programs: statically linked, under job control; and sessions in programs with other children.

mod common;

use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};

use common::*;
use ubp::{EventKind, Pid, Spec};

#[test]
fn a_static_program_is_traced() {
    assert_eq!(counted("compat", &["-static"], COMPAT, machine::ARCH), 52);
}

#[test]
fn a_program_at_fixed_addresses_is_traced() {
    assert_eq!(counted("compat", &["-no-pie"], COMPAT, machine::ARCH), 52);
}

#[test]
fn job_control_stops_and_continues_as_without_a_tracer() {
    counted("jobs", &[], &["compute", "child", "on_continue", "on_term"], machine::ARCH);
}

#[test]
fn other_children_of_the_tracing_thread_keep_their_exit_status() {
    // One child is a zombie throughout, one ends in the middle.
    let mut first = Command::new("true").spawn().unwrap();
    let mut second = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let stat = format!("/proc/{}/stat", first.id());
    while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
        std::thread::yield_now();
    }
    let program = build("forks", &[]);
    let plain = undisturbed(&program, &["threads"]);
    let mut session = session();
    let pid = session.spawn(piped(&program, &["threads"])).unwrap();
    let work = symbol(&session, pid, "work");
    session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    let outcome = run(&mut session, pid, |_, event| {
        if let EventKind::Hit(_) = event.kind {
            hits += 1;
            if hits == 5 {
                drop(second.stdin.take());
            }
        }
    });
    assert_eq!(hits, 5 * (1 + 2 + 3 + 4));
    assert_eq!(outcome.output, plain.stdout);
    assert!(first.wait().unwrap().success());
    assert!(second.wait().unwrap().success());
}

#[test]
fn a_session_can_be_polled_by_its_descriptor() {
    let program = build("loop", &[]);
    let plain = undisturbed(&program, &["50"]);
    let mut session = session();
    let pid: Pid = session.spawn(piped(&program, &["50"])).unwrap();
    let work = symbol(&session, pid, "work");
    session.insert(pid, &[Spec::event(work), Spec::count(work)]).unwrap();
    let mut out = session.take_stdio(pid).stdout.unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    loop {
        let mut wanted = libc::pollfd { fd: session.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one live structure.
        assert!(unsafe { libc::poll(&mut wanted, 1, 20_000) } != 0, "no event came");
        let Some(event) = session.poll().unwrap() else { continue };
        match event.kind {
            EventKind::Hit(_) => hits += 1,
            EventKind::Exited(_) => break,
            _ => {}
        }
        session.resume(event.tid).unwrap();
    }
    assert_eq!(hits, 50);
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut out, &mut text).unwrap();
    assert_eq!(text, plain.stdout);
}
