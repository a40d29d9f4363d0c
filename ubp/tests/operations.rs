//! Operations that fail change nothing.

mod common;

use common::*;
use ubp::{
    Access, Address, BreakpointId, Comparison, ConditionProblem, Error, EventKind, InsertReason, Operand, Pid,
    RegisterSet, Session, Signal, Spec, Syscalls, Tid,
};

/// Lets the kernel queue no real-time signal for a process.
fn forbid_queued_signals(pid: Pid) {
    let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is live.
    let set = unsafe { libc::prlimit(pid.0, libc::RLIMIT_SIGPENDING, &limit, std::ptr::null_mut()) };
    assert_eq!(set, 0);
}

/// Resumes a thread that must be held, and expects the program to do what it does undisturbed.
fn ends_as_undisturbed(session: &mut Session, pid: Pid, argument: &str) {
    session.registers(pid.leader()).expect("the thread is held");
    session.resume(pid.leader()).expect("the thread is held");
    let outcome = run(session, pid, |_, _| {});
    let plain = undisturbed(&build("loop", &[]), &[argument]);
    assert_eq!(exit_of(&outcome), EventKind::Exited(plain.status.code().unwrap()));
    assert_eq!(outcome.output, plain.stdout);
}

#[test]
fn a_thread_that_is_resumed_with_no_signal_of_the_kernels_stays_held() {
    for at_hit in [false, true] {
        let (mut session, pid, work) = at_work_by_ptrace(&["5"]);
        if at_hit {
            session.insert(pid, &[Spec::event(work).once()]).unwrap()[0].unwrap();
            session.resume(pid.leader()).unwrap();
            while !matches!(session.wait().unwrap().unwrap().kind, EventKind::Hit(_)) {
                session.resume(pid.leader()).unwrap();
            }
        }
        for signal in [999, 65, 0, -1, i32::MIN, i32::MAX].map(Signal) {
            let answer = session.resume_with(pid.leader(), Some(signal));
            assert!(matches!(answer, Err(Error::NoSuchSignal(refused)) if refused == signal), "{answer:?}");
        }
        ends_as_undisturbed(&mut session, pid, "5");
    }
}

#[test]
fn a_thread_whose_signal_cannot_be_queued_stays_held() {
    let (mut session, pid, _) = at_work_by_ptrace(&["5"]);
    forbid_queued_signals(pid);
    let answer = session.resume_with(pid.leader(), Some(Signal(40)));
    assert!(matches!(answer, Err(Error::System { call: "tgkill", .. })), "{answer:?}");
    ends_as_undisturbed(&mut session, pid, "5");
}

#[test]
fn a_thread_that_was_killed_while_held_reports_its_end_whatever_is_asked_of_it() {
    type Operation = fn(&mut Session, Pid, Address) -> Result<(), Error>;
    let operations: [(&str, Operation); 28] = [
        ("resume", |session, pid, _| session.resume(pid.leader())),
        ("resume_with", |session, pid, _| session.resume_with(pid.leader(), Some(Signal(libc::SIGUSR1)))),
        ("step", |session, pid, _| session.step(pid.leader())),
        ("step_with", |session, pid, _| session.step_with(pid.leader(), Some(Signal(libc::SIGUSR1)))),
        ("step_over", |session, pid, _| session.step_over(pid.leader())),
        ("run_to", |session, pid, work| session.run_to(pid.leader(), work)),
        ("interrupt", |session, pid, _| session.interrupt(pid)),
        ("interrupt_thread", |session, pid, _| session.interrupt_thread(pid.leader())),
        ("stop", |session, pid, _| session.stop(pid)),
        ("threads", |session, pid, _| session.threads(pid).map(drop)),
        ("signal_info", |session, pid, _| session.signal_info(pid.leader()).map(drop)),
        ("trace_syscalls", |session, pid, _| session.trace_syscalls(pid, Syscalls::ALL)),
        ("watch", |session, pid, work| {
            let id = session.watch(pid, work, 4, Access::Write)?;
            session.unwatch(pid, id)
        }),
        ("register_set", |session, pid, _| session.register_set(pid.leader(), RegisterSet::FLOAT).map(drop)),
        ("set_register_set", |session, pid, _| session.set_register_set(pid.leader(), RegisterSet::FLOAT, &[0; 512])),
        ("vector_registers", |session, pid, _| session.vector_registers(pid.leader()).map(drop)),
        ("modules", |session, pid, _| session.modules(pid).map(drop)),
        ("bias", |session, pid, _| session.bias(pid, "/no/such/module").map(drop)),
        ("return_address", |session, pid, _| {
            let registers = session.registers(pid.leader())?;
            session.return_address(pid, &registers);
            Ok(())
        }),
        ("registers", |session, pid, _| session.registers(pid.leader()).map(drop)),
        ("call", |session, pid, work| session.call(pid.leader(), work, &[3]).map(drop)),
        ("read_memory", |session, pid, work| session.read_memory(pid, work, &mut [0; 8]).map(drop)),
        ("write_memory", |session, pid, work| session.write_memory(pid, work, machine::FIVE)),
        ("insert", |session, pid, work| session.insert(pid, &[Spec::count(work)]).map(drop)),
        ("insert of a condition", |session, pid, work| {
            session.insert(pid, &[Spec::count(work).when(Operand::Arrivals.is(Comparison::Above, 3))]).map(drop)
        }),
        ("remove", |session, pid, _| session.remove(pid, &[BreakpointId(0), BreakpointId(7)])),
        ("breakpoints", |session, pid, _| {
            assert_eq!(session.breakpoints(pid).count(), 1);
            Ok(())
        }),
        ("processes", |session, pid, _| {
            assert!(session.process(pid).is_some() && session.processes().count() == 1);
            Ok(())
        }),
    ];
    for (name, operation) in operations {
        let (mut session, pid, work) = at_work_by_ptrace(&["5"]);
        session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
        session.resume(pid.leader()).unwrap();
        while !matches!(session.wait().unwrap().unwrap().kind, EventKind::Hit(_)) {
            session.resume(pid.leader()).unwrap();
        }
        let registers = session.registers(pid.leader()).unwrap();
        kill(pid);
        await_end(pid);
        // Most fail, and those that need nothing of the thread do not.
        let answer = operation(&mut session, pid, work);
        let _ = session.set_registers(pid.leader(), &registers);
        let event = session.wait().unwrap().unwrap();
        assert_eq!((event.pid, event.kind), (pid, EventKind::Killed(Signal(libc::SIGKILL))), "{name}: {answer:?}");
        assert!(session.wait().unwrap().is_none(), "{name}");
    }
}

#[test]
fn operations_on_what_is_not_the_sessions_fail_and_leave_the_rest() {
    let (mut session, pid, work) = at_work_by_ptrace(&["5"]);
    let registers = session.registers(pid.leader()).unwrap();
    let vectors = session.vector_registers(pid.leader()).unwrap();
    for other in [1, 0, -1, i32::MAX, std::process::id() as i32] {
        let (foreign, thread) = (Pid(other), Tid(other));
        let no_process = |answer: Result<(), Error>| {
            assert!(matches!(answer, Err(Error::NoSuchProcess(named)) if named == foreign), "{answer:?}");
        };
        let no_thread = |answer: Result<(), Error>| {
            assert!(matches!(answer, Err(Error::NoSuchThread(named)) if named == thread), "{answer:?}");
        };
        no_process(session.detach(foreign));
        no_process(session.interrupt(foreign));
        no_process(session.stop(foreign));
        no_process(session.threads(foreign).map(drop));
        no_process(session.trace_syscalls(foreign, Syscalls::ALL));
        no_process(session.watch(foreign, work, 4, Access::Write).map(drop));
        no_process(session.modules(foreign).map(drop));
        no_process(session.bias(foreign, "/bin/true").map(drop));
        no_process(session.insert(foreign, &[Spec::event(work)]).map(drop));
        no_process(session.remove(foreign, &[BreakpointId(0)]));
        no_process(session.read_memory(foreign, work, &mut [0; 4]).map(drop));
        no_process(session.write_memory(foreign, work, &[0; 4]));
        no_thread(session.resume(thread));
        no_thread(session.resume_with(thread, Some(Signal(libc::SIGUSR1))));
        no_thread(session.step(thread));
        no_thread(session.step_with(thread, Some(Signal(libc::SIGUSR1))));
        no_thread(session.step_over(thread));
        no_thread(session.run_to(thread, work));
        no_thread(session.interrupt_thread(thread));
        no_thread(session.signal_info(thread).map(drop));
        no_thread(session.register_set(thread, RegisterSet::FLOAT).map(drop));
        no_thread(session.set_register_set(thread, RegisterSet::FLOAT, &[0; 512]));
        no_thread(session.vector_registers(thread).map(drop));
        no_thread(session.set_vector_registers(thread, &vectors));
        no_thread(session.registers(thread).map(drop));
        no_thread(session.set_registers(thread, &registers));
        no_thread(session.call(thread, work, &[]).map(drop));
        assert!(!session.is_held(thread) && !session.shares_memory(pid, foreign));
        assert!(session.process(foreign).is_none() && session.breakpoint(foreign, BreakpointId(0)).is_none());
        assert!(session.take_stdio(foreign).stdout.is_none() && session.breakpoints(foreign).next().is_none());
    }
    assert!(matches!(session.attach(pid), Err(Error::AlreadyTraced { .. })));
    assert!(session.attach(Pid(i32::MAX)).is_err());
    assert!(matches!(session.spawn(std::process::Command::new("/no/such/program")), Err(Error::Spawn(_))));
    assert!(matches!(Session::new(), Err(Error::SecondSession)));
    ends_as_undisturbed(&mut session, pid, "5");
}

#[test]
fn memory_that_cannot_be_written_to_the_end_is_not_written_at_all() {
    let (mut session, pid, work) = at_work_by_ptrace(&["5"]);
    let maps = session.process(pid).unwrap().maps().unwrap();
    let gap = maps.windows(2).find(|pair| pair[0].write && pair[0].end != pair[1].start).expect("a gap");
    let last = gap[0].end.offset(-4);
    let mut before = [0; 4];
    session.read_memory(pid, last, &mut before).unwrap();
    let answer = session.write_memory(pid, last, &[0xa5; 8]);
    assert!(matches!(answer, Err(Error::Memory { address, .. }) if address == gap[0].end), "{answer:?}");
    let mut after = [0; 8];
    // A read tells how much there is.
    assert_eq!(session.read_memory(pid, last, &mut after).unwrap(), 4);
    assert_eq!(after[..4], before);
    for nowhere in [Address(0), Address(0x10), Address(u64::MAX - 3), gap[0].end] {
        assert!(matches!(session.read_memory(pid, nowhere, &mut [0; 8]), Err(Error::Memory { .. })));
        assert!(matches!(session.write_memory(pid, nowhere, &[0; 8]), Err(Error::Memory { .. })));
        assert!(matches!(session.call(pid.leader(), nowhere, &[]), Err(Error::Call { .. })));
        let answer = session.insert(pid, &[Spec::count(nowhere), Spec::count(work)]).unwrap();
        assert_eq!(answer[0].unwrap_err().reason, InsertReason::NotMapped);
        answer[1].unwrap();
    }
    ends_as_undisturbed(&mut session, pid, "5");
}

#[test]
fn a_breakpoint_of_no_use_is_refused_by_its_reason_and_those_beside_it_are_inserted() {
    let (mut session, pid, work) = at_work(&["5"]);
    let register = Operand::Register(machine::ARGUMENTS[0]);
    let memory = |size| Operand::Memory { base: Some(machine::SP), offset: 0, size };
    let vector = ubp::arch::Reg::vector(0);
    let cases = [
        (register.is(Comparison::HasBits, 0), ConditionProblem::Always),
        (register.is(Comparison::Below, 0), ConditionProblem::Never),
        (memory(4).is(Comparison::Equal, 1 << 32), ConditionProblem::TooWide),
        (memory(3).is(Comparison::Equal, 1), ConditionProblem::Size(3)),
        (memory(0).is(Comparison::Equal, 1), ConditionProblem::Size(0)),
        (Operand::Register(vector).is(Comparison::Equal, 1), ConditionProblem::Register(vector)),
        (Operand::Arrivals.is(Comparison::Equal, 0), ConditionProblem::Never),
    ];
    let mut specs: Vec<Spec> = cases.iter().map(|(condition, _)| Spec::event(work).when(condition.clone())).collect();
    specs.push(Spec::event(work).thread(Tid(1)));
    specs.insert(3, Spec::count(work));
    let mut answers = session.insert(pid, &specs).unwrap();
    let good = answers.remove(3).unwrap();
    let reasons: Vec<InsertReason> = answers.into_iter().map(|answer| answer.unwrap_err().reason).collect();
    let mut expected: Vec<InsertReason> = cases.iter().map(|(_, problem)| InsertReason::Condition(*problem)).collect();
    expected.push(InsertReason::NoSuchThread(Tid(1)));
    assert_eq!(reasons, expected);
    assert_eq!(session.breakpoints(pid).map(|breakpoint| breakpoint.id()).collect::<Vec<_>>(), [good]);
    ends_as_undisturbed(&mut session, pid, "5");
}
