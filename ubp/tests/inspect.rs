//! Threads: their states and signals, and stops of whole processes.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::*;
use ubp::{
    Address, Error, Event, EventKind, Options, Origin, Pid, RegisterSet, Session, Signal, SignalInfo, Spec,
    ThreadState, Tid,
};

/// A session over ptrace with chosen options.
fn session_of(choose: impl FnOnce(&mut Options)) -> Session {
    let mut options = Options::default();
    (options.signals, options.threads) = (false, false);
    choose(&mut options);
    Session::with_options(options).unwrap()
}

fn spawn(session: &mut Session, what: &str) -> Pid {
    let pid = session.spawn(piped(&build("inspected", &[]), &[what])).unwrap();
    session.resume(pid.leader()).unwrap();
    pid
}

fn number(session: &mut Session, pid: Pid, address: Address) -> u64 {
    let mut raw = [0; 8];
    session.read_memory(pid, address, &mut raw).unwrap();
    u64::from_le_bytes(raw)
}

/// Handles events until the counter of the program has this value or a larger one.
fn until_counted(session: &mut Session, pid: Pid, count: u64) {
    let counter = symbol(session, pid, "counter");
    while number(session, pid, counter) < count {
        go_on(session);
    }
}

/// Handles an event, if there is one.
fn go_on(session: &mut Session) {
    if let Some(event) = session.poll().unwrap().filter(Event::is_held) {
        session.resume(event.tid).unwrap();
    }
}

fn states(session: &Session, pid: Pid) -> BTreeMap<Tid, (String, ThreadState)> {
    let threads = session.threads(pid).unwrap().into_iter();
    threads.map(|thread| (thread.tid, (thread.name.into_string().unwrap(), thread.state))).collect()
}

/// Lets a program end.
fn finish(session: &mut Session, pid: Pid) -> EventKind {
    let go_on = symbol_of(session, pid, "go_on");
    session.write_memory(pid, go_on, &[0; 4]).unwrap();
    for thread in session.threads(pid).unwrap() {
        if session.is_held(thread.tid) {
            session.resume(thread.tid).unwrap();
        }
    }
    exit_of(&run(session, pid, |_, _| ()))
}

#[test]
fn what_only_reads_leaves_the_session_free_for_other_readers() {
    let (mut session, pid, work) = at_work_by_ptrace(&["3"]);
    let registers = {
        let reader: &Session = &session;
        let read = |address| {
            let mut byte = [0];
            reader.read_memory(pid, address, &mut byte).map(|_| byte[0])
        };
        let registers = reader.registers(pid.leader()).unwrap();
        assert!(read(work).is_ok() && read(registers.pc()).is_ok());
        assert!(reader.return_address(pid, &registers).is_some());
        assert_eq!(reader.register_set(pid.leader(), RegisterSet::GENERAL).unwrap(), registers.bytes());
        assert!(reader.vector_registers(pid.leader()).unwrap().names().next().is_some());
        assert_eq!(reader.signal_info(pid.leader()).unwrap(), None);
        let modules = reader.modules(pid).unwrap();
        assert_eq!(reader.bias(pid, &modules[0].path).unwrap(), Some(modules[0].bias));
        registers
    };
    assert_eq!(session.registers(pid.leader()).unwrap(), registers);
    session.resume(pid.leader()).unwrap();
    run(&mut session, pid, |_, _| ());
}

#[test]
fn a_signal_is_told_with_its_origin() {
    let mut session = session_of(|options| options.signals = true);
    let pid = spawn(&mut session, "signals");
    let mut told: Vec<SignalInfo> = Vec::new();
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Signal(info) = event.kind {
            assert_eq!(session.signal_info(event.tid).unwrap(), Some(info));
            told.push(info);
        } else if event.is_held() {
            assert_eq!(session.signal_info(event.tid).unwrap(), None);
        }
    });
    assert!(outcome.exits.contains(&(pid, EventKind::Exited(6))), "{outcome:?}");
    // SAFETY: getuid takes nothing and cannot fail.
    let uid = unsafe { libc::getuid() };
    let info = |signal| told.iter().find(|info| info.signal == Signal(signal)).copied().unwrap();
    assert_eq!(info(libc::SIGUSR1).origin, Origin::Process { pid, uid, value: None });
    assert_eq!((info(libc::SIGUSR1).code, info(libc::SIGUSR2).code), (libc::SI_USER, libc::SI_QUEUE));
    let Origin::Process { value: Some(value), .. } = info(libc::SIGUSR2).origin else { panic!("{told:?}") };
    assert_eq!(value as u32, 77);
    let Origin::Timer { value, .. } = info(libc::SIGALRM).origin else { panic!("{told:?}") };
    assert_eq!(value as u32, 78);
    let Origin::Child { pid: child, status: 9, .. } = info(libc::SIGCHLD).origin else { panic!("{told:?}") };
    assert!(outcome.exits.contains(&(child, EventKind::Exited(9))));
    assert_eq!(info(libc::SIGSEGV).origin, Origin::Fault { address: Address(0x1230) });
}

#[test]
fn a_stop_holds_every_thread_of_a_process_that_makes_threads_all_the_time() {
    for events in [false, true] {
        let mut session = session_of(|options| options.threads = events);
        let pid = spawn(&mut session, "storm");
        let counter = symbol(&session, pid, "counter");
        for round in 1..=10 {
            let before = number(&mut session, pid, counter);
            until_counted(&mut session, pid, before + 20);
            session.stop(pid).unwrap();
            let threads = states(&session, pid);
            assert!(threads.values().all(|(_, state)| *state == ThreadState::Held), "round {round}: {threads:?}");
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
            let tasks: Vec<Tid> =
                tasks.map(|task| Tid(task.unwrap().file_name().to_str().unwrap().parse().unwrap())).collect();
            assert!(tasks.iter().all(|tid| session.is_held(*tid)), "round {round}: {tasks:?} of {threads:?}");
            let at = number(&mut session, pid, counter);
            for tid in tasks {
                session.resume(tid).unwrap();
            }
            until_counted(&mut session, pid, at + 1);
        }
        session.stop(pid).unwrap();
        assert_eq!(finish(&mut session, pid), EventKind::Exited(4), "events: {events}");
    }
}

#[test]
fn an_event_that_a_stop_meets_is_delivered_afterwards() {
    let (mut session, pid, work) = at_work_by_ptrace(&["30"]);
    let id = session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    loop {
        session.stop(pid).unwrap();
        assert!(session.is_held(pid.leader()));
        // Does nothing for a thread whose event is still to be delivered.
        session.resume(pid.leader()).unwrap();
        let event = session.wait().unwrap().unwrap();
        match event.kind {
            EventKind::Hit(hit) => {
                assert_eq!((hit.id(), hit.count()), (id, hits + 1));
                assert_eq!(session.registers(event.tid).unwrap().pc(), work);
                hits += 1;
            }
            EventKind::Exited(_) => break,
            _ => {}
        }
        session.resume(event.tid).unwrap();
        if hits == 29 {
            break;
        }
    }
    run(&mut session, pid, |_, event| hits += u64::from(matches!(event.kind, EventKind::Hit(_))));
    assert_eq!(hits, 30);
}

#[test]
fn a_stop_ends_with_the_process() {
    let (mut session, pid, _) = at_work_by_ptrace(&["1"]);
    session.resume(pid.leader()).unwrap();
    let outcome = loop {
        match session.stop(pid) {
            Ok(()) => session.resume(pid.leader()).unwrap(),
            Err(error) => break error,
        }
        if let Some(event) = session.poll().unwrap().filter(|event| event.is_held()) {
            session.resume(event.tid).unwrap();
        }
        if session.process(pid).is_none() {
            break session.stop(pid).unwrap_err();
        }
    };
    assert!(matches!(outcome, Error::NoSuchProcess(gone) if gone == pid), "{outcome}");
}

#[test]
fn a_thread_in_vfork_is_named_and_the_process_goes_on() {
    let (mut child, mut out) = start(&build("inspected", &[]), &["vfork"]);
    assert_eq!(line(&mut out), "child\n");
    let mut session = session_of(|_| ());
    let pid = Pid(child.id() as i32);
    session.attach(pid).unwrap();
    assert_eq!(states(&session, pid)[&pid.leader()].1, ThreadState::Uninterruptible);
    assert!(matches!(session.stop(pid), Err(Error::Uninterruptible(tid)) if tid == pid.leader()));
    drop(child.stdin.take());
    let outcome = run(&mut session, pid, |_, _| ());
    assert!(outcome.exits.contains(&(pid, EventKind::Exited(4))), "{outcome:?}");
}

#[test]
fn threads_are_told_with_names_and_states() {
    let mut session = session_of(|_| ());
    let pid = spawn(&mut session, "nap");
    until_counted(&mut session, pid, 2);
    let state = |session: &Session, name: &str| {
        let threads = states(session, pid);
        threads.values().find(|thread| thread.0 == name).map(|thread| thread.1)
    };
    // The program's threads come to rest on their own time.
    while state(&session, "a napper") != Some(ThreadState::Sleeping) {
        go_on(&mut session);
    }
    while state(&session, "a (spinner) ") != Some(ThreadState::Running) {
        go_on(&mut session);
    }
    let spinner =
        states(&session, pid).iter().find(|(_, thread)| thread.0 == "a (spinner) ").map(|(tid, _)| *tid).unwrap();
    assert!(!session.is_held(spinner));
    session.interrupt_thread(spinner).unwrap();
    let event = session.wait().unwrap().unwrap();
    assert_eq!((event.tid, event.kind), (spinner, EventKind::Interrupted));
    assert!(session.is_held(spinner));
    assert_eq!(state(&session, "a (spinner) "), Some(ThreadState::Held));
    assert_eq!(state(&session, "a napper"), Some(ThreadState::Sleeping), "no other thread is interrupted");
    session.interrupt_thread(spinner).unwrap();
    assert_eq!(session.poll().unwrap(), None, "a held thread gets no further event");
    assert!(matches!(session.interrupt_thread(Tid(1)), Err(Error::NoSuchThread(Tid(1)))));
    assert_eq!(finish(&mut session, pid), EventKind::Exited(4));
}

#[test]
fn a_process_whose_first_thread_has_ended_is_stopped_and_left() {
    let mut session = session_of(|_| ());
    let pid = spawn(&mut session, "leaderless");
    until_counted(&mut session, pid, 100);
    while states(&session, pid).get(&pid.leader()).map(|thread| thread.1) != Some(ThreadState::Ended) {
        go_on(&mut session);
    }
    session.stop(pid).unwrap();
    let counter = symbol_of(&session, pid, "counter");
    let before = number(&mut session, pid, counter);
    let rest = states(&session, pid);
    assert!(rest.iter().all(|(tid, thread)| *tid == pid.leader() || thread.1 == ThreadState::Held), "{rest:?}");
    assert_eq!(number(&mut session, pid, counter), before);
    for tid in rest.keys().filter(|tid| **tid != pid.leader()) {
        session.resume(*tid).unwrap();
    }
    assert_eq!(finish(&mut session, pid), EventKind::Exited(4));

    // The process runs on after a detach, and a dropped session does not wait for its end.
    let pid = spawn(&mut session, "leaderless");
    until_counted(&mut session, pid, 100);
    while states(&session, pid).get(&pid.leader()).map(|thread| thread.1) != Some(ThreadState::Ended) {
        go_on(&mut session);
    }
    let other = *states(&session, pid).keys().find(|tid| **tid != pid.leader()).unwrap();
    session.detach(pid).unwrap();
    drop(session);
    let status = std::fs::read_to_string(format!("/proc/{other}/status")).unwrap();
    assert!(status.contains("TracerPid:\t0") && !status.contains("State:\tt"), "{status}");
    // SAFETY: kill takes numbers; the process is this test's.
    unsafe { libc::kill(pid.0, libc::SIGKILL) };
}

/// The address of a symbol of a process whose first thread, and with it its memory map, is gone.
fn symbol_of(session: &Session, pid: Pid, name: &str) -> Address {
    let threads = session.threads(pid).unwrap();
    let other = threads.iter().find(|thread| thread.state != ThreadState::Ended).unwrap().tid;
    let path = session.process(pid).unwrap().executable().to_path_buf();
    let maps = std::fs::read_to_string(format!("/proc/{other}/maps")).unwrap();
    let first = maps.lines().find(|line| Path::new(line.rsplit(' ').next().unwrap()) == path).unwrap();
    Address(u64::from_str_radix(first.split('-').next().unwrap(), 16).unwrap() + symbols(&path)[name])
}

#[test]
fn group_stops_and_their_ends_are_told_if_asked_for() {
    let program = build("jobs", &[]);
    let plain = undisturbed(&program, &[]);
    for asked in [false, true] {
        let mut session = session_of(|options| options.group_stops = asked);
        let pid = session.spawn(piped(&program, &[])).unwrap();
        session.resume(pid.leader()).unwrap();
        let mut kinds = Vec::new();
        let outcome = run(&mut session, pid, |session, event| {
            if matches!(event.kind, EventKind::GroupStopped(_) | EventKind::Continued) {
                assert!(session.is_held(event.tid) && event.pid != pid);
                kinds.push(event.kind.clone());
            }
        });
        assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
        let each = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGSTOP, libc::SIGTSTP, libc::SIGSTOP];
        let pairs = each.map(|signal| [EventKind::GroupStopped(Signal(signal)), EventKind::Continued]);
        assert_eq!(kinds, if asked { pairs.concat() } else { Vec::new() });
    }
}
