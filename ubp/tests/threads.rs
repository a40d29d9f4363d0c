//! Many threads at the same sites.

mod common;

use common::*;
use ubp::{Address, EventKind, Spec};

/// Runs threads.c with a counting site on every instruction of its hot functions; checks output and exact counts.
fn eight_threads(rounds: u64, timer: &str) {
    let program = build("threads", &[]);
    let text = rounds.to_string();
    let mut session = session_with(|options| options.threads = false);
    let pid = session.spawn(piped(&program, &[&text, timer])).unwrap();
    let base = load_address(&session, pid);
    let mut specs = Vec::new();
    for function in ["hot", "leaf", "on_tick", "run"] {
        specs.extend(instructions(&program, function).into_iter().map(|at| Spec::count(Address(base + at))));
    }
    let leaf = symbol(&session, pid, "leaf");
    let hot = symbol(&session, pid, "hot");
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    session.resume(pid.leader()).unwrap();
    let mut hits = Vec::new();
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            for id in &ids {
                let breakpoint = session.breakpoint(pid, *id).unwrap();
                hits.push((breakpoint.address(), breakpoint.hits()));
            }
        }
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&undisturbed(&program, &[&text, "0"]).stdout));
    assert_eq!(exit_of(&outcome), EventKind::Exited(0));
    let count = |address| hits.iter().find(|hit| hit.0 == address).unwrap().1;
    assert_eq!(count(leaf), 8 * rounds);
    assert_eq!(count(hot), 8);
    // leaf is straight code: each of its instructions runs as often as the first.
    let end = hits.iter().filter(|hit| hit.0 > leaf).map(|hit| hit.0).min();
    if let Some(second) = end.filter(|second| *second - leaf < 16) {
        assert_eq!(count(second), 8 * rounds);
    }
}

#[test]
fn eight_threads_on_the_same_sites_miss_no_hit() {
    eight_threads(machine::ROUNDS, "0");
}

#[test]
fn a_signal_storm_neither_loses_nor_doubles_a_hit() {
    eight_threads(machine::ROUNDS, machine::TICK);
}
