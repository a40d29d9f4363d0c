//! Jumps whose trampolines count at instructions behind the bytes that the jump replaces.
#![cfg(target_arch = "x86_64")]

use std::fs::File;
use std::os::unix::fs::FileExt;

use ubp::{Address, EventKind, Method, NoJump, Patch, Session, Spec};

use crate::common::*;
use crate::{KINDS, auto, by_ptrace, outlived};

/// The number of instructions of `block` in further.c.
const INSTRUCTIONS: usize = 10;
/// Rounds after which no instruction has been entered too often, and such after which each has been.
const FEW: u64 = 6;
const MANY: u64 = 200;

/// The arrivals at each instruction of a function, and how it is passed, in a run of further.c; `only` is its second argument.
fn told(
    session: fn() -> Session,
    kind: fn(Address) -> Spec,
    function: &str,
    rounds: u64,
    only: &str,
) -> Vec<(u64, Method, Option<NoJump>)> {
    let program = build("x86/further", &[]);
    let args = [&rounds.to_string(), only];
    let mut session = session();
    let pid = session.spawn(piped(&program, &args)).unwrap();
    let base = load_address(&session, pid);
    let sites = instructions(&program, function).into_iter().map(|at| Address(base + at));
    let specs: Vec<_> = sites.map(|at| kind(at).patch(Patch::Auto)).collect();
    assert!(session.insert(pid, &specs).unwrap().iter().all(Result::is_ok));
    session.resume(pid.leader()).unwrap();
    let mut seen = Vec::new();
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            let all = session.breakpoints(pid);
            seen = all.map(|breakpoint| (breakpoint.arrivals(), breakpoint.method(), breakpoint.no_jump())).collect();
        }
    });
    assert_eq!(exit_of(&outcome), EventKind::Exited(0));
    assert_eq!(outcome.text(), String::from_utf8_lossy(&undisturbed(&program, &args).stdout));
    seen
}

type Kind = fn(Address) -> Spec;

/// All kinds of breakpoints, in programs that end with the tracer and in such that outlive it.
fn everywhere() -> impl Iterator<Item = (Kind, fn() -> Session)> {
    [by_ptrace, outlived].into_iter().flat_map(|session: fn() -> Session| KINDS.map(|kind| (kind, session)))
}

#[test]
fn one_jump_counts_at_each_instruction_of_a_block_wherever_threads_enter_it() {
    for (kind, session) in everywhere() {
        let seen = told(session, kind, "block", FEW, "-1");
        let expected: Vec<_> = (1..=INSTRUCTIONS as u64).map(|entries| (entries * FEW, Method::Jumped, None)).collect();
        assert_eq!(seen, expected);
    }
}

#[test]
fn a_block_that_is_entered_everywhere_again_and_again_is_counted_right() {
    for (kind, session) in everywhere() {
        let seen: Vec<u64> =
            told(session, kind, "block", MANY, "-1").into_iter().map(|(arrivals, ..)| arrivals).collect();
        let expected: Vec<u64> = (1..=INSTRUCTIONS as u64).map(|entries| entries * MANY).collect();
        assert_eq!(seen, expected);
    }
}

#[test]
fn a_jump_ends_where_threads_enter_its_run_again_and_again_and_another_begins_there() {
    // `cmc`, behind `inc`, `add` and `lea`.
    const ENTERED: usize = 3;
    for kind in KINDS {
        let program = build("x86/further", &[]);
        let mut session = by_ptrace();
        let pid = session.spawn(piped(&program, &[&MANY.to_string(), &ENTERED.to_string()])).unwrap();
        let base = load_address(&session, pid);
        let sites: Vec<Address> = instructions(&program, "block").into_iter().map(|at| Address(base + at)).collect();
        let specs: Vec<_> = sites.iter().map(|at| auto(kind(*at))).collect();
        let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
        let behind = symbol(&session, pid, "around");
        session.insert(pid, &[Spec::event(behind)]).unwrap()[0].unwrap();
        let opcode = |site: Address| {
            let mut byte = [0];
            let memory = File::open(format!("/proc/{}/mem", pid.leader().0)).unwrap();
            memory.read_exact_at(&mut byte, site.0).unwrap();
            byte[0]
        };
        // Jumps, and a breakpoint instruction, as they stand in memory.
        assert_eq!([sites[0], sites[ENTERED]].map(opcode), [0xe9, 0xcc]);
        session.resume(pid.leader()).unwrap();
        let (mut seen, mut arrivals) = (Vec::new(), Vec::new());
        run(&mut session, pid, |session, event| match event.kind {
            EventKind::Hit(_) => seen.push([sites[0], sites[ENTERED]].map(opcode)),
            EventKind::Exited(_) => {
                arrivals = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().arrivals()).collect();
            }
            _ => {}
        });
        assert_eq!(seen, [[0xe9, 0xe9]]);
        let expected = (0..INSTRUCTIONS).map(|number| if number < ENTERED { MANY } else { 2 * MANY });
        assert_eq!(arrivals, expected.collect::<Vec<u64>>());
    }
}

#[test]
fn a_loop_within_a_run_is_counted_round_by_round() {
    for (kind, session) in everywhere() {
        let seen: Vec<u64> =
            told(session, kind, "around", MANY, "0").into_iter().map(|(arrivals, ..)| arrivals).collect();
        assert_eq!(seen, [1, 1, 1, MANY, MANY, MANY, MANY, 1]);
    }
}

#[test]
fn a_branch_before_a_site_into_the_bytes_of_its_jump_is_known() {
    let program = build("x86/further", &[]);
    let mut session = by_ptrace();
    let pid = session.spawn(piped(&program, &["1"])).unwrap();
    let base = load_address(&session, pid);
    let sites: Vec<Address> = instructions(&program, "forward").into_iter().map(|at| Address(base + at)).collect();
    // `mov`, `inc` and `lea`; the branch is behind `mov` and `test`.
    let specs = [0, 3, 4].map(|number| auto(Spec::count(sites[number])));
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    let reasons: Vec<_> = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().no_jump()).collect();
    assert_eq!(reasons, [None, Some(NoJump::BranchTarget(sites[2])), None]);
    session.resume(pid.leader()).unwrap();
    let mut hits = Vec::new();
    run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().hits()).collect();
        }
    });
    assert_eq!(hits, [2, 1, 2]);
}
