//! Memory for records that is full: hits are lost and counted, or the latest ones stay.
#![cfg(target_arch = "x86_64")]

use std::collections::BTreeMap;

use ubp::{Buffer, EventKind, Method, Options, Patch, Record, Session, Spec, Tid, WhenFull};

use crate::common::*;
use crate::records::records_while_interrupted;

/// The least number of records.
const LEAST: u64 = 64;

fn with_buffer(when_full: WhenFull, records: u32) -> Session {
    let mut options = Options::default();
    options.signals = false;
    options.buffer = Buffer { when_full, records, stack: 0 };
    Session::with_options(options).unwrap()
}

/// Runs a program whose hits nobody takes before its end. Returns them, the number of those that were lost, and the hits that were counted.
fn recorded(mut session: Session, program: &str, args: &[&str], function: &str) -> (Vec<Record>, u64, u64) {
    let program = build(program, &["-pthread"]);
    let pid = session.spawn(piped(&program, args)).unwrap();
    let spec = Spec::record(symbol(&session, pid, function)).patch(Patch::Jump);
    let id = session.insert(pid, &[spec]).unwrap()[0].unwrap();
    assert_eq!(session.breakpoint(pid, id).unwrap().method(), Method::Jumped);
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = session.breakpoint(pid, id).unwrap().hits();
        }
    });
    assert_eq!(outcome.text().as_bytes(), undisturbed(&program, args).stdout);
    let records = session.take_records();
    assert!(session.take_records().is_empty());
    (records, session.lost_records(), hits)
}

#[test]
fn what_finds_no_room_is_lost_and_counted() {
    let session = with_buffer(WhenFull::Drop, 1);
    let (records, lost, hits) = recorded(session, "loop", &["50000"], "work");
    assert_eq!((records.len() as u64, lost, hits), (LEAST, 50_000 - LEAST, LEAST));
    assert!(records.iter().map(|record| record.arguments[0]).eq(0..LEAST));
}

#[test]
fn the_latest_records_stay_where_they_overwrite_the_oldest() {
    for (asked, room) in [(1, LEAST), (100, 128)] {
        let session = with_buffer(WhenFull::Overwrite, asked);
        let (records, lost, _) = recorded(session, "loop", &["50000"], "work");
        assert_eq!((records.len() as u64, lost), (room, 50_000 - room));
        assert!(records.iter().map(|record| record.arguments[0]).eq(50_000 - room..50_000));
    }
}

#[test]
fn records_that_were_taken_or_lost_are_all_hits_of_many_threads() {
    for when_full in [WhenFull::Wait, WhenFull::Drop, WhenFull::Overwrite] {
        let session = with_buffer(when_full, 256);
        let (records, lost, _) = recorded(session, "x86/tested", &["6000", "3"], "probe");
        assert_eq!(records.len() as u64 + lost, 24_000, "{when_full:?}");
        assert_eq!(lost == 0, when_full == WhenFull::Wait, "{when_full:?}: {lost}");
        let mut threads = BTreeMap::<Tid, Vec<u64>>::new();
        for record in &records {
            threads.entry(record.tid).or_default().push(0_u64.wrapping_sub(record.arguments[2]));
        }
        for numbers in threads.values() {
            assert!(numbers.is_sorted_by(|a, b| a < b) && numbers.iter().all(|number| *number < 6000), "{when_full:?}");
        }
    }
}

#[test]
fn records_that_are_taken_meanwhile_and_lost_ones_are_all_hits() {
    for when_full in [WhenFull::Drop, WhenFull::Overwrite] {
        let mut session = with_buffer(when_full, 64);
        let pid = session.spawn(piped(&build("x86/tested", &["-pthread"]), &["40000", "3"])).unwrap();
        let spec = Spec::record(symbol(&session, pid, "probe")).patch(Patch::Jump);
        session.insert(pid, &[spec]).unwrap()[0].unwrap();
        session.resume(pid.leader()).unwrap();
        let mut records = 0;
        while session.process(pid).is_some() {
            records += session.take_records().len() as u64;
            if let Some(event) = session.poll().unwrap().filter(|event| event.is_held()) {
                session.resume(event.tid).unwrap();
            }
        }
        records += session.take_records().len() as u64;
        assert_eq!(records + session.lost_records(), 160_000, "{when_full:?}: {records}");
    }
}

#[test]
fn interruptions_and_signals_neither_lose_nor_repeat_a_record_that_has_room() {
    for when_full in [WhenFull::Drop, WhenFull::Overwrite] {
        // A run may end before the second interruption.
        let stops = |_| records_while_interrupted(with_buffer(when_full, 1 << 16), 50_000);
        assert!((0..20).map(stops).any(|stops| stops > 1), "{when_full:?}");
    }
}
