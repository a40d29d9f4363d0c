//! Hits that jumps sum up: what they make is what traps make, and nothing is lost or added.
#![cfg(target_arch = "x86_64")]

use std::collections::BTreeMap;

use insn::x86::Reg;
use ubp::core::Buckets;
use ubp::rules::Aggregate;
use ubp::{
    Address, Aggregated, Aggregation, AggregationId, AggregationKey, Comparison, EventKind, Method, NoJump, Operand,
    Patch, Pid, Session, Spec,
};

use crate::common::*;
use crate::{by_ptrace, outlived};

fn declared(register: Reg) -> Aggregation {
    let key = [AggregationKey::Process, AggregationKey::Location];
    Aggregation::new(key).value(Operand::Register(register)).histogram(Buckets::Log2)
}

/// A program at its start with an aggregation of a register at a function.
fn started(
    mut session: Session,
    program: &str,
    args: &[&str],
    (function, register): (&str, Reg),
    patch: Patch,
) -> (Session, Pid, AggregationId, Address) {
    let program = build(program, &["-pthread"]);
    let pid = session.spawn(piped(&program, args)).unwrap();
    let site = symbol(&session, pid, function);
    let id = session.aggregate(&declared(register)).unwrap();
    let spec = Spec::count(site).aggregate(id).patch(patch);
    let breakpoint = session.insert(pid, &[spec]).unwrap()[0].unwrap();
    let is_jump = session.breakpoint(pid, breakpoint).unwrap().method() == Method::Jumped;
    assert_eq!(is_jump, patch == Patch::Jump);
    session.resume(pid.leader()).unwrap();
    (session, pid, id, site)
}

/// What tested.c gives `probe` as its third argument in `threads` threads: huge numbers, whose sum needs more than a word.
fn model(key: Vec<u64>, rounds: u64, threads: u64) -> Aggregated {
    let mut all = Aggregate::new(1).with_histogram(Buckets::Log2);
    let numbers = (0..threads).flat_map(|_| 0..rounds);
    numbers.for_each(|number| all.add(key.clone(), number.wrapping_neg()));
    all.read()
}

#[test]
fn a_jump_sums_up_what_several_threads_have() {
    let rounds = 30_000;
    for make in [by_ptrace, outlived] {
        let (mut session, pid, id, site) =
            started(make(), "x86/tested", &[&rounds.to_string(), "3"], ("probe", Reg::RDX), Patch::Jump);
        let mut hits = 0;
        run(&mut session, pid, |session, event| {
            if let EventKind::Exited(_) = event.kind {
                hits = session.breakpoints(pid).map(|breakpoint| breakpoint.hits()).sum();
            }
        });
        let expected = model(vec![pid.0 as u64, site.0], rounds, 4);
        assert_eq!(hits, 4 * rounds);
        assert_eq!(session.aggregated(id).unwrap(), expected);
        assert_eq!(session.take_aggregated(id).unwrap(), expected);
        assert!(session.aggregated(id).unwrap().rows.is_empty());
    }
}

#[test]
fn a_jump_sums_up_what_a_trap_does_in_any_register() {
    for register in [Reg::RDI, Reg::RAX, Reg::RCX, Reg::RDX, Reg::gpr(9)] {
        let by = |patch| {
            let (mut session, pid, id, _) = started(by_ptrace(), "x86/tested", &["300"], ("probe", register), patch);
            run(&mut session, pid, |_, _| {});
            let rows = session.aggregated(id).unwrap().rows;
            assert_eq!((rows.len(), rows[0].1.count()), (1, 300));
            rows[0].1.clone()
        };
        assert_eq!(by(Patch::Jump), by(Patch::Trap), "{register:?}");
    }
}

#[test]
fn each_hit_is_in_one_of_the_results_that_are_taken_while_threads_run() {
    let rounds = 400_000;
    let (mut session, pid, id, site) =
        started(by_ptrace(), "x86/tested", &[&rounds.to_string(), "3"], ("probe", Reg::RDX), Patch::Jump);
    let mut all = Aggregate::new(1).with_histogram(Buckets::Log2);
    let mut parts = 0;
    loop {
        let taken = session.take_aggregated(id).unwrap();
        parts += taken.rows.len();
        for (key, values) in &taken.rows {
            let in_buckets: u64 = values.histogram().iter().map(|bucket| bucket.count).sum();
            assert_eq!(values.count(), in_buckets);
            assert!(values.least() <= values.largest(), "{values:?}");
            all.add_all(key.clone(), values);
        }
        match session.poll().unwrap() {
            Some(event) if matches!(event.kind, EventKind::Exited(_)) => break,
            Some(event) => session.resume(event.tid).unwrap_or(()),
            None => {}
        }
    }
    session.take_aggregated(id).unwrap().rows.iter().for_each(|(key, values)| all.add_all(key.clone(), values));
    assert!(parts > 1, "{parts}");
    assert_eq!(all.read(), model(vec![pid.0 as u64, site.0], rounds, 4));
}

#[test]
fn a_result_without_new_hits_stops_no_thread() {
    let program = build("x86/tested", &[]);
    let (mut child, mut out) = start(&program, &["10", "0", "waits"]);
    assert_eq!(line(&mut out), "ready\n");
    let mut session = by_ptrace();
    let pid = session.attach(Pid(child.id() as i32)).unwrap();
    let id = session.aggregate(&declared(Reg::RDX)).unwrap();
    let site = symbol(&session, pid, "probe");
    session.insert(pid, &[Spec::count(site).aggregate(id).patch(Patch::Jump)]).unwrap()[0].unwrap();
    // The thread waits in the kernel, and each stop is one more wait.
    let status = |key: &str| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", pid.0)).unwrap();
        status.lines().find(|line| line.starts_with(key)).unwrap().to_owned()
    };
    while !status("State").contains("S (") {
        let _ = session.poll().unwrap();
    }
    let waits = || status("voluntary_ctxt_switches");
    let before = waits();
    for _ in 0..10 {
        assert!(session.take_aggregated(id).unwrap().rows.is_empty());
    }
    assert_eq!(waits(), before);
    session.detach(pid).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// Signals that find threads anywhere in the code of jumps.
#[test]
fn signals_and_stops_in_the_code_of_sums_change_none() {
    let program = build("threads", &["-pthread"]);
    let sums = |patch, rounds: &str, period: &str, stops: u64| {
        let mut session = by_ptrace();
        let pid = session.spawn(piped(&program, &[rounds, period])).unwrap();
        let base = load_address(&session, pid);
        let id = session.aggregate(&declared(Reg::RDI)).unwrap();
        let sites = instructions(&program, "leaf").into_iter();
        let specs: Vec<Spec> = sites.map(|at| Spec::count(Address(base + at)).aggregate(id).patch(patch)).collect();
        assert!(session.insert(pid, &specs).unwrap().iter().all(Result::is_ok));
        let jumps = session.breakpoints(pid).filter(|b| b.method() == Method::Jumped).count();
        assert_eq!(jumps > 0, patch == Patch::Auto);
        session.resume(pid.leader()).unwrap();
        let mut left = stops;
        if left > 0 {
            session.interrupt(pid).unwrap();
        }
        let outcome = run(&mut session, pid, |session, event| {
            if event.kind == EventKind::Interrupted && left > 0 {
                left -= 1;
                let _ = session.interrupt(pid);
            }
        });
        let taken = session.take_aggregated(id).unwrap();
        // The load address and the process differ.
        let rows: BTreeMap<u64, _> = taken.rows.iter().map(|(key, values)| (key[1] - base, values.clone())).collect();
        (rows, outcome.text().to_string())
    };
    let by_traps = sums(Patch::Trap, "400", "0", 0);
    assert_eq!(sums(Patch::Auto, "400", "0", 400), by_traps);
    let alone = sums(Patch::Auto, "60000", "0", 0);
    assert_eq!(sums(Patch::Auto, "60000", "100", 200), alone);
}

#[test]
fn children_and_new_programs_have_rows_of_their_own() {
    let program = build("forks", &["-pthread"]);
    for case in ["fork", "vfork", "spawn", "threads"] {
        let sums = |patch| {
            let mut session = by_ptrace();
            let pid = session.spawn(piped(&program, &[case])).unwrap();
            let work = symbol(&session, pid, "work");
            let id = session.aggregate(&declared(Reg::RDI)).unwrap();
            session.insert(pid, &[Spec::count(work).aggregate(id).patch(patch)]).unwrap()[0].unwrap();
            session.resume(pid.leader()).unwrap();
            let outcome = run(&mut session, pid, |_, _| {});
            let mut rows: Vec<(bool, String)> = Vec::new();
            for (key, values) in session.aggregated(id).unwrap().rows {
                assert_eq!(key[1], work.0);
                rows.push((key[0] == pid.0 as u64, format!("{values:?}")));
            }
            rows.sort();
            (rows, outcome.text().to_string())
        };
        let by_traps = sums(Patch::Trap);
        assert!(by_traps.0.len() >= if case == "fork" { 11 } else { 1 }, "{by_traps:?}");
        assert_eq!(sums(Patch::Jump), by_traps, "{case}");
    }
}

#[test]
fn a_program_that_is_left_or_killed_keeps_its_sums() {
    for kills in [false, true] {
        let (mut session, pid, id, _) =
            started(by_ptrace(), "x86/tested", &["2000000000"], ("probe", Reg::RDX), Patch::Jump);
        while session.aggregated(id).unwrap().total() < 1000 {
            if let Some(event) = session.poll().unwrap() {
                session.resume(event.tid).unwrap();
            }
        }
        session.stop(pid).unwrap();
        let hits: u64 = session.breakpoints(pid).map(|breakpoint| breakpoint.hits()).sum();
        let before = session.aggregated(id).unwrap();
        assert_eq!(before.total(), hits);
        let expected: u128 = (0..u128::from(hits)).map(|number| u128::from((number as u64).wrapping_neg())).sum();
        assert_eq!(before.rows[0].1.sum(), expected);
        if kills {
            kill(pid);
            run(&mut session, pid, |_, _| {});
        } else {
            session.detach(pid).unwrap();
            kill(pid);
        }
        assert_eq!(session.take_aggregated(id).unwrap(), before);
    }
}

/// Breakpoints at an address that name an aggregation.
type Specs<'a> = dyn Fn(Address, AggregationId) -> Vec<Spec> + 'a;

#[test]
fn what_the_code_of_a_jump_cannot_sum_up_a_trap_does() {
    let odd = Operand::Register(Reg::RDI).is(Comparison::HasBits, 1);
    let cases: [(&Specs<'_>, Option<NoJump>, u64, u128); 5] = [
        (&|at, id| vec![Spec::count(at).aggregate(id); 2], Some(NoJump::Sums), 200, 9900),
        (&|at, id| vec![Spec::count(at).aggregate(id), Spec::record(at)], Some(NoJump::Records), 100, 4950),
        (&|at, id| vec![Spec::record(at).aggregate(id)], Some(NoJump::Sums), 100, 4950),
        (&|at, id| vec![Spec::count(at).aggregate(id).ignore(98)], Some(NoJump::Sums), 2, 98 + 99),
        (&|at, id| vec![Spec::count(at).aggregate(id).when(odd.clone())], None, 50, 2500),
    ];
    for (number, (specs, no_jump, count, sum)) in cases.into_iter().enumerate() {
        let mut session = by_ptrace();
        let pid = session.spawn(piped(&build("loop", &[]), &["100"])).unwrap();
        let work = symbol(&session, pid, "work");
        let id = session.aggregate(&declared(Reg::RDI)).unwrap();
        let specs: Vec<Spec> = specs(work, id).into_iter().map(|spec| spec.patch(Patch::Auto)).collect();
        let first = session.insert(pid, &specs).unwrap()[0].unwrap();
        let reason = session.breakpoint(pid, first).unwrap().no_jump();
        assert!(reason == no_jump || reason == Some(NoJump::Sums) && no_jump.is_some(), "{number}: {reason:?}");
        session.resume(pid.leader()).unwrap();
        run(&mut session, pid, |_, _| {});
        let rows = session.aggregated(id).unwrap().rows;
        assert_eq!((rows[0].1.count(), rows[0].1.sum()), (count, sum), "{number}");
    }
}

#[test]
fn breakpoints_that_come_and_go_at_the_site_change_no_sum() {
    let (mut session, pid, id, site) =
        started(by_ptrace(), "x86/tested", &["300000"], ("probe", Reg::RDX), Patch::Jump);
    for _ in 0..20 {
        let others = [Spec::count(site), Spec::count(Address(site.0 + 3))].map(|spec| spec.patch(Patch::Auto));
        let Ok(ids) = session.insert(pid, &others) else { break };
        while let Some(event) = session.poll().unwrap() {
            let _ = session.resume(event.tid);
        }
        let ids: Vec<_> = ids.into_iter().flatten().collect();
        let _ = session.remove(pid, &ids);
    }
    run(&mut session, pid, |_, _| {});
    assert_eq!(session.aggregated(id).unwrap(), model(vec![pid.0 as u64, site.0], 300_000, 1));
}
