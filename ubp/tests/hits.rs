//! One arrival is one event; one-shot breakpoints, breakpoints of one thread, conditions of several comparisons.

mod common;

use common::*;
use ubp::{Comparison, Event, EventKind, Hit, Operand, Session, Signal, Spec};

fn hit_of(event: &Event) -> Option<&Hit> {
    match &event.kind {
        EventKind::Hit(hit) => Some(hit),
        _ => None,
    }
}

#[test]
fn an_arrival_at_several_breakpoints_is_one_event_with_the_count_of_each() {
    let (mut session, pid, work) = at_work(&["6"]);
    let fourth = Operand::Arrivals.is(Comparison::AboveOrEqual, 4);
    let specs = [Spec::event(work), Spec::count(work), Spec::event(work).when(fourth), Spec::event(work).ignore(5)];
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    session.resume(pid.leader()).unwrap();
    let mut seen = Vec::new();
    run(&mut session, pid, |session, event| {
        if let Some(hit) = hit_of(event) {
            assert_eq!((hit.id(), hit.count(), hit.address()), (ids[0], seen.len() as u64 + 1, work));
            assert_eq!(session.registers(event.tid).unwrap().pc(), work);
            assert!(!hit.is_of(ids[1]));
            seen.push(hit.breakpoints().map(|(id, count)| (id.0 - ids[0].0, count)).collect::<Vec<_>>());
        }
    });
    let first = |count| vec![(0, count)];
    let both = |count| vec![(0, count), (2, count - 3)];
    assert_eq!(seen, [first(1), first(2), first(3), both(4), both(5), vec![(0, 6), (2, 3), (3, 6)]]);
}

#[test]
fn a_signal_given_at_an_arrival_arrives_however_many_breakpoints_there_are() {
    for count in [1, 2, 3] {
        let (mut session, pid, work) = at_work(&["6"]);
        let specs: Vec<Spec> = (0..count).map(|_| Spec::event(work)).collect();
        session.insert(pid, &specs).unwrap();
        session.resume(pid.leader()).unwrap();
        loop {
            let event = session.wait().unwrap().unwrap();
            match &event.kind {
                EventKind::Hit(hit) => {
                    assert_eq!(hit.breakpoints().count(), count);
                    session.resume_with(event.tid, Some(Signal(libc::SIGUSR1))).unwrap();
                }
                EventKind::Loaded(_) => session.resume(event.tid).unwrap(),
                EventKind::ThreadExited => {}
                kind => {
                    assert_eq!(*kind, EventKind::Killed(Signal(libc::SIGUSR1)));
                    break;
                }
            }
        }
    }
}

#[test]
fn a_thread_that_is_moved_at_an_arrival_is_told_nothing_more_of_the_old_place() {
    let (mut session, pid, work) = at_work(&["7"]);
    session.insert(pid, &[0; 3].map(|_| Spec::event(work))).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut events = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if hit_of(event).is_some() {
            events += 1;
            let mut registers = session.registers(event.tid).unwrap();
            machine::return_at_once(session, pid, &mut registers, 10);
            session.set_registers(event.tid, &registers).unwrap();
        }
    });
    assert_eq!((outcome.text(), events), ("70\n", 7));
}

#[test]
fn at_the_function_that_the_loader_calls_the_loading_is_told_first_and_then_the_hit() {
    let library = build("plugin", &["-shared", "-fPIC"]);
    let library = library.to_str().unwrap();
    let program = build("code", &["-ldl"]);
    let plain = undisturbed(&program, &["load", library]);
    let mut session = Session::new().unwrap();
    let pid = session.spawn(piped(&program, &["load", library])).unwrap();
    let main = session.insert(pid, &[Spec::event(symbol(&session, pid, "main"))]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let (mut begun, mut place, mut told) = (false, None, Vec::new());
    let outcome = run(&mut session, pid, |session, event| match &event.kind {
        EventKind::Hit(hit) if hit.is_of(main) => begun = true,
        EventKind::Hit(hit) => told.push((Some(hit.address()), hit.count())),
        EventKind::Loaded(_) if begun => {
            let pc = session.registers(event.tid).unwrap().pc();
            if *place.get_or_insert(pc) == pc && told.is_empty() {
                session.insert(pid, &[Spec::event(pc)]).unwrap()[0].unwrap();
            }
            told.push((None, 0));
        }
        _ => {}
    });
    assert_eq!(outcome.output, plain.stdout);
    assert_eq!(told[..2], [(None, 0), (place, 1)], "{told:?}");
}

#[test]
fn a_one_shot_breakpoint_is_hit_once_and_its_place_is_as_if_it_had_never_been_there() {
    let (mut session, pid, work) = at_work(&["30"]);
    let third = Operand::Arrivals.is(Comparison::Equal, 3);
    let specs = [
        Spec::event(work).once(),
        Spec::count(work).once(),
        Spec::event(work).when(third).once(),
        Spec::event(work).ignore(6).once(),
    ];
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    session.resume(pid.leader()).unwrap();
    let (mut seen, mut ended) = (Vec::new(), Vec::new());
    let outcome = run(&mut session, pid, |session, event| {
        if let Some(hit) = hit_of(event) {
            seen.push((hit.id(), hit.count()));
            assert!(hit.breakpoints().all(|(id, _)| !session.breakpoint(pid, id).unwrap().is_active()));
        } else if let EventKind::Exited(_) = event.kind {
            ended = session.breakpoints(pid).map(|b| (b.hits(), b.arrivals(), b.is_active())).collect();
        }
    });
    assert_eq!(seen, [(ids[0], 1), (ids[2], 1), (ids[3], 7)]);
    assert_eq!(ended, [(1, 1, false), (1, 1, false), (1, 3, false), (7, 7, false)]);
    assert_eq!(outcome.output, undisturbed(&build("loop", &[]), &["30"]).stdout);
}

#[test]
fn the_code_of_a_spent_one_shot_breakpoint_holds_no_breakpoint_instruction() {
    let (mut session, pid, work) = at_work_by_ptrace(&["4"]);
    let mut before = [0; 16];
    session.read_memory(pid, work, &mut before).unwrap();
    let id = session.insert(pid, &[Spec::event(work).once()]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let mut raw = [0; 16];
    let outcome = run(&mut session, pid, |session, event| {
        if hit_of(event).is_some() {
            let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
            std::os::unix::fs::FileExt::read_exact_at(&memory, &mut raw, work.0).unwrap();
            // An id that was spent can be removed, and the address can have another breakpoint.
            session.remove(pid, &[id]).unwrap();
            assert!(session.breakpoint(pid, id).is_none());
            session.insert(pid, &[Spec::count(work).once()]).unwrap()[0].unwrap();
        }
    });
    assert_eq!(raw, before);
    assert_eq!(outcome.hits.values().copied().collect::<Vec<_>>(), [1]);
}

#[test]
fn a_breakpoint_of_one_thread_counts_the_arrivals_of_that_thread_alone() {
    let program = build("threads", &[]);
    let plain = undisturbed(&program, &[]);
    let mut session = session();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let mut specs = Vec::new();
    let address = symbol(&session, pid, "leaf");
    specs.push(Spec::count(address));
    specs.push(Spec::count(address).thread(pid.leader()));
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    session.resume(pid.leader()).unwrap();
    let (mut threads, mut counts) = (Vec::new(), Vec::new());
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::ThreadStarted => {
            let spec = Spec::count(address).thread(event.tid);
            threads.push(session.insert(pid, &[spec]).unwrap()[0].unwrap());
        }
        EventKind::Exited(_) => {
            let of = |id| session.breakpoint(pid, id).unwrap();
            assert!(threads.iter().all(|&id| !of(id).is_active()), "a thread that ended has no breakpoint");
            assert_eq!(of(ids[1]).hits(), of(ids[1]).arrivals());
            let own: u64 = threads.iter().map(|&id| of(id).hits()).sum();
            counts = vec![of(ids[0]).hits(), own + of(ids[1]).hits()];
        }
        _ => {}
    });
    assert_eq!(outcome.output, plain.stdout);
    assert!(threads.len() > 1 && counts[0] > 0, "{threads:?} {counts:?}");
    assert_eq!(counts[0], counts[1], "each arrival is that of one thread");
}

#[test]
fn a_forked_child_has_no_breakpoints_of_its_parents_threads() {
    let program = build("forks", &[]);
    let plain = undisturbed(&program, &["fork"]);
    let mut session = session();
    let pid = session.spawn(piped(&program, &["fork"])).unwrap();
    let sites = instructions(&program, "fork_case");
    let base = load_address(&session, pid);
    let specs: Vec<Spec> = sites.iter().map(|at| Spec::count(ubp::Address(base + at)).thread(pid.leader())).collect();
    session.insert(pid, &specs).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut children = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if event.pid != pid && matches!(event.kind, EventKind::Exited(_) | EventKind::Killed(_)) {
            children += 1;
            assert!(session.breakpoints(event.pid).all(|b| b.arrivals() == 0 && !b.is_active()));
        }
    });
    assert!(children > 0);
    assert_eq!(outcome.output, plain.stdout);
}

#[test]
fn conditions_are_joined_and_compare_as_many_bytes_and_signs_as_they_say() {
    let (mut session, pid, work) = at_work(&["300"]);
    let argument = Operand::Register(machine::ARGUMENTS[0]);
    let low = Operand::Part { register: machine::ARGUMENTS[0], size: 1 };
    let negative = low.is(Comparison::Less, 0);
    let small = low.is(Comparison::GreaterOrEqual, -3_i64 as u64).and(low.is(Comparison::LessOrEqual, 2));
    let ends = argument.is(Comparison::Below, 2).or(argument.is(Comparison::Above, 297));
    let specs = [negative, small, ends].map(|condition| Spec::count(work).when(condition));
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    session.resume(pid.leader()).unwrap();
    let mut hits = Vec::new();
    run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = ids.iter().map(|&id| session.breakpoint(pid, id).unwrap().hits()).collect();
        }
    });
    // 128 to 255; 0, 1, 2, 253 to 258; 0, 1, 298, 299.
    assert_eq!(hits, [128, 9, 4]);
}

#[test]
fn a_session_drops_one_shot_breakpoints_that_were_not_hit_as_all_others() {
    let (mut session, pid, work) = at_work_by_ptrace(&["5"]);
    session.insert(pid, &[Spec::event(work).once(), Spec::count(work + 1).once()]).unwrap();
    let mut out = session.take_stdio(pid).stdout.unwrap();
    session.detach(pid).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut out, &mut text).unwrap();
    assert_eq!(text.as_bytes(), undisturbed(&build("loop", &[]), &["5"]).stdout);
    drop(session);
    drop(Session::new().unwrap());
}
