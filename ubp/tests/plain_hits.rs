//! Hits that need nothing but a count, at sites that have no other site near them: threads pass them by a jump to the slot, branches too.

mod common;

use common::signals::case_alone;
use common::*;
use ubp::{Address, EventKind, Pid, Session, Spec};

/// The counts of the sites at these addresses in a run of loop.c, and whether another program than alone was seen.
fn counts(exit_kill: bool, sites: &[u64]) -> Vec<u64> {
    let program = build("loop", &[]);
    let plain = undisturbed(&program, &["40"]);
    let mut session = session_with(|options| options.exit_kill = exit_kill);
    let pid = session.spawn(piped(&program, &["40"])).unwrap();
    let base = load_address(&session, pid);
    let specs: Vec<Spec> = sites.iter().map(|at| Spec::count(Address(base + at))).collect();
    session.insert(pid, &specs).unwrap().into_iter().for_each(|answer| assert!(answer.is_ok()));
    session.resume(pid.leader()).unwrap();
    let mut hits = Vec::new();
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = session.breakpoints(pid).map(|breakpoint| breakpoint.hits()).collect();
        }
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout), "{sites:x?}");
    assert_eq!(exit_of(&outcome), EventKind::Exited(plain.status.code().unwrap()), "{sites:x?}");
    hits
}

#[test]
fn each_instruction_is_counted_alone_as_among_others() {
    let program = build("loop", &[]);
    let sites: Vec<u64> = ["work", "main"].iter().flat_map(|function| instructions(&program, function)).collect();
    let among_others = counts(true, &sites);
    assert!(among_others.iter().any(|hits| *hits > 40), "{among_others:?}");
    for exit_kill in [true, false] {
        let alone: Vec<u64> = sites.iter().flat_map(|site| counts(exit_kill, &[*site])).collect();
        assert_eq!(alone, among_others, "{sites:x?}");
    }
}

#[test]
fn signals_at_each_instruction_arrive_as_without_breakpoints() {
    case_alone("nested", &["nested_case", "on_usr2"]);
    case_alone("mask", &["mask_case"]);
}

#[test]
fn handlers_left_by_longjmp_do_no_harm_at_any_site() {
    case_alone("jump", &["jump_case", "jump_later", "on_jump"]);
}

#[test]
fn the_stack_grows_under_each_call() {
    case_alone("grow", &["grow_case", "deep"]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_program_that_steps_itself_sees_each_of_its_instructions_once() {
    case_alone("trap", &["trap_flag_case"]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_fault_as_the_processor_does() {
    case_alone("call", &["call_case"]);
    case_alone("push", &["push_case"]);
    case_alone("growcall", &["grow_by_call_case"]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_breakpoint_instruction_of_the_programs_own_reaches_its_handler() {
    case_alone("int3", &["int3_case"]);
}

/// Runs threads.c, in which eight threads call functions while a timer signals, with one site. Returns the hits and the output.
fn hits_of_threads(at: u64, timer: &str) -> (u64, Vec<u8>) {
    let mut session = session_with(|options| options.threads = false);
    let pid = session.spawn(piped(&build("threads", &[]), &["50", timer])).unwrap();
    let site = Address(load_address(&session, pid) + at);
    let id = session.insert(pid, &[Spec::count(site)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = session.breakpoint(pid, id).unwrap().hits();
        }
    });
    assert_eq!(exit_of(&outcome), EventKind::Exited(0));
    (hits, outcome.output)
}

#[test]
fn a_signal_storm_neither_loses_nor_doubles_a_hit_at_a_site_alone() {
    let program = build("threads", &[]);
    let plain = undisturbed(&program, &["50", "0"]).stdout;
    for at in ["hot", "leaf"].iter().flat_map(|function| instructions(&program, function)) {
        let calm = hits_of_threads(at, "0");
        assert_eq!(calm.1, plain, "{at:#x}");
        assert_eq!(hits_of_threads(at, machine::TICK), calm, "{at:#x}");
    }
}

/// Counts at these sites until `hits` are counted.
fn count_for_a_while(session: &mut Session, pid: Pid, sites: &[Address], hits: u64) {
    let specs: Vec<Spec> = sites.iter().map(|at| Spec::count(*at)).collect();
    session.insert(pid, &specs).unwrap().into_iter().for_each(|answer| assert!(answer.is_ok()));
    while session.breakpoints(pid).map(|breakpoint| breakpoint.hits()).sum::<u64>() < hits {
        if let Some(event) = session.poll().unwrap().filter(|event| event.is_held()) {
            session.resume(event.tid).unwrap();
        }
    }
}

#[test]
fn several_threads_at_one_site_all_go_on() {
    let program = build("killed", &[]);
    let (mut child, mut out) = start(&program, &[]);
    assert_eq!(line(&mut out), "ready\n");
    let pid = Pid(child.id() as i32);
    let mut session = session_with(|options| options.threads = false);
    session.attach(pid).unwrap();
    let leaf = symbol(&session, pid, "leaf");
    let threads: Vec<_> = session.process(pid).unwrap().threads().filter(|tid| *tid != pid.leader()).collect();
    assert_eq!(threads.len(), 3);
    // A breakpoint for each thread tells that it comes along; the last one counts all.
    for tid in threads {
        let mine = session.insert(pid, &[Spec::event(leaf).thread(tid).once()]).unwrap()[0].unwrap();
        let counted = session.insert(pid, &[Spec::count(leaf)]).unwrap()[0].unwrap();
        loop {
            let event = session.wait().unwrap().unwrap();
            let is_mine = matches!(&event.kind, EventKind::Hit(hit) if hit.is_of(mine));
            if event.is_held() {
                session.resume(event.tid).unwrap();
            }
            if is_mine {
                assert_eq!(event.tid, tid);
                break;
            }
        }
        session.remove(pid, &[counted]).unwrap();
    }
    count_for_a_while(&mut session, pid, &[leaf], 1000);
    session.detach(pid).unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"x").unwrap();
    assert_eq!(line(&mut out), "wrong 0 traps 0\n");
    assert!(child.wait().unwrap().success());
}
