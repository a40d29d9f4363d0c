//! What is other where the place of one instruction is enough for a jump.
#![cfg(target_arch = "aarch64")]

use insn::arm64::Reg;
use trampoline::arm64::Refusal;
use ubp::Comparison::Equal;
use ubp::{Access, Address, BreakpointId, EventKind, InsertReason, Method, NoJump, Operand, Patch, Pid, Session, Spec};

use super::killed::{FUNCTIONS, kill, target, traced};
use super::life::code;
use crate::common::machine::TICK;
use crate::common::*;
use crate::{by_ptrace, end_of, jump, outlived};

#[test]
fn an_instruction_that_no_copy_can_stand_for_has_no_jump_and_says_why() {
    let program = build("arm64/branches", &[]);
    let mut session = by_ptrace();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let at = |name| symbol(&session, pid, name);
    let (svc, brk, blr, push, entry) = (at("at_svc"), at("at_trap"), at("at_blr"), at("at_push"), at("calls"));
    let cases = [
        (Spec::count(svc), NoJump::SystemCall(svc)),
        (Spec::count(brk), NoJump::OwnTrap(brk)),
        (Spec::count(blr), NoJump::TrampolineArm64(Refusal::CallThroughLink)),
        (Spec::count(push).when(Operand::Register(Reg::SP).is(Equal, 1)), NoJump::OnlyCounts),
        (Spec::record(push), NoJump::OnlyCounts),
    ];
    for (spec, reason) in cases {
        let refused = session.insert(pid, &[spec.clone().patch(Patch::Jump)]).unwrap()[0].unwrap_err().reason;
        assert_eq!(refused, InsertReason::NoJump(reason), "{spec:?}");
    }
    // A landing pad may be guarded later, where there are guarded pages.
    if let Err(error) = session.insert(pid, &[jump(entry)]).unwrap()[0] {
        assert_eq!(error.reason, InsertReason::NoJump(NoJump::TrampolineArm64(Refusal::LandingPad)));
    }
}

/// A process that outlives the tracer has jumps at branches, calls and returns too.
#[test]
fn every_kind_of_branch_is_counted_by_a_jump() {
    let program = build("arm64/branches", &[]);
    let sites = instructions(&program, "calls");
    for session in [by_ptrace, outlived] {
        let mut session = session();
        let pid = session.spawn(piped(&program, &[])).unwrap();
        let (base, brk) = (load_address(&session, pid), symbol(&session, pid, "at_trap"));
        let specs: Vec<Spec> = sites.iter().map(|at| Spec::count(Address(base + at)).patch(Patch::Auto)).collect();
        let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
        let jumps = ids.iter().filter(|id| session.breakpoint(pid, **id).unwrap().method() == Method::Jumped).count();
        // A system call, a trap, a call through the link register, and perhaps a landing pad have none.
        assert!(jumps >= ids.len() - 4, "{jumps}");
        session.resume(pid.leader()).unwrap();
        let mut hits = Vec::new();
        let outcome = run(&mut session, pid, |session, event| {
            if let EventKind::Exited(_) = event.kind {
                hits = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().hits()).collect();
            }
        });
        assert_eq!(outcome.text(), "100\n");
        let each = sites.iter().map(|site| if base + site == brk.0 { 0 } else { 100 });
        assert!(each.eq(hits.iter().copied()), "{hits:?}");
    }
}

/// The timer of a thousand signals a second stops threads in trampolines, which see their own code.
#[test]
fn threads_that_a_timer_interrupts_compute_what_they_compute_alone_and_are_counted_exactly() {
    let program = build("threads", &[]);
    let count = |period: &str, patch| {
        let mut session = by_ptrace();
        let pid = session.spawn(piped(&program, &["400", period])).unwrap();
        let base = load_address(&session, pid);
        let sites = ["leaf", "hot"].into_iter().flat_map(|function| instructions(&program, function));
        let specs: Vec<Spec> = sites.map(|at| Spec::count(Address(base + at)).patch(patch)).collect();
        let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
        session.resume(pid.leader()).unwrap();
        let mut hits = Vec::new();
        let outcome = run(&mut session, pid, |session, event| {
            if let EventKind::Exited(_) = event.kind {
                hits = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().hits()).collect();
            }
        });
        (hits, outcome.text().to_string())
    };
    let alone = undisturbed(&program, &["400", "0"]);
    let (hits, text) = count("1000", Patch::Auto);
    assert_eq!(text, String::from_utf8_lossy(&alone.stdout));
    assert_eq!((hits, text), count(TICK, Patch::Trap));
}

/// Sites on all instructions but those between a load-exclusive and its store-exclusive.
#[test]
fn an_exclusive_sequence_succeeds_between_jumps() {
    let program = build("arm64/exclusive", &[]);
    let mut session = by_ptrace();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let base = load_address(&session, pid);
    let sites = instructions(&program, "add").into_iter();
    let specs: Vec<Spec> = sites.map(|at| Spec::count(Address(base + at)).patch(Patch::Auto)).collect();
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().flatten().collect();
    assert!(ids.iter().all(|id| session.breakpoint(pid, *id).unwrap().method() == Method::Jumped));
    assert!(ids.len() >= 3 && ids.len() < specs.len(), "{}", ids.len());
    session.resume(pid.leader()).unwrap();
    let mut last = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            last = session.breakpoint(pid, ids[ids.len() - 1]).unwrap().hits();
        }
    });
    assert_eq!((outcome.text(), last), ("800\n", 800));
}

/// A watchpoint is told before the access, which the thread makes by a single step.
#[test]
fn a_watched_access_behind_a_jump_is_told_once_and_counted_once() {
    let program = build("watched", &[]);
    let mut session = by_ptrace();
    let pid = session.spawn(piped(&program, &["store", "20"])).unwrap();
    let base = load_address(&session, pid);
    let sites = ["store", "load"].iter().flat_map(|name| instructions(&program, name));
    let specs: Vec<Spec> = sites.map(|at| jump(Address(base + at))).collect();
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    let words = symbol(&session, pid, "words");
    if session.watch(pid, words, 8, Access::Write).is_err() {
        return skip("a_watched_access_behind_a_jump_is_told_once_and_counted_once", "no debug registers");
    }
    session.resume(pid.leader()).unwrap();
    let (mut told, mut hits) = (0, Vec::new());
    run(&mut session, pid, |session, event| match event.kind {
        EventKind::Watched { .. } => {
            let pc = session.registers(event.tid).unwrap().pc();
            assert!(instructions(&program, "store").contains(&(pc.0 - base)), "{pc}");
            told += 1;
        }
        EventKind::Exited(_) => hits = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().hits()).collect(),
        _ => {}
    });
    assert!(hits.iter().all(|hits| *hits == 20), "{hits:?}");
    assert_eq!(told, 20);
}

/// Sets jumps at all instructions of two functions of the process that the environment names.
fn jump_at_all(session: &mut Session, pid: Pid) -> Vec<BreakpointId> {
    let program = session.process(pid).unwrap().executable().to_path_buf();
    let base = load_address(session, pid);
    let sites = FUNCTIONS.iter().flat_map(|name| instructions(&program, name));
    let specs: Vec<Spec> = sites.map(|at| jump(Address(base + at))).collect();
    session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect()
}

/// Tracers for the test below, in their own processes.
#[test]
fn tracer_of_all() {
    let Some(pid) = target() else { return };
    let mut session = by_ptrace();
    session.attach(pid).unwrap();
    jump_at_all(&mut session, pid);
    println!("\njumps");
    while let Some(event) = session.wait().unwrap() {
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
}

#[test]
fn tracer_of_all_that_comes_and_goes() {
    let Some(pid) = target() else { return };
    let mut session = by_ptrace();
    session.attach(pid).unwrap();
    for round in 0_u64.. {
        let ids = jump_at_all(&mut session, pid);
        // Removed at once, and after some stops.
        for _ in 0..round % 3 {
            if let Some(event) = session.poll().unwrap().filter(|event| event.is_held()) {
                session.resume(event.tid).unwrap();
            }
        }
        session.remove(pid, &ids).unwrap();
        if round == 2 {
            println!("\njumps");
        }
    }
}

#[test]
fn a_program_runs_on_with_branches_in_the_place_of_all_its_instructions() {
    let program = build("killed", &[]);
    let (child, mut out) = start(&program, &[]);
    assert_eq!(line(&mut out), "ready\n");
    let pid = Pid(child.id() as i32);
    for tracer in ["arm64::tracer_of_all", "arm64::tracer_of_all_that_comes_and_goes"] {
        for _ in 0..3 {
            kill(traced(tracer, pid, 0));
        }
    }
    let mut session = by_ptrace();
    session.attach(pid).unwrap();
    assert!(code(&program, pid, &FUNCTIONS).values().all(|(there, own)| there == own));
    session.detach(pid).unwrap();
    assert_eq!(end_of(child, out), "wrong 0 traps 0\n");
}
