//! Cases of signals.c.

use ubp::{Address, EventKind, Options, Session, Spec};

use super::*;

/// Runs one case of signals.c undisturbed, and with a site on one instruction after the other, which has no other site near it; all must agree.
pub fn case_alone(name: &str, functions: &[&str]) {
    let program = build("signals", &[]);
    let plain = undisturbed(&program, &[name]);
    for at in functions.iter().flat_map(|function| instructions(&program, function)) {
        for exit_kill in [true, false] {
            let mut session = session_with(|options| options.exit_kill = exit_kill);
            let pid = session.spawn(piped(&program, &[name])).unwrap();
            let base = load_address(&session, pid);
            session.insert(pid, &[Spec::count(Address(base + at))]).unwrap()[0].unwrap();
            session.resume(pid.leader()).unwrap();
            let outcome = run(&mut session, pid, |_, _| ());
            assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout), "{name}, site {at:#x}");
            let exit = outcome.exits.iter().find(|exit| exit.0 == pid).map(|exit| exit.1.clone());
            assert_eq!(exit, Some(EventKind::Exited(plain.status.code().unwrap())), "{name}, site {at:#x}");
        }
    }
}

/// Runs one case of signals.c undisturbed and with sites, with and without signal events; all must agree.
pub fn case(name: &str, functions: &[&str]) {
    case_by(Spec::count, name, functions);
}

/// [`case`] with other breakpoints, which report no hit.
pub fn case_by(spec: impl Fn(Address) -> Spec, name: &str, functions: &[&str]) {
    let program = build("signals", &[]);
    let plain = undisturbed(&program, &[name]);
    for events in [false, true] {
        let mut options = Options::default();
        options.signals = events;
        let mut session = Session::open(mechanism(), options).unwrap();
        let pid = session.spawn(piped(&program, &[name])).unwrap();
        let base = load_address(&session, pid);
        let sites = functions.iter().chain(machine::HANDLERS).flat_map(|function| instructions(&program, function));
        let specs: Vec<Spec> = sites.map(|at| spec(Address(base + at))).collect();
        for answer in session.insert(pid, &specs).unwrap() {
            answer.unwrap();
        }
        session.resume(pid.leader()).unwrap();
        let first = instructions(&program, "blocked_read")[0] + base;
        let mut read = Vec::new();
        let range = base..base + 0x100000;
        let outcome = run(&mut session, pid, |session, event| {
            if matches!(event.kind, EventKind::Exited(_)) && event.pid == pid {
                // Up to the system call, which counts as one execution even if it is restarted.
                let of_read = session.breakpoints(pid).filter(|b| (first..first + 16).contains(&b.address().0));
                read = of_read.map(|b| b.hits()).take_while(|hits| *hits > 0).collect();
            }
            if let EventKind::Signal(_) = event.kind {
                assert!(events);
                // The reported memory map does not contain slots.
                let pc = session.registers(event.tid).unwrap().pc();
                let maps = session.process(event.pid).unwrap().maps().unwrap();
                assert!(range.contains(&pc.0) || maps.iter().any(|map| map.contains(pc)), "pc {pc} in a slot");
            }
        });
        assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout), "signal events: {events}");
        if let Some(calls) = read.first() {
            let before_call = read.iter().take(4);
            assert!(before_call.clone().all(|hits| hits == calls), "{read:?}");
        }
        let exit = outcome.exits.iter().find(|exit| exit.0 == pid).map(|exit| exit.1.clone());
        assert_eq!(exit, Some(EventKind::Exited(plain.status.code().unwrap())));
    }
}
