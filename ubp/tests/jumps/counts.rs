use crate::common::machine::STOPPED;
use crate::common::*;
use crate::{by_ptrace, jump};
use ubp::{Address, EventKind, Method, Patch, Pid, Session, Spec};

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
    let count = |calls: u64, patch, mut halt: Box<dyn FnMut(&mut Session, Pid) -> bool>| {
        let mut session = by_ptrace();
        let pid = session.spawn(piped(&program, &[&calls.to_string()])).unwrap();
        let base = load_address(&session, pid);
        let specs = instructions(&program, "work").into_iter();
        let specs: Vec<Spec> = specs.map(|at| Spec::count(Address(base + at)).patch(patch)).collect();
        assert!(session.insert(pid, &specs).unwrap().iter().all(Result::is_ok));
        session.resume(pid.leader()).unwrap();
        while halt(&mut session, pid) {}
        let mut hits = Vec::new();
        run(&mut session, pid, |session, event| {
            if let EventKind::Exited(_) = event.kind {
                hits = session.breakpoints(pid).map(|breakpoint| breakpoint.hits()).collect();
            }
        });
        hits
    };
    // What a call executes repeats after seven calls.
    let few: Vec<u64> = count(7, Patch::Trap, Box::new(|_, _| false));
    let mut stops = 0;
    let halt = move |session: &mut Session, pid: Pid| {
        if session.stop(pid).is_err() {
            return false;
        }
        stops += 1;
        session.resume(pid.leader()).is_ok() && stops < 2000
    };
    let many = count(7 * STOPPED, Patch::Auto, Box::new(halt));
    assert!(few.iter().zip(&many).all(|(few, many)| few * STOPPED == *many), "{few:?} {many:?}");
}
