//! A tracer without a free file descriptor.
//!
//! Runs alone: it takes all descriptors of its process.

mod common;

use std::fs::File;

use common::*;
use ubp::{Error, EventKind, Session, Signal, Spec};

#[test]
fn a_session_goes_on_without_free_descriptors_and_what_needs_new_ones_changes_nothing() {
    let program = build("signals", &[]);
    let plain = undisturbed(&program, &[]);
    let (mut session, pid, work) = at_work_by_ptrace(&["2000"]);
    let status = undisturbed(&build("loop", &[]), &["2000"]).status.code().unwrap();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is live.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
    limit.rlim_cur = 64;
    // SAFETY: the structure is live.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    let mut all = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        all.push(file);
    }

    assert!(matches!(session.spawn(piped(&program, &[])), Err(Error::Spawn(_))));
    assert!(session.attach(ubp::Pid(1)).is_err());
    assert_eq!(session.processes().count(), 1);
    let id = session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let (mut hits, mut seen) = (0, Vec::new());
    while hits < 4 {
        let event = session.wait().unwrap().unwrap();
        match &event.kind {
            EventKind::Hit(hit) => {
                hits = hit.count();
                session.registers(event.tid).unwrap();
                session.call(event.tid, work, &[3]).unwrap();
            }
            kind => seen.push(kind.clone()),
        }
        match hits {
            // The program ignores this signal, and gets it at a site.
            2 => session.resume_with(event.tid, Some(Signal(libc::SIGURG))).unwrap(),
            _ => session.resume(event.tid).unwrap(),
        }
    }
    session.remove(pid, &[id]).unwrap();
    session.interrupt(pid).unwrap();
    let event = loop {
        match session.wait().unwrap().unwrap() {
            event if matches!(event.kind, EventKind::Hit(_)) => session.resume(event.tid).unwrap(),
            event => break event,
        }
    };
    assert!(matches!(event.kind, EventKind::Interrupted | EventKind::Exited(_)), "{event:?} after {seen:?}");
    if event.is_held() {
        session.resume(event.tid).unwrap();
        assert_eq!(exit_of(&run(&mut session, pid, |_, _| {})), EventKind::Exited(status));
    }
    all.clear();

    // With free descriptors everything works again.
    let pid = session.spawn(piped(&program, &[])).unwrap();
    session.resume(pid.leader()).unwrap();
    let outcome = run(&mut session, pid, |_, _| {});
    assert_eq!(outcome.output, plain.stdout);
    drop(session);
    drop(Session::new().unwrap());
}
