//! Sessions over the kernel module's channel: what they are refused, and what they are told.

mod common;

use std::io::{Read, Write};

use common::*;
use ubp::{Error, EventKind, Mechanism, Options, Pid, Session, Signal, Spec};

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
    let (mut session, pid, work) = at_work(&["3"]);
    let tid = pid.leader();
    assert!(matches!(session.call(tid, work, &[1]), Err(Error::Unsupported { .. })));
    assert!(matches!(session.resume_with(tid, Some(Signal(1))), Err(Error::Unsupported { .. })));
    session.resume(tid).unwrap();
    run(&mut session, pid, |_, _| {});
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
        session.interrupt(pid).unwrap();
        for _ in 0..12 {
            let event = session.wait().unwrap().unwrap();
            assert_eq!(event.kind, EventKind::Interrupted);
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
