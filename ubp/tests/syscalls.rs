//! System calls as events.

mod common;

use std::collections::{BTreeSet, HashMap};
use std::io::Write as _;

use common::*;
use ubp::{
    Address, Arch, Error, Event, EventKind, Mechanism, Options, Pid, Session, Signal, Spec, Syscall, SyscallResult,
    Syscalls, Tid,
};

/// A session with these system calls.
fn session_of(syscalls: Syscalls) -> Session {
    let mut options = Options::default();
    (options.signals, options.threads, options.syscalls) = (false, false, syscalls);
    Session::open(mechanism(), options).unwrap()
}

/// The numbers of getppid, read and write (asm/unistd.h).
fn numbers(arch: Arch) -> [u64; 3] {
    match arch {
        Arch::X86_64 => [110, 0, 1],
        Arch::I386 => [64, 3, 4],
        _ => [173, 63, 64],
    }
}

fn spawn(session: &mut Session, flags: &[&str], what: &str) -> Pid {
    session.spawn(piped(&build("called", flags), &[what])).unwrap()
}

fn entered(event: &Event) -> Option<Syscall> {
    match event.kind {
        EventKind::SyscallEntered(syscall) => Some(syscall),
        _ => None,
    }
}

fn returned(event: &Event) -> Option<SyscallResult> {
    match event.kind {
        EventKind::SyscallReturned(result) => Some(result.result),
        _ => None,
    }
}

/// Breakpoints that only count on every instruction of `parent`.
fn sites(session: &mut Session, pid: Pid) {
    let program = session.process(pid).unwrap().executable().to_path_buf();
    let base = load_address(session, pid);
    let specs: Vec<Spec> =
        instructions(&program, "parent").into_iter().map(|at| Spec::count(Address(base + at))).collect();
    for answer in session.insert(pid, &specs).unwrap() {
        answer.unwrap();
    }
}

#[test]
fn chosen_calls_are_told_with_and_without_breakpoints_on_their_instruction() {
    let widths = widths("chosen_calls_are_told_with_and_without_breakpoints_on_their_instruction");
    for flags in widths {
        for with_sites in [false, true] {
            let mut session = session_of(Syscalls::NONE);
            let pid = spawn(&mut session, flags, "calls");
            let arch = session.process(pid).unwrap().arch();
            let [getppid, ..] = numbers(arch);
            if with_sites {
                sites(&mut session, pid);
            }
            session.trace_syscalls(pid, [getppid].into_iter().collect()).unwrap();
            session.resume(pid.leader()).unwrap();
            let base = load_address(&session, pid);
            let (mut begun, mut results) = (0, Vec::new());
            let outcome = run(&mut session, pid, |session, event| {
                if entered(event).is_some() || returned(event).is_some() {
                    let pc = session.registers(event.tid).unwrap().pc();
                    assert!((base..base + 0x10000).contains(&pc.0), "{pc} is not in the program");
                }
                if let Some(syscall) = entered(event) {
                    assert_eq!((syscall.number, syscall.arch), (getppid, arch));
                    begun += 1;
                }
                results.extend(returned(event));
            });
            assert_eq!(outcome.text(), "5 0\n");
            assert_eq!(begun, 5);
            assert_eq!(results, [SyscallResult::Value(u64::from(std::process::id())); 5], "{flags:?} {with_sites}");
        }
    }
}

#[test]
fn a_call_that_the_tracer_interrupts_is_one_call() {
    let (mut child, mut out) = start(&build("watched", &[]), &["serve"]);
    let mut stdin = child.stdin.take().unwrap();
    // The loader has read its files.
    stdin.write_all(b"0").unwrap();
    assert_eq!(line(&mut out), "done\n");
    let [_, read, write] = numbers(machine::ARCH);
    let mut session = session_of(Syscalls::NONE.with(read).with(write));
    let pid = session.attach(Pid(child.id() as i32)).unwrap();
    let next = |session: &mut Session| {
        let event = session.wait().unwrap().unwrap();
        assert!(event.is_held());
        event
    };
    // The call in which the process blocked when it was attached to begins once more for the session.
    session.trace_syscalls(pid, Syscalls::NONE).unwrap();
    session.trace_syscalls(pid, Syscalls::NONE.with(read).with(write)).unwrap();
    if mechanism() == Mechanism::Kernel {
        // The module has not interrupted it.
        session.interrupt(pid).unwrap();
        let event = next(&mut session);
        assert_eq!(event.kind, EventKind::Interrupted);
        session.resume(event.tid).unwrap();
    }
    let mut event = next(&mut session);
    for round in 0..3 {
        let syscall = entered(&event).unwrap();
        assert_eq!((syscall.number, syscall.arguments[0], syscall.arguments[2]), (read, 0, 1));
        session.resume(event.tid).unwrap();
        // Interruptions by the user and by the tracer's own operations.
        for _ in 0..3 {
            let at = symbol(&session, pid, "store");
            let id = session.insert(pid, &[Spec::count(at)]).unwrap()[0].unwrap();
            session.interrupt(pid).unwrap();
            event = next(&mut session);
            assert_eq!(event.kind, EventKind::Interrupted);
            session.resume(event.tid).unwrap();
            session.remove(pid, &[id]).unwrap();
        }
        stdin.write_all(&[round]).unwrap();
        event = next(&mut session);
        assert_eq!(returned(&event), Some(SyscallResult::Value(1)), "{event:?}");
        session.resume(event.tid).unwrap();
        event = next(&mut session);
        assert_eq!(entered(&event).map(|syscall| (syscall.number, syscall.arguments[2])), Some((write, 5)));
        session.resume(event.tid).unwrap();
        event = next(&mut session);
        assert_eq!(returned(&event), Some(SyscallResult::Value(5)));
        assert_eq!(line(&mut out), "done\n");
        session.resume(event.tid).unwrap();
        event = next(&mut session);
    }
    session.detach(pid).unwrap();
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn a_call_that_a_handler_interrupts_returns_and_may_begin_again() {
    let [_, read, _] = numbers(machine::ARCH);
    let mut session = session_of(Syscalls::NONE.with(read));
    let mut command = piped(&build("called", &[]), &["read"]);
    command.stdin(std::process::Stdio::piped());
    let pid = session.spawn(command).unwrap();
    let mut pipes = session.take_stdio(pid);
    session.resume(pid.leader()).unwrap();
    let mut stdin = pipes.stdin.take().unwrap();
    let mut signals = [libc::SIGUSR1, libc::SIGUSR2, 0].into_iter();
    let mut told = Vec::new();
    while let Some(event) = session.wait().unwrap() {
        // The loader reads from files.
        if entered(&event).is_some_and(|syscall| syscall.arguments[0] == 0) {
            told.push("read");
            session.resume(event.tid).unwrap();
            until_it_sleeps(event.tid);
            match signals.next().unwrap() {
                0 => stdin.write_all(b"x").unwrap(),
                // SAFETY: kill takes numbers; the process is this test's.
                signal => assert_eq!(unsafe { libc::kill(pid.0, signal) }, 0),
            }
            continue;
        }
        match returned(&event).filter(|_| !told.is_empty()) {
            Some(SyscallResult::Interrupted) => told.push("interrupted"),
            Some(SyscallResult::Value(1)) => told.push("value"),
            Some(other) => panic!("{other:?}"),
            None => {}
        }
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
    assert_eq!(told, ["read", "interrupted", "read", "interrupted", "read", "value"]);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut pipes.stdout.take().unwrap(), &mut text).unwrap();
    assert_eq!(text, "error 4\n0 120\n");
}

/// Waits until a thread sleeps in a system call.
fn until_it_sleeps(tid: Tid) {
    while !std::fs::read_to_string(format!("/proc/{tid}/stat")).unwrap().contains(") S ") {
        std::thread::yield_now();
    }
}

#[test]
fn a_call_at_which_a_thread_is_held_is_made_when_the_thread_continues() {
    let [getppid, _, write] = numbers(machine::ARCH);
    for what in ["calls", "confined"] {
        let mut session = session_of(Syscalls::NONE.with(write).with(getppid));
        let pid = spawn(&mut session, &[], what);
        session.resume(pid.leader()).unwrap();
        let mut told = Vec::new();
        let outcome = run(&mut session, pid, |session, event| {
            if let Some(syscall) = entered(event) {
                told.push(syscall.number);
                if told.len() == 1 || syscall.number == write {
                    // These need the thread outside of system calls.
                    sites(session, pid);
                    let leaf = symbol(session, pid, "parent");
                    let expected = if what == "calls" { u64::from(std::process::id()) } else { -42_i64 as u64 };
                    match session.call(event.tid, leaf, &[]) {
                        // A filter has refused the call, so that the thread is behind it.
                        Ok(result) => assert_eq!(result, expected),
                        Err(error) => {
                            assert!(
                                matches!(error, Error::Unsupported { mechanism: Mechanism::Kernel, .. }),
                                "{error}"
                            );
                            assert_eq!(mechanism(), Mechanism::Kernel);
                        }
                    }
                }
            }
            told.extend(returned(event).map(|_| u64::MAX));
        });
        let sum = if what == "calls" { 5 } else { 0 };
        assert_eq!(outcome.text(), format!("{sum} 0\n"), "{what}");
        assert_eq!(exit_of(&outcome), EventKind::Exited(8));
        let each = [getppid, u64::MAX].into_iter().cycle().take(10);
        assert_eq!(told, Vec::from_iter(each.chain([write, u64::MAX])), "{what}");
    }
}

#[test]
fn a_filters_error_is_the_result() {
    let [getppid, ..] = numbers(machine::ARCH);
    let mut session = session_of(Syscalls::NONE.with(getppid));
    let pid = spawn(&mut session, &[], "confined");
    session.resume(pid.leader()).unwrap();
    let mut results = Vec::new();
    let outcome = run(&mut session, pid, |_, event| results.extend(returned(event)));
    assert_eq!(results, [SyscallResult::Error(42); 5]);
    assert_eq!(outcome.text(), "0 0\n");
}

/// Runs a program with all system calls as events; checks its output, and that calls begin and return in turn. Returns how many processes made
/// calls.
fn all_calls(name: &str, args: &[&str]) -> usize {
    let program = build(name, &[]);
    let plain = undisturbed(&program, args);
    let mut session = session_of(Syscalls::ALL);
    let pid = session.spawn(piped(&program, args)).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut under_way: HashMap<Tid, Syscall> = HashMap::new();
    let (mut calls, mut callers) = (0, BTreeSet::new());
    let outcome = run(&mut session, pid, |_, event| match event.kind {
        EventKind::SyscallEntered(syscall) => {
            let before = under_way.insert(event.tid, syscall);
            // Only a return from a signal handler has no end.
            assert!(before.is_none_or(|before| Some(before.number as i64) == RETURN), "{before:?} before {syscall:?}");
            calls += 1;
            callers.insert(event.pid);
        }
        EventKind::SyscallReturned(result) => {
            assert_eq!(under_way.remove(&event.tid).map(|syscall| syscall.number), Some(result.number));
        }
        EventKind::Exec => drop(under_way.remove(&event.tid)),
        _ => {}
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout), "{name}");
    assert!(calls > 10, "{calls}");
    let exit = outcome.exits.iter().find(|exit| exit.0 == pid).map(|exit| exit.1.clone());
    assert_eq!(exit, Some(EventKind::Exited(plain.status.code().unwrap())));
    callers.len()
}

/// The number of rt_sigreturn.
const RETURN: Option<i64> = Some(libc::SYS_rt_sigreturn);

#[test]
fn a_program_with_all_calls_as_events_does_what_it_does_alone() {
    all_calls("threads", &["20", "1000"]);
    // A child begins with its parent's choice.
    assert!(all_calls("forks", &["fork"]) > 1);
    all_calls("forks", &["vfork"]);
    all_calls("forks", &["spawn"]);
    all_calls("forks", &["thread_exec"]);
    all_calls("jobs", &[]);
    all_calls("waits", &[]);
}

#[test]
fn a_suppressed_signal_leaves_the_call_waiting() {
    let [_, read, _] = numbers(machine::ARCH);
    let mut options = Options::default();
    (options.threads, options.syscalls) = (false, Syscalls::NONE.with(read));
    let mut session = Session::open(mechanism(), options).unwrap();
    let mut command = piped(&build("called", &[]), &["read"]);
    command.stdin(std::process::Stdio::piped());
    let pid = session.spawn(command).unwrap();
    let mut pipes = session.take_stdio(pid);
    session.resume(pid.leader()).unwrap();
    let mut stdin = pipes.stdin.take();
    let mut reads = 0;
    while let Some(event) = session.wait().unwrap() {
        let begins = entered(&event).is_some_and(|syscall| syscall.arguments[0] == 0);
        if let EventKind::Signal(info) = event.kind {
            assert_eq!(info.signal, Signal(libc::SIGUSR2));
            session.resume_with(event.tid, None).unwrap();
        } else if event.is_held() {
            session.resume(event.tid).unwrap();
        }
        if begins {
            reads += 1;
            until_it_sleeps(event.tid);
            if reads == 1 {
                // SAFETY: kill takes numbers; the process is this test's.
                assert_eq!(unsafe { libc::kill(pid.0, libc::SIGUSR2) }, 0);
            } else {
                stdin.take().unwrap().write_all(b"x").unwrap();
            }
        }
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut pipes.stdout.take().unwrap(), &mut text).unwrap();
    assert_eq!(text, "0 120\n", "the call has not failed");
}
