//! Conditions, ignore counts, shared sites, memory and registers at hits, calls.

mod common;

use common::*;
use insn::x86::Reg;
use ubp::{Address, Comparison, Condition, EventKind, Operand, Report, Session, Spec};

fn at_work(args: &[&str]) -> (Session, ubp::Pid, Address) {
    let program = build("loop", &[]);
    let mut session = Session::new().unwrap();
    let pid = session.spawn(piped(&program, args)).unwrap();
    let work = symbol(&session, pid, "work");
    (session, pid, work)
}

#[test]
fn conditions_and_ignore_counts_choose_the_hits_that_are_reported() {
    let (mut session, pid, work) = at_work(&["30"]);
    let above = Condition { left: Operand::Register(Reg::RDI), comparison: Comparison::AboveOrEqual, right: 20 };
    let third = Condition { left: Operand::Arrivals, comparison: Comparison::Equal, right: 3 };
    // The return address lies on the stack.
    let stack = Operand::Memory { base: Some(Reg::RSP), offset: 0, size: 8 };
    let returned = Condition { left: stack, comparison: Comparison::Above, right: 0 };
    let specs = [
        Spec { condition: Some(above), ..Spec::event(work) },
        Spec { condition: Some(third), ..Spec::event(work) },
        Spec { ignore: 28, ..Spec::event(work) },
        Spec { condition: Some(returned), ..Spec::count(work) },
    ];
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    session.resume(pid.leader()).unwrap();
    let mut seen = Vec::new();
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(id) => {
            let argument = session.registers(event.tid).unwrap().get(Reg::RDI).unwrap();
            seen.push((ids.iter().position(|known| *known == id).unwrap(), argument));
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
fn registers_set_at_a_hit_are_those_the_program_goes_on_with() {
    let (mut session, pid, work) = at_work(&["7"]);
    session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Hit(_) = event.kind {
            let mut registers = session.registers(event.tid).unwrap();
            // Return at once with 10 as the result.
            let mut back = [0; 8];
            let sp = registers.sp();
            session.read_memory(pid, sp, &mut back).unwrap();
            registers.set(Reg::RAX, 10);
            registers.set(Reg::RSP, sp.0 + 8);
            registers.set_pc(Address(u64::from_le_bytes(back)));
            session.set_registers(event.tid, &registers).unwrap();
        }
    });
    assert_eq!(outcome.text(), "70\n");
}

#[test]
fn bytes_written_under_a_site_are_executed_and_the_breakpoint_stays() {
    let (mut session, pid, work) = at_work(&["6"]);
    let id = session.insert(pid, &[Spec::count(work)]).unwrap()[0].unwrap();
    // mov $5, %eax; ret
    let code = [0xb8, 5, 0, 0, 0, 0xc3];
    session.write_memory(pid, work, &code).unwrap();
    let mut shown = [0; 6];
    session.read_memory(pid, work, &mut shown).unwrap();
    assert_eq!(shown, code);
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
    session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let mut results = Vec::new();
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Hit(_) = event.kind {
            let before = session.registers(event.tid).unwrap();
            results.push(session.call(event.tid, work, &[6]).unwrap());
            assert!(matches!(session.call(event.tid, Address(0x10), &[]), Err(ubp::Error::Call { .. })));
            let after = session.registers(event.tid).unwrap();
            assert_eq!(format!("{before:?}"), format!("{after:?}"));
        }
    });
    // 6 * (0 + 1 + … + 5)
    assert_eq!(results, [90; 20]);
    let plain = undisturbed(&build("loop", &[]), &["20"]);
    assert_eq!(outcome.output, plain.stdout);
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
        EventKind::Hit(id) => {
            counts.0 += 1;
            if counts.0 == 4 {
                session.remove(pid, &[id]).unwrap();
            }
        }
        EventKind::Exited(_) => counts.1 = session.breakpoint(pid, ids[1]).unwrap().hits(),
        _ => {}
    });
    assert_eq!(counts, (4, 10));
}
