//! Hits that are summed up in the kernel, or by the session where it holds their threads.

mod common;

use std::collections::BTreeMap;

use common::*;
use ubp::core::Buckets;
use ubp::{
    Aggregated, Aggregation, AggregationError, AggregationKey, Comparison, Error, EventKind, InsertReason, Mechanism,
    Operand, Options, Pid, Session, Spec,
};

/// Tests of a machine with the module; on others each is skipped by name.
macro_rules! kernel_tests {
    ($($name:ident $body:block)*) => {$(
        #[test]
        fn $name() {
            if !std::path::Path::new("/dev/ntrace").exists() {
                return skip(stringify!($name), "no /dev/ntrace");
            }
            $body
        }
    )*};
}

fn argument() -> Operand {
    Operand::Register(machine::ARGUMENTS[0])
}

fn low(size: u8) -> AggregationKey {
    AggregationKey::Value(Operand::Part { register: machine::ARGUMENTS[0], size })
}

/// Number and sum by key.
fn shown(aggregated: &Aggregated) -> BTreeMap<Vec<u64>, (u64, u128)> {
    aggregated.rows.iter().map(|(key, values)| (key.clone(), (values.count(), values.sum()))).collect()
}

/// Runs the program to its end and resumes what is held.
fn finish(session: &mut Session, pid: Pid) {
    session.resume(pid.leader()).unwrap();
    run(session, pid, |_, _| {});
}

kernel_tests! {
    hits_are_summed_up_by_process_location_and_value {
        let (mut session, pid, work) = at_work(&["300"]);
        let key = [AggregationKey::Process, AggregationKey::Location, low(1)];
        let declared = Aggregation::new(key).value(argument()).histogram(Buckets::Log2);
        let id = session.aggregate(&declared).unwrap();
        session.insert(pid, &[Spec::count(work).aggregate(id)]).unwrap()[0].unwrap();
        finish(&mut session, pid);
        let aggregated = session.aggregated(id).unwrap();
        let mut expected = BTreeMap::<Vec<u64>, (u64, u128)>::new();
        for call in 0..300_u64 {
            let row = expected.entry(vec![pid.0 as u64, work.0, call & 0xff]).or_default();
            *row = (row.0 + 1, row.1 + u128::from(call));
        }
        assert_eq!((shown(&aggregated), &aggregated.other), (expected, &None));
        // 5 and 261.
        let (_, five) = aggregated.rows.iter().find(|(key, _)| key[2] == 5).unwrap();
        let histogram: Vec<(u64, u64)> = five.histogram().iter().map(|b| (*b.values.start(), b.count)).collect();
        assert_eq!((histogram[0], *histogram.last().unwrap()), ((4, 1), (256, 1)));
        assert_eq!((five.least(), five.largest(), five.mean()), (Some(5), Some(261), Some(133)));
        assert_eq!(session.take_aggregated(id).unwrap(), aggregated);
        assert!(session.aggregated(id).unwrap().rows.is_empty());
    }

    a_condition_chooses_what_is_summed_up_and_more_keys_than_rows_share_one {
        let (mut session, pid, work) = at_work(&["100"]);
        let id = session.aggregate(&Aggregation::new([low(8)]).most(3)).unwrap();
        let odd = argument().is(Comparison::HasBits, 1).and(argument().is(Comparison::Below, 50));
        let counted = session.insert(pid, &[Spec::count(work).when(odd).aggregate(id)]).unwrap()[0].unwrap();
        finish(&mut session, pid);
        let Aggregated { rows, other, .. } = session.aggregated(id).unwrap();
        let keys: Vec<u64> = rows.iter().map(|(key, _)| key[0]).collect();
        assert_eq!((keys, other.map(|other| other.count())), (vec![1, 3, 5], Some(22)));
        assert_eq!(session.breakpoint(pid, counted).map_or(25, |breakpoint| breakpoint.hits()), 25);
    }

    hits_at_which_the_session_holds_the_thread_are_summed_up_too {
        let (mut session, pid, work) = at_work(&["40"]);
        let declared = Aggregation::new([AggregationKey::Thread]).value(argument());
        let id = session.aggregate(&declared).unwrap();
        let even = argument().is(Comparison::Equal, 3).or(argument().is(Comparison::Equal, 9));
        let specs = [
            Spec::count(work).aggregate(id),
            Spec::event(work).when(even).aggregate(id),
            Spec::count(work).ignore(38).aggregate(id),
        ];
        assert!(session.insert(pid, &specs).unwrap().iter().all(Result::is_ok));
        session.resume(pid.leader()).unwrap();
        let mut told = 0;
        run(&mut session, pid, |_, event| told += u32::from(matches!(event.kind, EventKind::Hit(_))));
        let all = (0..40).sum::<u128>() + 3 + 9 + 38 + 39;
        assert_eq!(shown(&session.aggregated(id).unwrap()), [(vec![pid.0 as u64], (44, all))].into());
        assert_eq!(told, 2);
    }

    children_add_to_the_aggregation_of_their_parent {
        let mut session = session();
        let program = build("forks", &[]);
        let plain = undisturbed(&program, &["fork"]);
        let pid = session.spawn(piped(&program, &["fork"])).unwrap();
        let work = symbol(&session, pid, "work");
        let id = session.aggregate(&Aggregation::new([AggregationKey::Process])).unwrap();
        let by_one = session.aggregate(&Aggregation::new([])).unwrap();
        session.insert(pid, &[Spec::count(work).aggregate(id)]).unwrap()[0].unwrap();
        session.resume(pid.leader()).unwrap();
        let mut hits = BTreeMap::new();
        let outcome = run(&mut session, pid, |session, event| {
            if let EventKind::Exited(_) | EventKind::Killed(_) = event.kind {
                let of_process: u64 = session.breakpoints(event.pid).map(|breakpoint| breakpoint.hits()).sum();
                hits.insert(vec![event.pid.0 as u64], of_process);
            }
        });
        assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
        let counted: BTreeMap<Vec<u64>, u64> =
            shown(&session.aggregated(id).unwrap()).into_iter().map(|(key, (count, _))| (key, count)).collect();
        hits.retain(|_, hits| *hits > 0);
        assert_eq!((counted.len(), &counted), (11, &hits));
        assert!(session.aggregated(by_one).unwrap().rows.is_empty());
    }

    what_cannot_be_summed_up_is_refused_with_its_reason {
        let (mut session, pid, work) = at_work(&["1"]);
        let refused = |session: &mut Session, declared: Aggregation| match session.aggregate(&declared) {
            Err(Error::Aggregation(error)) => error,
            other => panic!("{other:?}"),
        };
        let keys = vec![AggregationKey::Thread; 5];
        assert_eq!(refused(&mut session, Aggregation::new(keys)), AggregationError::TooManyKeys(5));
        assert_eq!(refused(&mut session, Aggregation::new([]).most(0)), AggregationError::Shape);
        assert_eq!(refused(&mut session, Aggregation::new([]).value(Operand::Arrivals)), AggregationError::Arrivals);
        assert_eq!(refused(&mut session, Aggregation::new([]).most(u32::MAX)), AggregationError::TooMany);
        let bad = Operand::Memory { base: None, offset: 0, size: 3 };
        assert!(matches!(refused(&mut session, Aggregation::new([]).value(bad)), AggregationError::Operand(_)));
        let id = session.aggregate(&Aggregation::new([])).unwrap();
        let spec = Spec::count(work).aggregate(id);
        session.insert(pid, std::slice::from_ref(&spec)).unwrap()[0].unwrap();
        session.end_aggregation(id).unwrap();
        let answer = session.insert(pid, &[spec]).unwrap()[0];
        assert_eq!(answer.unwrap_err().reason, InsertReason::NoSuchAggregation);
        assert!(matches!(session.aggregated(id), Err(Error::Aggregation(AggregationError::Unknown))));
        finish(&mut session, pid);
    }
}

#[test]
fn what_jumps_cannot_sum_up_is_unsupported_over_ptrace_and_says_so() {
    let mut session = Session::open(Mechanism::Ptrace, Options::default()).unwrap();
    let by = |key: &[AggregationKey]| Aggregation::new(key.to_vec()).value(argument());
    let linear = Buckets::Linear { start: 0, width: 1, count: 4 };
    let memory = Operand::Memory { base: Some(machine::ARGUMENTS[0]), offset: 0, size: 8 };
    for (declared, what) in [
        (Aggregation::new([]), "whole register"),
        (by(&[]).value(memory), "whole register"),
        (by(&[AggregationKey::Thread]), "threads or values"),
        (by(&[low(1)]), "threads or values"),
        (by(&[]).histogram(linear), "equal width"),
    ] {
        let refused = session.aggregate(&declared);
        assert!(matches!(refused, Err(Error::Unsupported { mechanism: Mechanism::Ptrace, .. })), "{refused:?}");
        // On arm64 jumps sum nothing up.
        let told = refused.unwrap_err().to_string();
        assert!(told.contains(what) || cfg!(target_arch = "aarch64") && told.contains("whole register"), "{told}");
    }
}
