//! Attaching to running programs, and detaching.

mod common;

use std::io::{BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::*;
use ubp::{Address, Error, EventKind, Options, Pid, Session, Spec};

/// Asserts that a process's code equals its files, and that nothing else is executable.
fn assert_clean(pid: Pid) {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    for map in maps.lines() {
        let words: Vec<&str> = map.split_whitespace().collect();
        if words[1].as_bytes()[2] != b'x' || map.contains("[v") {
            continue;
        }
        let path = *words.get(5).unwrap_or_else(|| panic!("executable storage is left: {map}"));
        let (start, end) = words[0].split_once('-').unwrap();
        let (start, end) = (u64::from_str_radix(start, 16).unwrap(), u64::from_str_radix(end, 16).unwrap());
        let mut code = vec![0; (end - start) as usize];
        memory.read_exact_at(&mut code, start).unwrap();
        let mut file = vec![0; code.len()];
        let length =
            std::fs::File::open(path).unwrap().read_at(&mut file, u64::from_str_radix(words[2], 16).unwrap()).unwrap();
        assert!(code[..length] == file[..length], "code of {path} differs from its file");
    }
    assert_eq!(tracer_of(pid), 0);
}

/// The state of each thread of a process (proc_pid_stat(5)).
fn thread_states(pid: Pid) -> impl Iterator<Item = char> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().filter_map(Result::ok);
    let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    stats.filter_map(|stat| stat.rsplit(')').next()?.trim_start().chars().next())
}

/// The tracer of a process, or 0 (proc_pid_status(5)).
fn tracer_of(pid: Pid) -> i32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).unwrap();
    tracer.trim().parse().unwrap()
}

/// Waits until all threads of blocked.c but the one that computes are in their system calls: a stop ends those only with `EINTR`.
fn until_blocked(pid: Pid) {
    while thread_states(pid).filter(|&state| state == 'S').count() < 11 {
        std::thread::yield_now();
    }
}

const BLOCKED: &[&str] = &[
    "compute",
    "in_epoll",
    "in_poll",
    "in_futex",
    "in_futex_timeout",
    "in_nanosleep",
    "in_recv",
    "in_sigtimedwait",
    "in_semop",
    "in_msgrcv",
    "in_inotify",
    "in_user",
    "note",
];

fn specs(session: &Session, pid: Pid, program: &Path, functions: &[&str]) -> Vec<Spec> {
    let base = load_address(session, pid);
    let sites = functions.iter().flat_map(|function| instructions(program, function));
    sites.map(|at| Spec::count(Address(base + at))).collect()
}

fn quiet() -> Options {
    let mut options = Options::default();
    options.signals = false;
    options.threads = false;
    options
}

#[test]
fn attaching_and_detaching_again_and_again_is_seen_by_no_blocked_system_call() {
    let program = build("blocked", &[]);
    let (mut child, mut out) = start(&program, &[]);
    let pid = Pid(child.id() as i32);
    assert_eq!(line(&mut out), "ready\n");
    for round in 0..25 {
        let mut session = Session::with_options(quiet()).unwrap();
        session.attach(pid).unwrap();
        assert_eq!(session.process(pid).unwrap().threads().count(), 12);
        let specs = specs(&session, pid, &program, BLOCKED);
        let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
        // Until the computing thread was seen, so that threads are in slots at the detach.
        while session.breakpoint(pid, ids[0]).unwrap().hits() < 20 {
            session.poll().unwrap();
        }
        match round % 3 {
            0 => session.detach(pid).unwrap(),
            1 => {
                session.interrupt(pid).unwrap();
                let mut held = 0;
                while held < 12 {
                    let event = session.wait().unwrap().unwrap();
                    assert_eq!(event.kind, EventKind::Interrupted);
                    held += 1;
                }
                let tids: Vec<_> = session.process(pid).unwrap().threads().collect();
                for tid in tids {
                    let pc = session.registers(tid).unwrap().pc();
                    assert!(session.process(pid).unwrap().maps().unwrap().iter().any(|map| map.contains(pc)));
                    session.resume(tid).unwrap();
                }
                session.detach(pid).unwrap();
            }
            _ => drop(session),
        }
        assert_clean(pid);
    }
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "finished 12 interrupted 0 unexpected 0\n");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_program_that_blocks_with_sites_on_its_system_calls_goes_on_after_detach() {
    let program = build("blocked", &[]);
    let mut session = Session::with_options(quiet()).unwrap();
    let mut command = Command::new(&program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let pid = session.spawn(command).unwrap();
    let mut stdio = session.take_stdio(pid);
    // Every instruction in the C library that makes a system call is a site, so that threads block in slots.
    session.resume(pid.leader()).unwrap();
    let sites: Vec<Spec> = loop {
        let event = session.wait().unwrap().unwrap();
        if matches!(event.kind, EventKind::Loaded(_)) {
            let maps = session.process(pid).unwrap().maps().unwrap();
            let libc = maps.iter().find(|map| {
                map.execute && map.path.as_ref().is_some_and(|path| path.to_string_lossy().contains("libc.so"))
            });
            if let Some(libc) = libc {
                let mut code = vec![0; (libc.end - libc.start) as usize];
                session.read_memory(pid, libc.start, &mut code).unwrap();
                let (enters, apart) = machine::SYSTEM_CALL;
                let places = code.windows(enters.len()).enumerate().step_by(apart);
                let found = places.filter(|(_, bytes)| *bytes == enters);
                let sites: Vec<Spec> = found.map(|(at, _)| Spec::count(libc.start + at as u64)).collect();
                session.insert(pid, &sites).unwrap();
                session.resume(event.tid).unwrap();
                break sites;
            }
        }
        session.resume(event.tid).unwrap();
    };
    assert!(sites.len() > 100);
    // When each blocking call was counted, all threads block.
    let mut out = BufReader::new(stdio.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let first = line(&mut out);
        (first, out)
    });
    while !reader.is_finished() {
        session.poll().unwrap();
    }
    while thread_states(pid).filter(|&state| state == 'S').count() < 9 {
        session.poll().unwrap();
    }
    session.detach(pid).unwrap();
    assert_clean(pid);
    let (first, mut out) = reader.join().unwrap();
    assert_eq!(first, "ready\n");
    stdio.stdin.take().unwrap().write_all(b"x").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "finished 12 interrupted 0 unexpected 0\n");
}

#[test]
fn a_session_dropped_at_any_moment_leaves_the_program_to_run_as_ever() {
    let program = build("loop", &[]);
    let plain = undisturbed(&program, &["3000"]);
    for events in [0, 1, 2, 50, 1001] {
        let mut session = Session::new().unwrap();
        let pid = session.spawn(piped(&program, &["3000"])).unwrap();
        let base = load_address(&session, pid);
        let sites = ["work", "main"].iter().flat_map(|function| instructions(&program, function));
        let specs: Vec<Spec> = sites.map(|at| Spec::event(Address(base + at))).collect();
        session.insert(pid, &specs).unwrap();
        let mut out = session.take_stdio(pid).stdout.unwrap();
        session.resume(pid.leader()).unwrap();
        for _ in 0..events {
            let event = session.wait().unwrap().unwrap();
            session.resume(event.tid).unwrap();
        }
        drop(session);
        let mut text = Vec::new();
        out.read_to_end(&mut text).unwrap();
        assert_eq!(text, plain.stdout, "dropped after {events} events");
    }
}

#[test]
fn a_stopped_process_stays_stopped_through_attach_and_detach() {
    let program = build("blocked", &[]);
    let (mut child, mut out) = start(&program, &[]);
    let pid = Pid(child.id() as i32);
    assert_eq!(line(&mut out), "ready\n");
    let state = |wanted: char| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit(')').next().unwrap().trim_start().starts_with(wanted)
    };
    until_blocked(pid);
    // SAFETY: kill takes numbers.
    unsafe { libc::kill(pid.0, libc::SIGSTOP) };
    while !state('T') {
        std::thread::yield_now();
    }
    let mut session = Session::with_options(quiet()).unwrap();
    session.attach(pid).unwrap();
    let specs = specs(&session, pid, &program, BLOCKED);
    for answer in session.insert(pid, &specs).unwrap() {
        answer.unwrap();
    }
    for _ in 0..50 {
        assert_eq!(session.poll().unwrap(), None);
    }
    let states: String = thread_states(pid).collect();
    assert!(states.chars().all(|state| matches!(state, 'T' | 't')), "{states}");
    assert_eq!(session.breakpoints(pid).map(|breakpoint| breakpoint.hits()).sum::<u64>(), 0);
    session.detach(pid).unwrap();
    while !state('T') {
        std::thread::yield_now();
    }
    assert_clean(pid);
    // SAFETY: kill takes numbers.
    unsafe { libc::kill(pid.0, libc::SIGCONT) };
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    // A stop alone ends some calls with EINTR (signal(7)).
    let alone = stopped_alone(&program);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        lines.sort();
        lines
    };
    let none = "finished 12 interrupted 0 unexpected 0\n";
    assert!(rest == none || sorted(&rest) == sorted(&alone), "{rest}\nalone:\n{alone}");
}

/// The output of blocked.c when it is stopped and continued without a tracer.
fn stopped_alone(program: &Path) -> String {
    let (mut child, mut out) = start(program, &[]);
    let pid = Pid(child.id() as i32);
    assert_eq!(line(&mut out), "ready\n");
    until_blocked(pid);
    for (signal, wanted) in [(libc::SIGSTOP, true), (libc::SIGCONT, false)] {
        // SAFETY: kill takes numbers.
        unsafe { libc::kill(pid.0, signal) };
        while thread_states(pid).all(|state| state == 'T') != wanted {
            std::thread::yield_now();
        }
    }
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    rest
}

#[test]
fn a_sleep_ends_in_its_time_however_often_its_thread_is_used() {
    let program = build("naps", &[]);
    let mut session = Session::with_options(quiet()).unwrap();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let mut out = session.take_stdio(pid).stdout.unwrap();
    let nine = symbol(&session, pid, "nine");
    session.resume(pid.leader()).unwrap();
    let mut uses = 0;
    // This would never end if each attachment restarted the sleep.
    while session.interrupt(pid).is_ok() {
        match session.wait().unwrap().unwrap() {
            event if event.kind == EventKind::Interrupted => {
                assert_eq!(session.call(event.tid, nine, &[]).unwrap(), 9);
                uses += 1;
                session.resume(event.tid).unwrap();
            }
            event if event.is_held() => session.resume(event.tid).unwrap(),
            event => assert_eq!(event.kind, EventKind::Exited(0)),
        }
    }
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    assert_eq!(text, "0 0 1 9\n");
    assert!(uses > 0);
}

#[test]
fn a_signal_that_is_held_at_a_detach_is_delivered_as_it_was() {
    let program = build("calls", &[]);
    let plain = undisturbed(&program, &[]);
    for (signals, call) in [(1, false), (3, false), (1, true), (3, true)] {
        let mut session = Session::new().unwrap();
        let pid = session.spawn(piped(&program, &[])).unwrap();
        let mut out = session.take_stdio(pid).stdout.unwrap();
        let [busy, nine] = ["busy", "nine"].map(|name| symbol(&session, pid, name));
        session.insert(pid, &[Spec::count(busy)]).unwrap();
        session.resume(pid.leader()).unwrap();
        let mut seen = 0;
        while seen < signals {
            let event = session.wait().unwrap().unwrap();
            seen += i32::from(matches!(event.kind, EventKind::Signal(_)));
            if seen < signals {
                session.resume(event.tid).unwrap();
            }
        }
        if call {
            // The thread is no longer where the signal found it.
            session.call(pid.leader(), nine, &[1]).unwrap();
        }
        session.detach(pid).unwrap();
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        assert_eq!(text, String::from_utf8_lossy(&plain.stdout), "at signal {signals}, after a call: {call}");
    }
}

#[test]
fn no_signal_of_a_storm_is_lost_or_changed_by_attaching_and_detaching() {
    let program = build("calls", &[]);
    let (mut child, mut out) = start(&program, &["storm"]);
    let pid = Pid(child.id() as i32);
    assert_eq!(line(&mut out), "ready\n");
    for round in 0..20 {
        let mut options = quiet();
        options.signals = round % 2 == 1;
        let mut session = Session::with_options(options).unwrap();
        session.attach(pid).unwrap();
        let specs = specs(&session, pid, &program, &["busy", "on_number", "main", "sender"]);
        let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
        let mut last = None;
        let mut hits = 0;
        while !options.signals && hits < 3 {
            last = session.poll().unwrap().or(last);
            let Some(breakpoint) = session.breakpoint(pid, ids[0]) else {
                panic!("round {round}: it ended: {last:?}, {:?}", child.wait());
            };
            hits = breakpoint.hits();
        }
        if options.signals {
            // Detach with a held signal, while the other thread runs.
            assert!(matches!(session.wait().unwrap().unwrap().kind, EventKind::Signal(_)));
        }
        session.detach(pid).unwrap();
    }
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "1231 received 0 sum 0 wrong 0 blocked 0\n");
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn a_process_that_waits_uninterruptibly_is_attached_when_its_wait_ends() {
    let program = build("waits", &[]);
    let (mut child, mut out) = start(&program, &[]);
    assert_eq!(line(&mut out), "waits\n");
    let pid = Pid(child.id() as i32);
    while thread_states(pid).ne(['D']) {
        std::thread::yield_now();
    }
    let mut session = Session::with_options(quiet()).unwrap();
    let input = child.stdin.take();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while tracer_of(pid) == 0 {
                std::thread::yield_now();
            }
            drop(input);
        });
        session.attach(pid).unwrap();
    });
    session.detach(pid).unwrap();
    assert_eq!(line(&mut out), "child 3\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_cannot_be_attached_is_named() {
    let mut session = Session::new().unwrap();
    assert!(matches!(session.attach(Pid(0x3fff_fff0)), Err(Error::NoSuchProcess(_))));
    let mut child = Command::new("sleep").arg("100").spawn().unwrap();
    let pid = Pid(child.id() as i32);
    session.attach(pid).unwrap();
    assert!(matches!(Session::new(), Err(Error::SecondSession)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut other = Session::new().unwrap();
            assert!(matches!(other.attach(pid), Err(Error::AlreadyTraced { .. })));
        });
    });
    drop(session);
    let mut other = Session::new().unwrap();
    other.attach(pid).unwrap();
    drop(other);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut session = Session::new().unwrap();
    assert!(matches!(session.spawn(Command::new("/no/such/program")), Err(Error::Spawn(_))));
}

#[test]
fn a_killed_debuggee_is_reported_and_nothing_fails() {
    let program = build("threads", &[]);
    for wait in 0..12 {
        let mut session = Session::with_options(quiet()).unwrap();
        let pid = session.spawn(piped(&program, &["1000000", machine::TICK])).unwrap();
        let specs = specs(&session, pid, &program, &["hot", "leaf", "main", "on_tick"]);
        session.insert(pid, &specs).unwrap();
        drop(session.take_stdio(pid));
        session.resume(pid.leader()).unwrap();
        let mut polls = 0;
        let end = loop {
            // SIGKILL arrives between any two steps of the tracer.
            if polls == wait * wait * 50 {
                // SAFETY: kill takes numbers.
                unsafe { libc::kill(pid.0, libc::SIGKILL) };
            }
            polls += 1;
            let Some(event) = session.poll().unwrap() else { continue };
            match event.kind {
                EventKind::Exited(_) | EventKind::Killed(_) => break event.kind,
                _ if event.is_held() => session.resume(event.tid).unwrap(),
                _ => {}
            }
        };
        assert_eq!(end, EventKind::Killed(ubp::Signal(libc::SIGKILL)));
        assert_eq!(session.wait().unwrap(), None);
    }
}
