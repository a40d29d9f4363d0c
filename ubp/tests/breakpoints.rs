//! Conditions, ignore counts, shared sites, memory and registers at hits, calls.

mod common;

use common::*;
use ubp::{Address, Comparison, Error, EventKind, InsertReason, Operand, Report, Session, Signal, Spec};

#[test]
fn conditions_and_ignore_counts_choose_the_hits_that_are_reported() {
    let (mut session, pid, work) = at_work(&["30"]);
    let above = Operand::Register(machine::ARGUMENTS[0]).is(Comparison::AboveOrEqual, 20);
    let pc = |right| Operand::Register(machine::PC).is(Comparison::Equal, right);
    let third = Operand::Arrivals.is(Comparison::Equal, 3);
    let specs = [
        Spec::event(work).when(above),
        Spec::event(work).when(third),
        Spec::event(work).ignore(28),
        Spec::count(work).when(pc(work.0)),
    ];
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    session.resume(pid.leader()).unwrap();
    let mut seen = Vec::new();
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(ref hit) => {
            let argument = session.registers(event.tid).unwrap().get(machine::ARGUMENTS[0]).unwrap();
            for (id, count) in hit.breakpoints() {
                assert_eq!(session.breakpoint(pid, id).unwrap().hits(), count);
                seen.push((ids.iter().position(|known| *known == id).unwrap(), argument));
            }
        }
        EventKind::Exited(_) => {
            let of = |at: usize| session.breakpoint(pid, ids[at]).unwrap();
            assert_eq!([of(0).hits(), of(1).hits(), of(2).hits(), of(3).hits()], [10, 1, 30, 30]);
            assert_eq!(of(0).arrivals(), 30);
        }
        _ => {}
    });
    seen.sort_unstable();
    let mut expected: Vec<(usize, u64)> = (20..30).map(|argument| (0, argument)).collect();
    expected.extend([(1, 2), (2, 28), (2, 29)]);
    assert_eq!(seen, expected);
    assert_eq!(exit_of(&outcome), EventKind::Exited(undisturbed(&build("loop", &[]), &["30"]).status.code().unwrap()));
}

#[test]
fn a_condition_on_memory_sees_as_many_bytes_as_it_names_and_none_of_ours() {
    let (mut session, pid, work) = at_work(&["9"]);
    session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let mut ids = Vec::new();
    run(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(_) if ids.is_empty() => {
            // The stack is not empty, and the site has code.
            let (mut back, mut code) = ([0; 8], [0; 8]);
            let sp = session.registers(event.tid).unwrap().sp();
            session.read_memory(pid, sp, &mut back).unwrap();
            session.read_memory(pid, work, &mut code).unwrap();
            let (back, code) = (u64::from_le_bytes(back), u64::from_le_bytes(code));
            let stack = |offset, size| Operand::Memory { base: Some(machine::SP), offset, size };
            let at_site = |size| Operand::Memory { base: None, offset: work.0 as i64, size };
            let operands = [
                (stack(0, 8), back, 8),
                (stack(0, 4), back & 0xffff_ffff, 8),
                (stack(2, 2), back >> 16 & 0xffff, 8),
                (stack(1, 1), back >> 8 & 0xff, 8),
                (at_site(8), code, 8),
                (Operand::Memory { base: None, offset: 0x10, size: 8 }, 0, 0),
            ];
            let specs = operands.map(|(left, right, _)| Spec::count(work).when(left.is(Comparison::Equal, right)));
            let answers = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap);
            ids = answers.zip(operands.map(|operand| operand.2)).collect();
        }
        EventKind::Exited(_) => {
            for (id, expected) in &ids {
                let breakpoint = session.breakpoint(pid, *id).unwrap();
                assert_eq!((breakpoint.hits(), breakpoint.arrivals()), (*expected, 8), "{:?}", breakpoint.spec());
            }
        }
        _ => {}
    });
    assert_eq!(ids.len(), 6);
}

#[test]
fn registers_set_at_a_hit_are_those_the_program_goes_on_with() {
    let (mut session, pid, work) = at_work(&["7"]);
    session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Hit(_) = event.kind {
            let mut registers = session.registers(event.tid).unwrap();
            // Return at once with 10 as the result.
            machine::return_at_once(session, pid, &mut registers, 10);
            session.set_registers(event.tid, &registers).unwrap();
        }
    });
    assert_eq!(outcome.text(), "70\n");
}

#[test]
fn bytes_written_under_a_site_are_executed_and_the_breakpoint_stays() {
    let (mut session, pid, work) = at_work_by_ptrace(&["6"]);
    let id = session.insert(pid, &[Spec::count(work)]).unwrap()[0].unwrap();
    session.write_memory(pid, work, machine::FIVE).unwrap();
    let mut shown = vec![0; machine::FIVE.len()];
    session.read_memory(pid, work, &mut shown).unwrap();
    assert_eq!(shown, machine::FIVE);
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = session.breakpoint(pid, id).unwrap().hits();
        }
    });
    assert_eq!((outcome.text(), hits), ("30\n", 6));
}

#[test]
fn a_function_called_in_a_held_thread_returns_its_value_and_disturbs_nothing() {
    let (mut session, pid, work) = at_work(&["20"]);
    let id = session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let (mut results, mut hits) = (Vec::new(), 0);
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = session.breakpoint(pid, id).unwrap().hits();
        }
        if let EventKind::Hit(_) = event.kind {
            let before = session.registers(event.tid).unwrap();
            results.push(session.call(event.tid, work, &[6]).unwrap());
            assert!(matches!(session.call(event.tid, Address(0x10), &[]), Err(ubp::Error::Call { .. })));
            let after = session.registers(event.tid).unwrap();
            assert_eq!(format!("{before:?}"), format!("{after:?}"));
        }
    });
    // 6 * (0 + 1 + … + 5)
    assert_eq!((results, hits), (vec![90; 20], 20));
    let plain = undisturbed(&build("loop", &[]), &["20"]);
    assert_eq!(outcome.output, plain.stdout);
}

/// `nine` of calls.c with arguments in registers and on the stack.
const NINE: ([u64; 9], u64) = ([10, 20, 30, 40, 50, 60, 70, 80, 90], 2850);

#[test]
fn a_call_keeps_what_the_held_function_has_in_its_red_zone_vectors_flags_and_signals() {
    let program = build("calls", &[]);
    let plain = undisturbed(&program, &[]);
    let mut session = Session::new().unwrap();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let [busy, nine] = ["at_busy", "nine"].map(|name| symbol(&session, pid, name));
    session.insert(pid, &[Spec::event(busy), Spec::count(nine)]).unwrap();
    session.resume(pid.leader()).unwrap();
    let (mut results, mut signals) = (Vec::new(), 0);
    let outcome = run(&mut session, pid, |session, event| {
        signals += u64::from(matches!(event.kind, EventKind::Signal(_)));
        if matches!(event.kind, EventKind::Hit(_) | EventKind::Signal(_)) {
            results.push(session.call(event.tid, nine, &NINE.0).unwrap());
        }
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
    assert_eq!((results, signals), (vec![NINE.1; 12], 6));
}

#[test]
fn a_stop_of_the_job_that_comes_in_a_call_comes_after_it() {
    let program = build("calls", &[]);
    let plain = undisturbed(&program, &[]);
    let mut options = ubp::Options::default();
    options.signals = false;
    let mut session = Session::with_options(options).unwrap();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let mut out = session.take_stdio(pid).stdout.unwrap();
    let [busy, stop] = ["at_busy", "stop_all"].map(|name| symbol(&session, pid, name));
    session.insert(pid, &[Spec::event(busy).ignore(3)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    loop {
        let event = session.wait().unwrap().unwrap();
        if let EventKind::Hit(_) = event.kind {
            break;
        }
        session.resume(event.tid).unwrap();
    }
    assert_eq!(session.call(pid.leader(), stop, &[]).unwrap(), 17);
    session.detach(pid).unwrap();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        assert!(!stat.contains(") Z "), "it ran on");
        if stat.contains(") T ") {
            break;
        }
    }
    // SAFETY: kill takes numbers.
    unsafe { libc::kill(pid.0, libc::SIGCONT) };
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut out, &mut text).unwrap();
    assert_eq!(text, plain.stdout);
}

#[test]
fn what_needs_a_held_thread_is_refused_of_a_running_one() {
    let (mut session, pid, work) = at_work(&["3"]);
    let registers = session.registers(pid.leader()).unwrap();
    session.resume(pid.leader()).unwrap();
    let tid = pid.leader();
    assert!(matches!(session.registers(tid), Err(Error::NotHeld(_))));
    assert!(matches!(session.set_registers(tid, &registers), Err(Error::NotHeld(_))));
    assert!(matches!(session.resume(tid), Err(Error::NotHeld(_))));
    assert!(matches!(session.call(tid, work, &[]), Err(Error::NotHeld(_))));
    assert!(matches!(session.registers(ubp::Tid(1)), Err(Error::NoSuchThread(_))));
    run(&mut session, pid, |_, _| {});
}

#[test]
fn a_site_that_becomes_no_instruction_is_inactive_and_its_bytes_are_the_programs() {
    let (mut session, pid, work) = at_work_by_ptrace(&["6"]);
    let id = session.insert(pid, &[Spec::count(work)]).unwrap()[0].unwrap();
    session.write_memory(pid, work, machine::NO_INSTRUCTION).unwrap();
    assert!(!session.breakpoint(pid, id).unwrap().is_active());
    let (memory, mut raw) =
        (std::fs::File::open(format!("/proc/{pid}/mem")).unwrap(), vec![0; machine::NO_INSTRUCTION.len()]);
    std::os::unix::fs::FileExt::read_exact_at(&memory, &mut raw, work.0).unwrap();
    assert_eq!(raw, machine::NO_INSTRUCTION);
    session.resume(pid.leader()).unwrap();
    assert_eq!(exit_of(&run(&mut session, pid, |_, _| {})), EventKind::Killed(Signal(libc::SIGILL)));
}

#[test]
fn a_breakpoint_removed_from_the_middle_of_a_site_leaves_those_around_it() {
    let (mut session, pid, work) = at_work(&["10"]);
    let ids = session
        .insert(pid, &[0; 3].map(|_| Spec::count(work)))
        .unwrap()
        .into_iter()
        .map(Result::unwrap)
        .collect::<Vec<_>>();
    session.remove(pid, &[ids[1]]).unwrap();
    assert!(session.breakpoint(pid, ids[1]).is_none());
    session.resume(pid.leader()).unwrap();
    let mut hits = [0; 2];
    run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = [ids[0], ids[2]].map(|id| session.breakpoint(pid, id).unwrap().hits());
        }
    });
    assert_eq!(hits, [10, 10]);
}

#[test]
fn removed_breakpoints_are_not_hit_any_more_and_others_on_the_site_stay() {
    let (mut session, pid, work) = at_work(&["10"]);
    let specs = [Spec::event(work), Spec::count(work)];
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(session.breakpoint(pid, ids[1]).unwrap().spec().report, Report::Count);
    session.resume(pid.leader()).unwrap();
    let mut counts = (0, 0);
    run(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(ref hit) => {
            counts.0 += 1;
            if counts.0 == 4 {
                session.remove(pid, &[hit.id()]).unwrap();
            }
        }
        EventKind::Exited(_) => counts.1 = session.breakpoint(pid, ids[1]).unwrap().hits(),
        _ => {}
    });
    assert_eq!(counts, (4, 10));
}

#[test]
fn until_the_end_of_a_process_is_reported_breakpoints_are_removed_and_none_is_inserted() {
    let (mut session, pid, work) = at_work(&["10"]);
    let specs = [Spec::event(work), Spec::count(work)];
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    session.resume(pid.leader()).unwrap();
    loop {
        match session.wait().unwrap().unwrap() {
            event if matches!(event.kind, EventKind::Hit(_)) => break,
            event if event.is_held() => session.resume(event.tid).unwrap(),
            _ => {}
        }
    }
    kill(pid);
    await_end(pid);
    session.remove(pid, &[ids[0]]).unwrap();
    assert!(session.breakpoint(pid, ids[0]).is_none());
    assert_eq!(session.breakpoint(pid, ids[1]).unwrap().hits(), 1);
    let answers = session.insert(pid, &[Spec::count(work), Spec::count(Address(work.0 + 1))]).unwrap();
    assert!(answers.iter().all(|answer| matches!(answer, Err(error) if error.reason == InsertReason::NotMapped)));
    session.remove(pid, &[ids[1]]).unwrap();
    assert_eq!(session.breakpoints(pid).count(), 0);
    assert_eq!(exit_of(&run(&mut session, pid, |_, _| {})), EventKind::Killed(Signal(libc::SIGKILL)));
}

#[test]
fn an_interruption_is_reported_though_the_loader_makes_the_thread_stop_for_other_things() {
    for _ in 0..100 {
        let (mut session, pid, _) = at_work(&["1000000"]);
        session.resume(pid.leader()).unwrap();
        session.interrupt(pid).unwrap();
        loop {
            match session.wait().unwrap().unwrap() {
                event if matches!(event.kind, EventKind::Loaded(_)) => session.resume(event.tid).unwrap(),
                event => {
                    assert_eq!(event.kind, EventKind::Interrupted);
                    break;
                }
            }
        }
        // The program would run for long now.
        kill(pid);
    }
}
