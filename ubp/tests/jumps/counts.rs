use crate::common::*;
use crate::{by_ptrace, jump};
use ubp::{EventKind, Method, Patch, Spec};

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
            let specs: Vec<Spec> = sites.map(|at| Spec::count(ubp::Address(base + at)).patch(patch)).collect();
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
