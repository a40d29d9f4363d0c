//! Signals as events: a session tells of each signal and its origin. The session's user lets it arrive, drops it or replaces it.

mod common;

use common::*;
use ubp::{EventKind, Mechanism, Options, Origin, Pid, Session, Signal, SignalInfo, Spec, Syscalls};

/// A session with signals as events, and gets.c, which has not begun.
fn spawned(told_only: bool) -> (Session, Pid) {
    let mut options = Options::default();
    (options.threads, options.told_only) = (false, told_only);
    let mut session = Session::open(mechanism(), options).unwrap();
    let pid = session.spawn(piped(&build("gets", &[]), &[])).unwrap();
    (session, pid)
}

/// Runs gets.c. `decide` says what becomes of each signal. Returns all signals, and what the program printed.
fn got(mut decide: impl FnMut(usize, &SignalInfo) -> Option<Signal>) -> (Vec<SignalInfo>, String) {
    let (mut session, pid) = spawned(false);
    session.resume(pid.leader()).unwrap();
    let mut told = Vec::new();
    let outcome = run_with(&mut session, pid, |session, event| {
        let EventKind::Signal(info) = event.kind else { return false };
        assert_eq!(session.signal_info(event.tid).unwrap(), Some(info));
        let chosen = decide(told.len(), &info);
        told.push(info);
        session.resume_with(event.tid, chosen).unwrap();
        true
    });
    assert_eq!(exit_of(&outcome), EventKind::Exited(6));
    (told, outcome.text().to_string())
}

fn numbers(told: &[SignalInfo]) -> Vec<i32> {
    told.iter().map(|info| info.signal.0).collect()
}

#[test]
fn signals_are_told_in_the_order_of_their_delivery_with_their_origin() {
    let (told, text) = got(|_, info| Some(info.signal));
    let queued = libc::SIGRTMIN() + 3;
    let mut expected = vec![libc::SIGUSR1, libc::SIGUSR2, libc::SIGUSR1, libc::SIGUSR2, queued];
    // The kernel drops an ignored signal when it is sent, unless ptrace wants to see it.
    expected.extend((mechanism() == Mechanism::Ptrace).then_some(libc::SIGWINCH));
    assert_eq!(numbers(&told), expected);
    let plain = undisturbed(&build("gets", &[]), &[]);
    assert_eq!(text, String::from_utf8_lossy(&plain.stdout));
    assert!(matches!(told[0].origin, Origin::Process { value: None, .. }), "{:?}", told[0]);
    assert!(matches!(told[4].origin, Origin::Process { value: Some(value), .. } if value as u32 == 77));
}

#[test]
fn a_signal_can_be_dropped_and_replaced() {
    let usr1 = Signal(libc::SIGUSR1);
    let (told, text) = got(|at, info| match at {
        0 => None,
        1 => Some(usr1),
        _ => Some(info.signal),
    });
    assert_eq!(numbers(&told)[..4], [10, 12, 10, 12]);
    // The handlers of signals that arrive together begin one in the other, so that the last comes first.
    assert_eq!(text, format!("0{}20 value 77\n", (libc::SIGRTMIN() + 3) % 10));
}

#[test]
fn a_signal_that_is_given_at_a_hit_arrives_before_the_instruction_and_is_not_told() {
    let (mut session, pid) = spawned(false);
    let ready = symbol(&session, pid, "ready");
    session.insert(pid, &[Spec::event(ready)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let mut told = Vec::new();
    let outcome = run_with(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(_) => {
            session.resume_with(event.tid, Some(Signal(libc::SIGUSR2))).unwrap();
            true
        }
        EventKind::Signal(info) => {
            told.push(info.signal.0);
            false
        }
        _ => false,
    });
    assert_eq!(told[..2], [libc::SIGUSR1, libc::SIGUSR2]);
    assert!(outcome.text().starts_with("202"), "{}", outcome.text());
}

#[test]
fn a_step_from_a_signal_ends_in_its_handler_or_behind_the_next_instruction() {
    for delivers in [true, false] {
        let (mut session, pid) = spawned(false);
        let handler = symbol(&session, pid, "handler");
        session.resume(pid.leader()).unwrap();
        let (mut before, mut stepped) = (None, None);
        run_with(&mut session, pid, |session, event| {
            let Ok(pc) = session.registers(event.tid).map(|registers| registers.pc()) else { return false };
            match event.kind {
                EventKind::Signal(info) if before.is_none() => {
                    before = Some(pc);
                    session.step_with(event.tid, delivers.then_some(info.signal)).unwrap();
                    true
                }
                EventKind::Stepped => {
                    stepped = Some(pc);
                    false
                }
                _ => false,
            }
        });
        let (before, stepped) = (before.unwrap(), stepped.unwrap());
        assert_eq!(stepped == handler, delivers, "{before} -> {stepped}");
        assert_ne!(stepped, before);
    }
}

#[test]
fn what_is_only_told_reaches_the_program_as_it_does_alone() {
    let (mut session, pid) = spawned(true);
    session.resume(pid.leader()).unwrap();
    let mut told = Vec::new();
    let outcome = run(&mut session, pid, |_, event| {
        if let EventKind::Signal(info) = event.kind {
            assert_eq!(event.is_held(), mechanism() == Mechanism::Ptrace);
            told.push(info.signal.0);
        }
    });
    assert_eq!(told[..4], [10, 12, 10, 12]);
    assert!(outcome.text().ends_with("value 77\n"));
}

#[test]
fn over_the_module_a_program_that_is_only_told_of_waits_for_nobody() {
    if mechanism() != Mechanism::Kernel {
        return skip("over_the_module_a_program_that_is_only_told_of_waits_for_nobody", "no /dev/ntrace");
    }
    let (mut session, pid) = spawned(true);
    let mut stdout = session.take_stdio(pid).stdout.unwrap();
    let ready = symbol(&session, pid, "ready");
    session.insert(pid, &[Spec::event(ready).once()]).unwrap()[0].as_ref().unwrap();
    session.resume(pid.leader()).unwrap();
    // Until then the session is asked for what the loader does.
    loop {
        let event = session.wait().unwrap().unwrap();
        session.resume(event.tid).unwrap();
        if let EventKind::Hit(_) = event.kind {
            break;
        }
    }
    // The session reads nothing until the program has ended.
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stdout, &mut text).unwrap();
        sender.send(text)
    });
    let text = receiver.recv_timeout(std::time::Duration::from_secs(60)).expect("the program runs on");
    assert!(text.ends_with("value 77\n"), "{text}");
    let mut told = Vec::new();
    run(&mut session, pid, |_, event| {
        if let EventKind::Signal(info) = event.kind {
            told.push(info.signal.0);
        }
    });
    assert_eq!(told[..4], [10, 12, 10, 12]);
}

#[test]
fn a_thread_that_is_held_at_a_system_call_or_signal_goes_on_when_its_session_ends() {
    let plain = undisturbed(&build("gets", &[]), &[]);
    let is_at: [fn(&EventKind) -> bool; 3] = [
        |kind| matches!(kind, EventKind::SyscallEntered(_)),
        |kind| matches!(kind, EventKind::SyscallReturned(_)),
        |kind| matches!(kind, EventKind::Signal(_)),
    ];
    for (number, is_at) in is_at.iter().enumerate() {
        let (mut session, pid) = spawned(false);
        session.trace_syscalls(pid, Syscalls::NONE.with(libc::SYS_kill as u64)).unwrap();
        session.resume(pid.leader()).unwrap();
        let mut stdout = session.take_stdio(pid).stdout.unwrap();
        loop {
            let event = session.wait().unwrap().unwrap();
            if is_at(&event.kind) {
                break;
            }
            session.resume(event.tid).unwrap();
        }
        drop(session);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stdout, &mut text).unwrap();
        assert_eq!(text, String::from_utf8_lossy(&plain.stdout), "{number}");
    }
}
