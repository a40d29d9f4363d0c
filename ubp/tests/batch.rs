//! Hundreds of thousands of breakpoints at once.

mod common;

use std::collections::HashMap;

use common::*;
use ubp::{Address, BreakpointId, EventKind, Mechanism, Session, Spec};

#[test]
fn a_hundred_thousand_sites_are_each_hit_once_and_leave_nothing_behind() {
    let program = build("code", &[]);
    let plain = undisturbed(&program, &["many"]);
    let mut session = session();
    let pid = session.spawn(piped(&program, &["many"])).unwrap();
    let (made, done) = (symbol(&session, pid, "made"), symbol(&session, pid, "done"));
    let answers = session.insert(pid, &[Spec::event(made), Spec::event(done)]).unwrap();
    let (made, done) = (answers[0].unwrap(), answers[1].unwrap());
    session.resume(pid.leader()).unwrap();
    let mut ids: Vec<BreakpointId> = Vec::new();
    let mut code = Address(0);
    let mut before = Vec::new();
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(ref hit) if hit.id() == made => {
            let registers = session.registers(event.tid).unwrap();
            code = Address(registers.get(machine::ARGUMENTS[0]).unwrap());
            before = vec![0; registers.get(machine::ARGUMENTS[1]).unwrap() as usize];
            session.read_memory(pid, code, &mut before).unwrap();
            let lengths = machine::MANY.iter().cycle();
            let sites = lengths.scan(code.0, |at, length| Some(std::mem::replace(at, *at + length)));
            let mut specs: Vec<Spec> = sites.take(100_000).map(|at| Spec::count(Address(at))).collect();
            // The order of breakpoints does not matter.
            specs.reverse();
            ids = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
            // The code repeats five instructions.
            let methods: HashMap<_, _> = session.breakpoints(pid).map(|one| (one.id(), one.method())).collect();
            let methods: Vec<_> = ids.iter().map(|id| methods[id]).collect();
            assert!(methods.iter().eq(methods.iter().take(5).cycle().take(methods.len())));
            let mut shown = vec![0; before.len()];
            session.read_memory(pid, code, &mut shown).unwrap();
            assert!(shown == before, "our bytes are shown");
        }
        EventKind::Hit(ref hit) if hit.id() == done => {
            let hits: HashMap<_, _> = session.breakpoints(pid).map(|one| (one.id(), one.hits())).collect();
            assert!(ids.iter().all(|id| hits[id] == 1));
            session.remove(pid, &ids).unwrap();
            let mut raw = vec![0; before.len()];
            let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
            std::os::unix::fs::FileExt::read_exact_at(&memory, &mut raw, code.0).unwrap();
            assert!(raw == before, "our bytes are left");
            assert_eq!(session.breakpoints(pid).count(), 2);
        }
        _ => {}
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
}

#[test]
fn inserting_and_removing_again_and_again_while_threads_run_keeps_every_count() {
    let program = build("threads", &[]);
    let mut session = session_with(|options| options.threads = false);
    // The kernel counts as fast as the program runs.
    let (calls, least) = if session.mechanism() == Mechanism::Kernel { (300_000, 4) } else { (3000, 11) };
    let arguments = [&*u64::to_string(&calls), "0"];
    let plain = undisturbed(&program, &arguments);
    let pid = session.spawn(piped(&program, &arguments)).unwrap();
    let base = load_address(&session, pid);
    let hot = instructions(&program, "hot");
    let leaf = symbol(&session, pid, "leaf");
    let counted = session.insert(pid, &[Spec::count(leaf)]).unwrap()[0].unwrap();
    let specs: Vec<Spec> = hot.iter().map(|at| Spec::count(Address(base + at))).collect();
    let mut out = session.take_stdio(pid).stdout.unwrap();
    session.resume(pid.leader()).unwrap();
    let (mut rounds, mut hits) = (0, 0);
    let mut ids: Vec<BreakpointId> = Vec::new();
    // What becomes of the process tells whose fault an error is.
    let tell = |session: &mut Session, error| -> ! { panic!("{error}, and then {:?}", session.wait()) };
    loop {
        if session.process(pid).is_some() {
            if ids.is_empty() {
                // When a process ends, its memory is gone before the event arrives.
                let answers = session.insert(pid, &specs).unwrap_or_else(|error| tell(&mut session, error));
                ids = answers.into_iter().filter_map(Result::ok).collect();
            } else {
                let gone = std::mem::take(&mut ids);
                session.remove(pid, &gone).unwrap_or_else(|error| tell(&mut session, error));
            }
            rounds += 1;
        }
        // A few reports, then the next change.
        let mut ended = false;
        for _ in 0..20 {
            match session.poll().unwrap() {
                Some(event) if matches!(event.kind, EventKind::Exited(0)) => {
                    hits = session.breakpoint(pid, counted).unwrap().hits();
                    ended = true;
                }
                Some(event) if event.is_held() => session.resume(event.tid).unwrap(),
                Some(event) => panic!("{event:?}"),
                None => {}
            }
        }
        if ended {
            break;
        }
    }
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut out, &mut text).unwrap();
    assert_eq!(text, plain.stdout);
    assert_eq!(hits, 8 * calls);
    assert!(rounds >= least, "{rounds} rounds");
}
