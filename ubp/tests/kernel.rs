//! Sessions over the kernel module's channel: refusals and events.

mod common;

use std::io::{Read, Write};

use common::*;
use ubp::{Address, Error, EventKind, Mechanism, Options, Pid, Session, Signal, Spec};

const DEVICE: &str = "/dev/ntrace";

fn is_loaded() -> bool {
    std::path::Path::new(DEVICE).exists()
}

fn quiet() -> Options {
    let mut options = Options::default();
    options.signals = false;
    options
}

#[test]
fn a_session_takes_the_module_where_it_is_loaded_and_can_do_what_is_asked_and_else_ptrace() {
    let best = if is_loaded() { Mechanism::Kernel } else { Mechanism::Ptrace };
    assert_eq!(Session::open(Mechanism::Auto, quiet()).unwrap().mechanism(), best);
    assert_eq!(Session::open(Mechanism::Auto, Options::default()).unwrap().mechanism(), Mechanism::Ptrace);
    assert_eq!(Session::open(Mechanism::Ptrace, quiet()).unwrap().mechanism(), Mechanism::Ptrace);
}

#[test]
fn what_the_module_cannot_do_or_its_absence_is_an_error_that_says_so() {
    let signals = Session::open(Mechanism::Kernel, Options::default());
    assert!(matches!(signals, Err(Error::Unsupported { mechanism: Mechanism::Kernel, .. })), "{signals:?}");
    let session = Session::open(Mechanism::Kernel, quiet());
    if !is_loaded() {
        assert!(matches!(&session, Err(Error::File { path, .. }) if path.to_str() == Some(DEVICE)), "{session:?}");
        return;
    }
    let (mut session, pid, _) = at_work(&["3"]);
    let tid = pid.leader();
    assert!(matches!(session.resume_with(tid, Some(Signal(1))), Err(Error::Unsupported { .. })));
    session.resume(tid).unwrap();
    run(&mut session, pid, |_, _| {});
}

#[test]
fn a_function_called_at_each_instruction_of_another_disturbs_nothing_and_no_hit_is_counted_twice() {
    const NAME: &str = "a_function_called_at_each_instruction_of_another_disturbs_nothing_and_no_hit_is_counted_twice";
    if !is_loaded() {
        return skip(NAME, "no /dev/ntrace");
    }
    let counted = |calls: bool| {
        let (mut session, pid, work) = at_work(&["4"]);
        let base = load_address(&session, pid);
        let all = instructions(&build("loop", &[]), "work");
        let specs: Vec<Spec> = all.iter().map(|at| Spec::event(Address(base + at))).collect();
        let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
        session.resume(pid.leader()).unwrap();
        let mut hits = Vec::new();
        let outcome = run(&mut session, pid, |session, event| match event.kind {
            EventKind::Hit(_) if calls => assert_eq!(session.call(event.tid, work, &[6]).unwrap(), 90),
            EventKind::Exited(_) => {
                hits = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().hits()).collect();
            }
            _ => {}
        });
        (hits, outcome.text().to_string())
    };
    let plain = counted(false);
    assert_eq!(plain.0[0], 4, "{plain:?}");
    assert_eq!(counted(true), plain);
}

#[test]
fn a_call_over_the_module_keeps_red_zone_vectors_flags_and_signals() {
    if !is_loaded() {
        return skip("a_call_over_the_module_keeps_red_zone_vectors_flags_and_signals", "no /dev/ntrace");
    }
    let program = build("calls", &[]);
    let plain = undisturbed(&program, &[]);
    let mut session = Session::open(Mechanism::Kernel, quiet()).unwrap();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let [busy, nine] = ["at_busy", "nine"].map(|name| symbol(&session, pid, name));
    let ids = session.insert(pid, &[Spec::event(busy), Spec::count(nine)]).unwrap();
    session.resume(pid.leader()).unwrap();
    let (mut results, mut hits) = (Vec::new(), 0);
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(_) => {
            let values = [10, 20, 30, 40, 50, 60, 70, 80, 90];
            results.push(session.call(event.tid, nine, &values).unwrap());
        }
        EventKind::Exited(_) => hits = session.breakpoint(pid, *ids[0].as_ref().unwrap()).unwrap().hits(),
        _ => {}
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
    assert_eq!((results, hits), (vec![2850; 6], 6));
}

#[test]
fn calls_in_a_storm_of_signals_lose_none_and_tell_of_each_hit_once() {
    if !is_loaded() {
        return skip("calls_in_a_storm_of_signals_lose_none_and_tell_of_each_hit_once", "no /dev/ntrace");
    }
    const CALLS: u64 = 100;
    let program = build("calls", &[]);
    let (mut child, mut out) = start(&program, &["storm"]);
    assert_eq!(line(&mut out), "ready\n");
    let pid = Pid(child.id() as i32);
    let mut session = Session::open(Mechanism::Kernel, quiet()).unwrap();
    session.attach(pid).unwrap();
    let [busy, nine, handler] = ["at_busy", "nine", "on_number"].map(|name| symbol(&session, pid, name));
    let id = session.insert(pid, &[Spec::event(busy)]).unwrap()[0].unwrap();
    let (mut told, mut interrupted) = (0, 0);
    while told < CALLS || interrupted == 0 {
        let event = session.wait().unwrap().unwrap();
        if let EventKind::Hit(_) = event.kind {
            told += 1;
            assert_eq!(session.call(event.tid, nine, &[10, 20, 30, 40, 50, 60, 70, 80, 90]).unwrap(), 2850);
            let pc = session.registers(event.tid).unwrap().pc();
            assert!(pc == busy || pc == handler, "{pc:?}");
            interrupted += u64::from(pc == handler);
            // An event that is reported twice is a fault.
            assert_eq!(session.breakpoint(pid, id).unwrap().hits(), told);
        }
        session.resume(event.tid).unwrap();
    }
    session.detach(pid).unwrap();
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "1231 received 0 sum 0 wrong 0 blocked 0\n");
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn two_sessions_of_one_thread_each_have_their_debuggee() {
    if !is_loaded() {
        return skip("two_sessions_of_one_thread_each_have_their_debuggee", "no /dev/ntrace");
    }
    let mut both = [at_work(&["5"]), at_work(&["6"])];
    for ((session, pid, work), calls) in both.iter_mut().zip([5, 6]) {
        let id = session.insert(*pid, &[Spec::count(*work)]).unwrap()[0].unwrap();
        session.resume(pid.leader()).unwrap();
        let mut hits = 0;
        run(session, *pid, |session, event| {
            if let EventKind::Exited(_) = event.kind {
                hits = session.breakpoint(event.pid, id).unwrap().hits();
            }
        });
        assert_eq!(hits, calls);
    }
}

#[test]
fn a_thread_that_waits_in_a_system_call_is_held_and_the_call_goes_on_as_if_nothing_had_been() {
    if !is_loaded() {
        return skip("a_thread_that_waits_in_a_system_call_is_held", "no /dev/ntrace");
    }
    let (mut child, mut out) = start(&build("blocked", &[]), &[]);
    let pid = Pid(child.id() as i32);
    assert_eq!(line(&mut out), "ready\n");
    for _ in 0..10 {
        let mut session = Session::open(Mechanism::Kernel, quiet()).unwrap();
        session.attach(pid).unwrap();
        let seven = symbol(&session, pid, "seven");
        session.interrupt(pid).unwrap();
        for _ in 0..12 {
            let event = session.wait().unwrap().unwrap();
            assert_eq!(event.kind, EventKind::Interrupted);
            let before = format!("{:?}", session.registers(event.tid).unwrap());
            assert_eq!(session.call(event.tid, seven, &[]).unwrap(), 7);
            assert_eq!(format!("{:?}", session.registers(event.tid).unwrap()), before);
            session.registers(event.tid).unwrap();
            session.resume(event.tid).unwrap();
        }
    }
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "finished 12 interrupted 0 unexpected 0\n");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// The addresses in a function of loop.c to which the first thread comes by steps, from the first arrival on that is not ignored to the function's
/// end; the arrivals at each breakpoint, the program's text and its end.
type Walk = (Vec<u64>, Vec<u64>, String, EventKind);

/// Steps through a function of loop.c, over calls where `over`, with breakpoints that count on every instruction of `work` where `sites`.
fn walk(mechanism: Mechanism, function: &str, ignored: u64, over: bool, sites: bool) -> Walk {
    let program = build("loop", &[]);
    let mut session = Session::open(mechanism, quiet()).unwrap();
    let pid = session.spawn(piped(&program, &["6"])).unwrap();
    let tid = pid.leader();
    let base = load_address(&session, pid);
    let body = instructions(&program, function);
    let counted = if sites { instructions(&program, "work") } else { Vec::new() };
    let mut specs: Vec<Spec> = counted.iter().map(|at| Spec::count(Address(base + at))).collect();
    specs.push(Spec::event(Address(base + body[0])).ignore(ignored).once());
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    session.resume(tid).unwrap();
    let mut out = session.take_stdio(pid).stdout.unwrap();
    let (mut path, mut hits) = (Vec::new(), Vec::new());
    let end = loop {
        let event = session.wait().unwrap().unwrap();
        match event.kind {
            EventKind::Exited(_) | EventKind::Killed(_) => {
                hits.extend(counted.iter().zip(&ids).map(|(_, id)| session.breakpoint(pid, *id).unwrap().hits()));
                break event.kind;
            }
            EventKind::Hit(_) | EventKind::Stepped => {
                let at = session.registers(tid).unwrap().pc().0.wrapping_sub(base);
                path.push(at);
                assert!(path.len() < 1000, "{path:x?}");
                match (body.contains(&at), over) {
                    (true, true) => session.step_over(tid).unwrap(),
                    (true, false) => session.step(tid).unwrap(),
                    (false, _) => session.resume(tid).unwrap(),
                }
            }
            _ if event.is_held() => session.resume(event.tid).unwrap(),
            _ => {}
        }
    };
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    // The address behind the function is one of another file's, where that is loaded.
    path.pop();
    (path, hits, text, end)
}

#[test]
fn steps_over_the_module_go_where_those_over_ptrace_go_whatever_breakpoints_there_are() {
    const NAME: &str = "steps_over_the_module_go_where_those_over_ptrace_go_whatever_breakpoints_there_are";
    if !is_loaded() {
        return skip(NAME, "no /dev/ntrace");
    }
    let plain = undisturbed(&build("loop", &[]), &["6"]);
    for (function, ignored, over) in [("work", 4, false), ("main", 0, true)] {
        let (expected, _, text, end) = walk(Mechanism::Ptrace, function, ignored, over, false);
        assert!(expected.len() > 10, "{expected:x?}");
        assert_eq!(text.as_bytes(), plain.stdout);
        let (_, counts, ..) = walk(Mechanism::Ptrace, function, ignored, over, true);
        for sites in [false, true] {
            let (path, hits, told, ended) = walk(Mechanism::Kernel, function, ignored, over, sites);
            assert_eq!(path, expected, "{function}, sites: {sites}");
            assert_eq!((told, ended), (text.clone(), end.clone()), "{function}, sites: {sites}");
            assert_eq!(hits, if sites { counts.clone() } else { Vec::new() }, "{function}, sites: {sites}");
        }
    }
}
