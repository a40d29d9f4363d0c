//! Records of hits: those that jumps make are those that traps make, and none is lost.
#![cfg(target_arch = "x86_64")]

use std::collections::BTreeMap;

use insn::x86::Reg;
use ubp::{Comparison, Event, EventKind, Method, NoJump, Operand, Patch, Record, Report, Session, Spec, Tid};

use crate::common::*;
use crate::{by_ptrace, outlived};

/// Runs a program with breakpoints at a function, and returns their records and counts, and the output.
fn recorded(
    mut session: Session,
    program: &str,
    args: &[&str],
    function: &str,
    patch: Patch,
    spec: impl Fn(ubp::Address) -> Vec<Spec>,
    mut look: impl FnMut(&mut Session, &Event, &mut Vec<Record>),
) -> (Vec<Record>, Vec<(u64, u64)>, String) {
    let program = build(program, &["-pthread"]);
    let pid = session.spawn(piped(&program, args)).unwrap();
    let site = symbol(&session, pid, function);
    let specs: Vec<Spec> = spec(site).into_iter().map(|spec| spec.patch(patch)).collect();
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    let is_jump = session.breakpoint(pid, ids[0]).unwrap().method() == Method::Jumped;
    assert_eq!(is_jump, patch == Patch::Jump);
    session.resume(pid.leader()).unwrap();
    let (mut records, mut counts) = (Vec::new(), Vec::new());
    let outcome = run(&mut session, pid, |session, event| {
        look(session, event, &mut records);
        if let EventKind::Exited(_) = event.kind {
            counts =
                ids.iter().map(|id| session.breakpoint(pid, *id).unwrap()).map(|b| (b.hits(), b.arrivals())).collect();
        }
    });
    records.extend(session.take_records());
    (records, counts, outcome.text().to_string())
}

fn nothing(_: &mut Session, _: &Event, _: &mut Vec<Record>) {}

/// What is the same in each run of tested.c: pointers differ.
fn shown(record: &Record) -> String {
    let [first, _, third, ..] = record.arguments;
    format!("{first:x} {third:x} {:?} {:?}", record.text(1), record.return_address.is_some())
}

#[test]
fn a_record_by_a_jump_is_one_by_a_trap_wherever_the_arguments_point() {
    let by = |session, patch, texts: &[usize]| {
        let spec = |at| vec![Spec::record(at).with_text_of(texts.iter().copied())];
        let (records, counts, output) = recorded(session, "x86/tested", &["400"], "probe", patch, spec, nothing);
        assert!(records.is_sorted_by_key(|record| record.time));
        let has_others = |record: &Record| (0..6).any(|n| !texts.contains(&n) && !record.text(n).is_empty());
        assert!(!records.iter().any(has_others));
        (records.iter().map(shown).collect::<Vec<_>>(), counts, output)
    };
    for texts in [&[][..], &[1], &[5, 1], &[0, 1, 2, 3, 4, 5]] {
        let by_traps = by(by_ptrace(), Patch::Trap, texts);
        assert_eq!(by_traps.1, [(400, 400)]);
        assert_eq!(by(by_ptrace(), Patch::Jump, texts), by_traps);
        assert_eq!(by(outlived(), Patch::Jump, texts), by_traps);
        let lengths = by_traps.0.iter().filter(|shown| shown.contains("[0, 0, 0, 0]")).count();
        assert_eq!(
            lengths,
            if texts.is_empty() { 0 } else { 50 },
            "the memory ends four bytes behind one of eight pointers"
        );
    }
}

#[test]
fn no_record_is_lost_where_nobody_takes_any() {
    let calls = 50_000;
    let args = [calls.to_string()];
    let (records, counts, output) =
        recorded(by_ptrace(), "loop", &[&args[0]], "work", Patch::Jump, |at| vec![Spec::record(at)], nothing);
    assert_eq!(counts, [(calls, calls)]);
    let numbers: Vec<u64> = records.iter().map(|record| record.arguments[0]).collect();
    assert!(numbers.iter().copied().eq(0..calls));
    assert_eq!(output.as_bytes(), undisturbed(&build("loop", &["-pthread"]), &[&args[0]]).stdout);
}

#[test]
fn the_records_of_each_thread_are_in_its_order() {
    let spec = |at| vec![Spec::record(at).with_text()];
    let (records, counts, _) = recorded(by_ptrace(), "x86/tested", &["6000", "3"], "probe", Patch::Jump, spec, nothing);
    assert_eq!(counts, [(24_000, 24_000)]);
    let mut threads = BTreeMap::<Tid, Vec<u64>>::new();
    for record in &records {
        threads.entry(record.tid).or_default().push(0_u64.wrapping_sub(record.arguments[2]));
    }
    assert_eq!(threads.len(), 4);
    assert!(threads.values().all(|numbers| numbers.iter().copied().eq(0..6000)));
}

#[test]
fn records_are_taken_while_the_program_runs_and_before_an_event_of_the_thread() {
    let spec = |at| {
        let fifth = Operand::Register(Reg::RDI).is(Comparison::Equal, 500);
        vec![Spec::record(at), Spec::event(at).when(fifth)]
    };
    for patch in [Patch::Trap, Patch::Auto] {
        let mut before = None;
        let (records, counts, _) =
            recorded(by_ptrace(), "loop", &["1000"], "work", patch, spec, |session, event, records| {
                if let EventKind::Hit(_) = event.kind {
                    records.extend(session.take_records());
                    before = Some(records.len());
                }
            });
        assert_eq!(before, Some(501), "{patch:?}");
        assert_eq!(records.len(), 1000);
        assert_eq!(counts, [(1000, 1000), (1, 1000)]);
    }
}

#[test]
fn records_and_counts_at_one_site_are_made_by_traps() {
    let mut session = by_ptrace();
    let pid = session.spawn(piped(&build("loop", &[]), &["20"])).unwrap();
    let work = symbol(&session, pid, "work");
    let specs = [Spec::count(work), Spec::record(work)].map(|spec| spec.patch(Patch::Auto));
    for id in session.insert(pid, &specs).unwrap() {
        assert_eq!(session.breakpoint(pid, id.unwrap()).unwrap().no_jump(), Some(NoJump::Records));
    }
    session.resume(pid.leader()).unwrap();
    run(&mut session, pid, |_, _| {});
    assert_eq!(session.take_records().len(), 20);
}

#[test]
fn the_first_hits_are_ignored_and_a_condition_chooses() {
    let third = Operand::Part { register: Reg::RDI, size: 1 }.is(Comparison::HasBits, 3);
    for spec in [Spec::count, Spec::event] {
        let by = |patch| {
            let specs = |at| vec![spec(at).report(Report::Record).when(third.clone()).ignore(5)];
            let (records, counts, _) = recorded(by_ptrace(), "loop", &["100"], "work", patch, specs, nothing);
            (records.iter().map(|record| record.arguments[0]).collect::<Vec<_>>(), counts)
        };
        let by_jumps = by(Patch::Jump);
        assert_eq!(by_jumps.0[..2], [23, 27]);
        assert_eq!(by_jumps.1, [(25, 100)]);
        assert_eq!(by(Patch::Trap), by_jumps);
    }
    let ignoring = |at| vec![Spec::record(at).ignore(90)];
    let (records, counts, _) = recorded(by_ptrace(), "loop", &["100"], "work", Patch::Jump, ignoring, nothing);
    assert_eq!((records.len(), records[0].arguments[0]), (10, 90));
    assert_eq!(counts, [(100, 100)]);
}

#[test]
fn interruptions_and_signals_neither_lose_nor_repeat_a_record() {
    let stops = records_while_interrupted(by_ptrace(), 200_000);
    assert!(stops > 1, "one is asked for before the program runs");
}

/// Fails if a record is lost or comes twice while signals and interruptions come. Returns the number of interruptions.
pub(crate) fn records_while_interrupted(mut session: Session, calls: u64) -> u64 {
    let pid = session.spawn(piped(&build("loop", &[]), &[&calls.to_string()])).unwrap();
    let work = symbol(&session, pid, "work");
    let spec = Spec::record(work).patch(Patch::Jump);
    session.insert(pid, &[spec]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let (mut records, mut stops, mut seen) = (Vec::new(), 0, 0);
    session.interrupt(pid).unwrap();
    while session.process(pid).is_some() {
        records.extend(session.take_records());
        let Some(event) = session.poll().unwrap() else {
            // The thread has recorded something since the last interruption.
            if records.len() > seen {
                seen = records.len();
                // SAFETY: kill takes numbers.
                unsafe { libc::kill(pid.0, libc::SIGURG) };
                let _ = session.interrupt(pid);
            }
            continue;
        };
        stops += u64::from(event.kind == EventKind::Interrupted);
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
    records.extend(session.take_records());
    assert!(records.iter().map(|record| record.arguments[0]).eq(0..calls), "{} of {calls}", records.len());
    assert_eq!(session.lost_records(), 0);
    stops
}
