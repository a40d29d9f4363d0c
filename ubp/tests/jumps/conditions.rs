//! Conditions that the code of a jump tests: a hit is one as by traps, and what is none leaves no trace.
#![cfg(target_arch = "x86_64")]

use std::os::unix::process::CommandExt;
use std::path::Path;

use insn::x86::Reg;
use ubp::Comparison::{
    Above, Below, BelowOrEqual, Equal, Greater, GreaterOrEqual, HasBits, Less, LessOrEqual, NotEqual,
};
use ubp::{Condition, EventKind, Method, NoJump, Operand, Patch, Report, Session, Spec};

use crate::common::*;
use crate::{by_ptrace, outlived};

const RDI: Operand = Operand::Register(Reg::RDI);
const RSI: Reg = Reg::RSI;

fn part(register: Reg, size: u8) -> Operand {
    Operand::Part { register, size }
}

fn memory(offset: i64, size: u8) -> Operand {
    Operand::Memory { base: Some(RSI), offset, size }
}

fn negative(right: i64) -> u64 {
    right as u64
}

/// A condition of every kind.
fn conditions() -> Vec<Condition> {
    let mut all = vec![
        RDI.is(Equal, 0x7000000000000031_u64.wrapping_sub(121)),
        RDI.is(Above, 0x9000000000000000),
        RDI.is(Less, negative(-0x7000000000000000)),
        Operand::Register(Reg::RIP).is(Above, 1),
        Operand::Register(Reg::RSP).is(HasBits, 0x38),
        Operand::Memory { base: None, offset: 16, size: 8 }.is(NotEqual, 1),
        memory(0, 8).is(Above, 0x5000),
        memory(0, 2).is(HasBits, 0x0404),
        memory(1, 1).is(Less, negative(-100)),
        memory(0, 4).is(Below, 0x300),
        memory(0, 1).is(GreaterOrEqual, 120),
        memory(i64::MAX, 8).is(NotEqual, 3),
    ];
    for size in [1, 2, 4] {
        all.push(part(Reg::RDI, size).is(BelowOrEqual, 9));
        all.push(part(Reg::RDX, size).is(Greater, negative(-5)));
        all.push(part(Reg::RDI, size).is(LessOrEqual, negative(-120)));
        all.push(part(Reg::RAX, size).is(NotEqual, 0));
    }
    let either = part(Reg::RDI, 1).is(Below, 3).or(memory(0, 1).is(Equal, 5));
    all.push(either.clone().and(part(Reg::RDX, 8).is(Less, negative(-20))));
    all.push(either.and(RDI.is(Greater, 0).or(RDI.is(Less, negative(-0x1000)))));
    all
}

/// What a run says: per hit the state of the thread, then hits and arrivals, and the output.
fn told(
    mut session: Session,
    program: &Path,
    args: &[&str],
    spec: impl Fn(ubp::Address) -> Vec<Spec>,
) -> (Vec<String>, Vec<u64>, String) {
    let pid = session.spawn(piped(program, args)).unwrap();
    let base = load_address(&session, pid);
    let mut sites = instructions(program, "probe").into_iter().map(|at| ubp::Address(base + at));
    let specs = spec(sites.next().unwrap());
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    let is_jump = specs.iter().any(|spec| spec.patch != Patch::Trap);
    let methods: Vec<_> = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap()).collect();
    assert!(methods.iter().all(|b| (b.method() == Method::Jumped) == is_jump), "{methods:?}");
    session.resume(pid.leader()).unwrap();
    let (mut events, mut counts) = (Vec::new(), Vec::new());
    let outcome = run(&mut session, pid, |session, event| match &event.kind {
        EventKind::Hit(hit) => {
            let registers = session.registers(event.tid).unwrap();
            let all: Vec<_> =
                (0..16).map(Reg::gpr).chain([Reg::RIP, Reg::FLAGS]).map(|reg| registers.get(reg)).collect();
            let of: Vec<_> = ids.iter().filter(|id| hit.is_of(**id)).collect();
            // Addresses differ from run to run.
            let shown: Vec<_> = [Reg::RDI, Reg::RDX, Reg::RAX, Reg::RCX].map(|reg| registers.get(reg)).into();
            assert_eq!(all[16], Some(specs[0].address.0));
            events.push(format!("{of:?} {shown:x?} {:x}", all[17].unwrap() & 0xcd5));
        }
        EventKind::Exited(_) => {
            let breakpoints = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap());
            counts = breakpoints.flat_map(|b| [b.hits(), b.arrivals()]).collect();
        }
        _ => {}
    });
    (events, counts, outcome.text().to_string())
}

#[test]
fn a_condition_makes_the_hits_that_it_makes_by_traps() {
    let program = build("x86/tested", &["-pthread"]);
    let plain = String::from_utf8(undisturbed(&program, &["400"]).stdout).unwrap();
    for condition in conditions() {
        let by = |session, patch| {
            told(session, &program, &["400"], |at| vec![Spec::event(at).when(condition.clone()).patch(patch)])
        };
        let by_traps = by(by_ptrace(), Patch::Trap);
        assert_eq!(by_traps.2, plain);
        for session in [by_ptrace, outlived] {
            let by_jumps = by(session(), Patch::Jump);
            assert_eq!(by_jumps.2, plain);
            // The pointers of the stack differ, and so may hits by them.
            if !format!("{condition:?}").contains("rsp") {
                assert_eq!(by_traps, by_jumps, "{condition:?}");
            }
            assert_eq!(by_jumps.1[1], 400);
        }
    }
}

#[test]
fn breakpoints_of_one_site_have_their_own_conditions() {
    let program = build("x86/tested", &["-pthread"]);
    let by = |patch| {
        told(by_ptrace(), &program, &["300"], |at| {
            let mut specs: Vec<Spec> =
                conditions().into_iter().skip(6).take(4).map(|when| Spec::event(at).when(when)).collect();
            specs.push(Spec::count(at));
            specs.push(Spec::count(at).when(part(Reg::RDX, 1).is(Equal, 5)));
            specs.push(Spec::event(at).when(part(Reg::RDX, 1).is(HasBits, 3)).ignore(10));
            specs.into_iter().map(|spec| spec.patch(patch)).collect()
        })
    };
    let by_jumps = by(Patch::Jump);
    assert_eq!(by(Patch::Trap), by_jumps);
    assert_eq!(by_jumps.1[8..10], [300, 300]);
}

#[test]
fn threads_that_test_at_the_same_time_are_told_and_counted_each() {
    let program = build("x86/tested", &["-pthread"]);
    let plain = String::from_utf8(undisturbed(&program, &["3000", "3"]).stdout).unwrap();
    let by = |patch| {
        let mut told = told(by_ptrace(), &program, &["3000", "3"], |at| {
            let rare = part(Reg::RDI, 1).is(Equal, 77);
            let unreadable = Operand::Memory { base: Some(RSI), offset: 8, size: 4 }.is(Equal, 0x12345);
            vec![Spec::event(at).when(rare.or(unreadable)).patch(patch)]
        });
        told.0.sort_unstable();
        told
    };
    let by_jumps = by(Patch::Jump);
    assert_eq!(by_jumps.2, plain);
    assert_eq!(by_jumps.1[1], 12_000);
    assert_eq!(by(Patch::Trap), by_jumps);
}

#[test]
fn a_breakpoint_that_removes_itself_does_so_at_its_hit() {
    let program = build("x86/tested", &["-pthread"]);
    let by = |patch| {
        told(by_ptrace(), &program, &["300"], |at| {
            vec![Spec::event(at).when(part(Reg::RDX, 1).is(Equal, 200)).once().patch(patch)]
        })
    };
    let by_jumps = by(Patch::Jump);
    assert_eq!(by_jumps.0.len(), 1);
    assert_eq!(by(Patch::Trap), by_jumps);
}

#[test]
fn a_held_thread_steps_on_from_the_site() {
    let program = build("x86/tested", &["-pthread"]);
    for patch in [Patch::Trap, Patch::Jump] {
        let mut session = by_ptrace();
        let pid = session.spawn(piped(&program, &["40"])).unwrap();
        let base = load_address(&session, pid);
        let sites = instructions(&program, "probe");
        // Behind `ret` none belongs to the function.
        let all: Vec<u64> = sites.iter().take(6).map(|at| base + at).collect();
        let spec = Spec::event(ubp::Address(all[0])).when(part(Reg::RDX, 1).is(Equal, 253)).patch(patch);
        let id = session.insert(pid, &[spec]).unwrap()[0].unwrap();
        session.resume(pid.leader()).unwrap();
        let mut seen = Vec::new();
        while seen.len() < all.len() {
            let event = session.wait().unwrap().unwrap();
            if matches!(event.kind, EventKind::Hit(_) | EventKind::Stepped) {
                seen.push(session.registers(event.tid).unwrap().pc().0);
                session.step(event.tid).unwrap();
            } else {
                session.resume(event.tid).unwrap();
            }
        }
        assert_eq!(seen, all, "{patch:?}");
        let mut counts = None;
        let outcome = run(&mut session, pid, |session, event| {
            if let EventKind::Exited(_) = event.kind {
                counts = session.breakpoint(pid, id).map(|b| (b.hits(), b.arrivals()));
            }
        });
        assert_eq!(counts, Some((1, 40)));
        assert_eq!(outcome.output, undisturbed(&program, &["40"]).stdout);
    }
}

#[test]
fn breakpoints_with_and_without_conditions_come_and_go_at_one_site() {
    let program = build("loop", &[]);
    let mut session = by_ptrace();
    let pid = session.spawn(piped(&program, &["100"])).unwrap();
    let work = symbol(&session, pid, "work");
    let at = |number: u64| RDI.is(Equal, number);
    let tenth = Spec::event(work).patch(Patch::Jump).when(at(10));
    let first = session.insert(pid, &[tenth]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let (mut seen, mut counts) = (Vec::new(), Vec::new());
    let mut later = Vec::new();
    let outcome = run(&mut session, pid, |session, event| match &event.kind {
        EventKind::Hit(hit) => {
            let number = session.registers(event.tid).unwrap().get(Reg::RDI).unwrap();
            seen.push((number, hit.is_of(first)));
            if number == 10 {
                let specs = [Spec::count(work), Spec::event(work).when(at(30)), Spec::count(work).when(at(35))];
                let specs = specs.map(|spec| spec.patch(Patch::Jump));
                later = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
                session.remove(pid, &[first]).unwrap();
            } else {
                session.remove(pid, &[later[1]]).unwrap();
                let back = Spec::event(work).when(at(10)).patch(Patch::Jump);
                later.push(session.insert(pid, &[back]).unwrap()[0].unwrap());
            }
            let methods: Vec<Method> = session.breakpoints(pid).map(|b| b.method()).collect();
            assert!(methods.iter().all(|method| *method == Method::Jumped), "{methods:?}");
        }
        EventKind::Exited(_) => {
            let shown = |id| session.breakpoint(pid, id).map(|b| (b.hits(), b.arrivals()));
            counts = [later[0], later[2], later[3]].map(shown).to_vec();
        }
        _ => {}
    });
    assert_eq!(seen, [(10, true), (30, false)]);
    // The thread at 10, and at 30, has arrived before.
    assert_eq!(counts, [Some((89, 89)), Some((1, 89)), Some((0, 69))]);
    assert_eq!(outcome.output, undisturbed(&program, &["100"]).stdout);
}

#[test]
fn a_condition_that_no_code_tests_is_tested_by_traps() {
    let mut session = by_ptrace();
    let pid = session.spawn(piped(&build("loop", &[]), &["20"])).unwrap();
    let work = symbol(&session, pid, "work");
    let third = Operand::Arrivals.is(Equal, 3);
    let long = (0..40).map(|number| RDI.is(NotEqual, number)).reduce(Condition::and).unwrap();
    let wide = |from| RDI.is(Equal, from).or(RDI.is(Equal, from + 1)).or(RDI.is(Equal, from + 2));
    let multiplied = (0..4).map(|number| wide(3 * number)).reduce(Condition::and).unwrap();
    for (condition, reason) in [(third, NoJump::Arrivals), (long, NoJump::Condition), (multiplied, NoJump::Condition)] {
        for report in [Report::Event, Report::Count] {
            let spec = Spec::event(work).report(report).when(condition.clone()).patch(Patch::Auto);
            let id = session.insert(pid, &[spec]).unwrap()[0].unwrap();
            assert_eq!(session.breakpoint(pid, id).unwrap().no_jump(), Some(reason));
            session.remove(pid, &[id]).unwrap();
        }
    }
    kill(pid);
}

#[test]
fn memory_is_read_by_traps_in_a_program_that_outlives_the_tracer_and_ignores_faults() {
    let mut command = piped(&build("loop", &[]), &["20"]);
    let ignore = || {
        // SAFETY: the call only changes the action of a signal.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_IGN) };
        Ok(())
    };
    // SAFETY: the closure makes one system call.
    unsafe { command.pre_exec(ignore) };
    let mut session = outlived();
    let pid = session.spawn(command).unwrap();
    let work = symbol(&session, pid, "work");
    let condition = Operand::Memory { base: Some(Reg::RSP), offset: 0, size: 8 }.is(Equal, 1);
    let spec = Spec::event(work).when(condition).patch(Patch::Auto);
    let id = session.insert(pid, &[spec]).unwrap()[0].unwrap();
    assert_eq!(session.breakpoint(pid, id).unwrap().no_jump(), Some(NoJump::Memory));
    kill(pid);
}

#[test]
fn a_jump_stays_where_its_condition_holds_again_and_again() {
    let program = build("x86/tested", &["-pthread"]);
    let mut session = by_ptrace();
    let pid = session.spawn(piped(&program, &["2000"])).unwrap();
    let probe = symbol(&session, pid, "probe");
    // The way back of a thread that was held leads to the instruction behind, which the jump covers.
    let odd = part(Reg::RDI, 1).is(HasBits, 8);
    let spec = Spec::event(probe).when(odd).patch(Patch::Jump);
    let id = session.insert(pid, &[spec]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    run(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(_) => hits += 1,
        EventKind::Exited(_) => assert_eq!(session.breakpoint(pid, id).unwrap().method(), Method::Jumped),
        _ => {}
    });
    assert_eq!(hits, 1000);
}
