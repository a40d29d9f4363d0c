use crate::common::machine::STOPPED;
use crate::common::*;
use crate::{by_ptrace, jump};
use ubp::{Address, EventKind, Method, Patch, Session, Spec};

#[test]
fn a_function_is_counted_without_a_trap() {
    let program = build("loop", &[]);
    let mut session = by_ptrace();
    let pid = session.spawn(piped(&program, &["100000"])).unwrap();
    let work = symbol(&session, pid, "work");
    let id = session.insert(pid, &[jump(work)]).unwrap()[0].unwrap();
    let breakpoint = session.breakpoint(pid, id).unwrap();
    assert_eq!((breakpoint.method(), breakpoint.no_jump()), (Method::Jumped, None));
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = session.breakpoint(pid, id).unwrap().hits();
        }
    });
    assert_eq!(hits, 100_000);
    assert_eq!(outcome.output, undisturbed(&program, &["100000"]).stdout);
}

#[test]
fn every_instruction_of_a_function_is_counted_as_by_traps() {
    for program in ["loop", "threads"] {
        let program = build(program, &[]);
        let functions: &[&str] = if program.to_str().unwrap().contains("loop") { &["work"] } else { &["leaf", "hot"] };
        let count = |patch| {
            let mut session = by_ptrace();
            let pid = session.spawn(piped(&program, &["200"])).unwrap();
            let base = load_address(&session, pid);
            let sites = functions.iter().flat_map(|function| instructions(&program, function));
            let specs: Vec<Spec> = sites.map(|at| Spec::count(Address(base + at)).patch(patch)).collect();
            assert!(session.insert(pid, &specs).unwrap().iter().all(Result::is_ok));
            let jumps = session.breakpoints(pid).filter(|b| b.method() == Method::Jumped).count();
            assert_eq!(jumps > 0, patch == Patch::Auto);
            session.resume(pid.leader()).unwrap();
            let mut hits = Vec::new();
            let outcome = run(&mut session, pid, |session, event| {
                if let EventKind::Exited(_) = event.kind {
                    hits = session.breakpoints(pid).map(|breakpoint| breakpoint.hits()).collect();
                }
            });
            (hits, outcome.text().to_string())
        };
        assert_eq!(count(Patch::Auto), count(Patch::Trap));
    }
}

/// Stops that find the thread anywhere in the code of jumps.
#[test]
fn a_thread_that_is_stopped_again_and_again_is_counted_exactly() {
    let program = build("loop", &[]);
    let count = |calls: u64, patch, stops: u64| {
        let mut session = by_ptrace();
        let pid = session.spawn(piped(&program, &[&calls.to_string()])).unwrap();
        let base = load_address(&session, pid);
        let sites = instructions(&program, "work").into_iter();
        let specs: Vec<Spec> = sites.map(|at| Spec::count(Address(base + at)).patch(patch)).collect();
        assert!(session.insert(pid, &specs).unwrap().iter().all(Result::is_ok));
        session.resume(pid.leader()).unwrap();
        let all = |session: &Session| session.breakpoints(pid).map(|breakpoint| breakpoint.hits()).sum::<u64>();
        for _ in 0..stops {
            let before = all(&session);
            while all(&session) == before {
                if let Some(event) = session.poll().unwrap() {
                    assert!(!matches!(event.kind, EventKind::Exited(_)), "there are more calls than that");
                    session.resume(event.tid).unwrap();
                }
            }
            session.stop(pid).unwrap();
            session.resume(pid.leader()).unwrap();
        }
        let mut hits = Vec::new();
        run(&mut session, pid, |session, event| {
            if let EventKind::Exited(_) = event.kind {
                hits = session.breakpoints(pid).map(|breakpoint| breakpoint.hits()).collect();
            }
        });
        hits
    };
    // What a call executes repeats after seven calls.
    let (few, many) = (count(7, Patch::Trap, 0), count(7 * STOPPED, Patch::Auto, 100));
    assert!(few.iter().zip(&many).all(|(few, many)| few * STOPPED == *many), "{few:?} {many:?}");
}
