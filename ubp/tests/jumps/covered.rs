//! Branches into the bytes that jumps cover.
#![cfg(target_arch = "x86_64")]

use std::collections::BTreeMap;

use ubp::{EventKind, InsertReason, Method, NoJump, Patch, Spec};

use crate::common::*;
use crate::{KINDS, by_ptrace, jump};

/// The functions of covered.c into which it branches, and at how many boundaries.
const FUNCTIONS: [(&str, u64); 5] = [("ones", 5), ("twos", 3), ("threes", 2), ("fours", 2), ("skip", 2)];

/// What a run says: the output, and the hits and the way of each function.
fn counted(rounds: u64, flags: &[&str], options: ubp::Options) -> BTreeMap<&'static str, (u64, Method)> {
    let mut all = KINDS.map(|kind| told(kind, rounds, 0, flags, &options));
    assert!(all.iter().all(|told| *told == all[0]), "{all:?}");
    std::mem::take(&mut all[0])
}

/// The same for one kind of breakpoint. The number is that of arrivals.
fn told(
    kind: fn(ubp::Address) -> Spec,
    rounds: u64,
    period: u64,
    flags: &[&str],
    options: &ubp::Options,
) -> BTreeMap<&'static str, (u64, Method)> {
    let program = build("x86/covered", flags);
    let args = [rounds.to_string(), period.to_string()];
    let args = [args[0].as_str(), args[1].as_str()];
    let mut session = ubp::Session::with_options(*options).unwrap();
    let pid = session.spawn(piped(&program, &args)).unwrap();
    let base = if is_pie(&program) { load_address(&session, pid) } else { 0 };
    let symbols = symbols(&program);
    let specs = FUNCTIONS.map(|(name, _)| kind(ubp::Address(base + symbols[name])).patch(Patch::Jump));
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    session.resume(pid.leader()).unwrap();
    let mut seen = BTreeMap::new();
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            for ((name, _), id) in FUNCTIONS.iter().zip(&ids) {
                let breakpoint = session.breakpoint(pid, *id).unwrap();
                seen.insert(*name, (breakpoint.arrivals(), breakpoint.method()));
                let hits = [breakpoint.arrivals(), 0];
                assert!(hits.contains(&breakpoint.hits()), "{breakpoint:?}");
            }
        }
    });
    assert_eq!(exit_of(&outcome), EventKind::Exited(0));
    assert_eq!(outcome.text(), String::from_utf8_lossy(&undisturbed(&program, &args).stdout));
    seen
}

fn options() -> ubp::Options {
    let mut options = ubp::Options::default();
    options.signals = false;
    options
}

/// Rounds after which no jump has been entered too often, and such after which each has been.
const FEW: u64 = 6;
const MANY: u64 = 200;

#[test]
fn whoever_branches_into_a_jump_goes_on_as_without_it() {
    for flags in [&[][..], &["-no-pie"], &["-static"]] {
        let seen = counted(FEW, flags, options());
        assert!(seen.values().all(|seen| *seen == (FEW, Method::Jumped)), "{flags:?}: {seen:?}");
    }
}

#[test]
fn a_jump_that_is_entered_again_and_again_becomes_a_breakpoint_instruction() {
    let seen = counted(MANY, &[], options());
    assert!(seen.values().all(|(hits, method)| *hits == MANY && *method != Method::Jumped), "{seen:?}");
}

#[test]
fn a_program_that_outlives_the_tracer_has_jumps_of_int3_alone() {
    let mut options = options();
    options.exit_kill = false;
    let seen = counted(FEW, &[], options);
    assert!(seen.values().all(|seen| *seen == (FEW, Method::Jumped)), "{seen:?}");
}

#[test]
fn a_handler_sees_no_pc_of_the_tracers() {
    for flags in [&[][..], &["-no-pie"]] {
        for kind in KINDS {
            told(kind, FEW, 1000, flags, &options());
        }
    }
}

#[test]
fn a_function_whose_loop_begins_within_the_jump_has_none() {
    let program = build("x86/covered", &[]);
    let mut session = by_ptrace();
    let pid = session.spawn(piped(&program, &["5", "0"])).unwrap();
    let site = symbol(&session, pid, "loop");
    let refused = session.insert(pid, &[jump(site)]).unwrap()[0].unwrap_err().reason;
    // mov %edi, %eax; add $3, %eax; dec %edi; jnz
    assert_eq!(refused, InsertReason::NoJump(NoJump::BranchTarget(site + 7)));
    let id = session.insert(pid, &[Spec::count(site).patch(Patch::Auto)]).unwrap()[0].unwrap();
    assert_eq!(session.breakpoint(pid, id).unwrap().no_jump(), Some(NoJump::BranchTarget(site + 7)));
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = session.breakpoint(pid, id).unwrap().hits();
        }
    });
    assert_eq!(hits, 5);
}
