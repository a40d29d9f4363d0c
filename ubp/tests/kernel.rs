//! Sessions over the kernel module's channel: refusals and events.

mod common;

use std::io::{Read, Write};

use common::*;
use ubp::{
    Address, Buffer, Comparison, Error, EventKind, Mechanism, Operand, Options, Patch, Pid, Record, Session, Spec,
    WhenFull,
};

const DEVICE: &str = "/dev/ntrace";

fn is_loaded() -> bool {
    std::path::Path::new(DEVICE).exists()
}

fn quiet() -> Options {
    let mut options = Options::default();
    options.signals = false;
    options
}

/// Options that the module does not support.
fn vforks() -> Options {
    let mut options = quiet();
    options.vforks = true;
    options
}

#[test]
fn a_session_takes_the_module_where_it_is_loaded_and_can_do_what_is_asked_and_else_ptrace() {
    let best = if is_loaded() { Mechanism::Kernel } else { Mechanism::Ptrace };
    assert_eq!(Session::open(Mechanism::Auto, quiet()).unwrap().mechanism(), best);
    assert_eq!(Session::open(Mechanism::Auto, Options::default()).unwrap().mechanism(), best);
    assert_eq!(Session::open(Mechanism::Auto, vforks()).unwrap().mechanism(), Mechanism::Ptrace);
    assert_eq!(Session::open(Mechanism::Ptrace, quiet()).unwrap().mechanism(), Mechanism::Ptrace);
}

#[test]
fn what_the_module_cannot_do_or_its_absence_is_an_error_that_says_so() {
    let refused = Session::open(Mechanism::Kernel, vforks());
    assert!(matches!(refused, Err(Error::Unsupported { mechanism: Mechanism::Kernel, .. })), "{refused:?}");
    let session = Session::open(Mechanism::Kernel, quiet());
    if !is_loaded() {
        assert!(matches!(&session, Err(Error::File { path, .. }) if path.to_str() == Some(DEVICE)), "{session:?}");
    }
}

#[test]
fn a_function_called_at_each_instruction_of_another_disturbs_nothing_and_no_hit_is_counted_twice() {
    const NAME: &str = "a_function_called_at_each_instruction_of_another_disturbs_nothing_and_no_hit_is_counted_twice";
    if !is_loaded() {
        return skip(NAME, "no /dev/ntrace");
    }
    let counted = |calls: bool| {
        let (mut session, pid, work) = at_work(&["4"]);
        let base = load_address(&session, pid);
        let all = instructions(&build("loop", &[]), "work");
        let specs: Vec<Spec> = all.iter().map(|at| Spec::event(Address(base + at))).collect();
        let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
        session.resume(pid.leader()).unwrap();
        let mut hits = Vec::new();
        let outcome = run(&mut session, pid, |session, event| match event.kind {
            EventKind::Hit(_) if calls => assert_eq!(session.call(event.tid, work, &[6]).unwrap(), 90),
            EventKind::Exited(_) => {
                hits = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().hits()).collect();
            }
            _ => {}
        });
        (hits, outcome.text().to_string())
    };
    let plain = counted(false);
    assert_eq!(plain.0[0], 4, "{plain:?}");
    assert_eq!(counted(true), plain);
}

#[test]
fn the_kernel_decides_conditions_and_counts_hits_while_the_session_does_nothing() {
    const NAME: &str = "the_kernel_decides_conditions_and_counts_hits_while_the_session_does_nothing";
    if !is_loaded() {
        return skip(NAME, "no /dev/ntrace");
    }
    let argument = Operand::Register(machine::ARGUMENTS[0]);
    let low = Operand::Part { register: machine::ARGUMENTS[0], size: 1 };
    let is = |comparison, right: i64| argument.is(comparison, right as u64);
    // The caller's frame lies above the stack pointer.
    let stack = Operand::Memory { base: Some(machine::SP), offset: 16, size: 8 };
    for (condition, expected) in [
        (is(Comparison::Equal, 7), 1),
        (is(Comparison::Below, 10).and(is(Comparison::NotEqual, 5)), 8),
        (is(Comparison::Less, 3).or(is(Comparison::Greater, 297).and(is(Comparison::LessOrEqual, 299))), 4),
        (low.is(Comparison::Less, 0), 128),
        (low.is(Comparison::HasBits, 3).and(is(Comparison::AboveOrEqual, 256)), 11),
        (stack.is(Comparison::Equal, 1).or(stack.is(Comparison::NotEqual, 1)).and(is(Comparison::Above, 289)), 10),
    ] {
        let (mut session, pid, work) = at_work(&["300"]);
        session.insert(pid, &[Spec::event(work).once()]).unwrap();
        session.resume(pid.leader()).unwrap();
        while !matches!(session.wait().unwrap().unwrap().kind, EventKind::Hit(_)) {
            session.resume(pid.leader()).unwrap();
        }
        let id = session.insert(pid, &[Spec::count(work).when(condition.clone())]).unwrap()[0].unwrap();
        session.resume(pid.leader()).unwrap();
        // A thread that is held here never ends.
        await_end(pid);
        let breakpoint = session.breakpoint(pid, id).unwrap();
        // The thread was at the first call already.
        assert_eq!((breakpoint.hits(), breakpoint.arrivals()), (expected, 299), "{condition:?}");
        let mut last = 0;
        run(&mut session, pid, |session, event| {
            if let EventKind::Exited(_) = event.kind {
                last = session.breakpoint(pid, id).unwrap().hits();
            }
        });
        assert_eq!(last, expected, "{condition:?}");
    }
}

#[test]
fn hits_of_a_condition_are_kept_when_another_breakpoint_comes_and_goes() {
    const NAME: &str = "hits_of_a_condition_are_kept_when_another_breakpoint_comes_and_goes";
    if !is_loaded() {
        return skip(NAME, "no /dev/ntrace");
    }
    let (mut session, pid, work) = at_work(&["40"]);
    let odd = Operand::Register(machine::ARGUMENTS[0]).is(Comparison::HasBits, 1);
    let counted = session.insert(pid, &[Spec::count(work).when(odd)]).unwrap()[0].unwrap();
    let at = |call: u64| Operand::Register(machine::ARGUMENTS[0]).is(Comparison::Equal, call);
    let behind = Address(load_address(&session, pid) + instructions(&build("loop", &[]), "work")[1]);
    let mut seen = Vec::new();
    for call in [10, 20, 30] {
        // While the first one stands the session decides the condition of the other one. Beside the second one the kernel does.
        for stop in [Spec::event(work).when(at(call)), Spec::event(behind).ignore(4)] {
            let stop = session.insert(pid, &[stop]).unwrap()[0].unwrap();
            session.resume(pid.leader()).unwrap();
            while !matches!(session.wait().unwrap().unwrap().kind, EventKind::Hit(_)) {
                session.resume(pid.leader()).unwrap();
            }
            session.remove(pid, &[stop]).unwrap();
            let breakpoint = session.breakpoint(pid, counted).unwrap();
            seen.push((breakpoint.hits(), breakpoint.arrivals()));
        }
    }
    assert_eq!(seen, [(5, 11), (7, 15), (10, 21), (12, 25), (15, 31), (17, 35)]);
    session.resume(pid.leader()).unwrap();
    let mut last = 0;
    run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            last = session.breakpoint(pid, counted).unwrap().hits();
        }
    });
    assert_eq!(last, 20);
}

#[test]
fn a_call_over_the_module_keeps_red_zone_vectors_flags_and_signals() {
    if !is_loaded() {
        return skip("a_call_over_the_module_keeps_red_zone_vectors_flags_and_signals", "no /dev/ntrace");
    }
    let program = build("calls", &[]);
    let plain = undisturbed(&program, &[]);
    let mut session = Session::open(Mechanism::Kernel, quiet()).unwrap();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let [busy, nine] = ["at_busy", "nine"].map(|name| symbol(&session, pid, name));
    let ids = session.insert(pid, &[Spec::event(busy), Spec::count(nine)]).unwrap();
    session.resume(pid.leader()).unwrap();
    let (mut results, mut hits) = (Vec::new(), 0);
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(_) => {
            let values = [10, 20, 30, 40, 50, 60, 70, 80, 90];
            results.push(session.call(event.tid, nine, &values).unwrap());
        }
        EventKind::Exited(_) => hits = session.breakpoint(pid, *ids[0].as_ref().unwrap()).unwrap().hits(),
        _ => {}
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
    assert_eq!((results, hits), (vec![2850; 6], 6));
}

#[test]
fn calls_in_a_storm_of_signals_lose_none_and_tell_of_each_hit_once() {
    if !is_loaded() {
        return skip("calls_in_a_storm_of_signals_lose_none_and_tell_of_each_hit_once", "no /dev/ntrace");
    }
    const CALLS: u64 = 100;
    let program = build("calls", &[]);
    let (mut child, mut out) = start(&program, &["storm"]);
    assert_eq!(line(&mut out), "ready\n");
    let pid = Pid(child.id() as i32);
    let mut session = Session::open(Mechanism::Kernel, quiet()).unwrap();
    session.attach(pid).unwrap();
    let [busy, nine, handler] = ["at_busy", "nine", "on_number"].map(|name| symbol(&session, pid, name));
    let id = session.insert(pid, &[Spec::event(busy)]).unwrap()[0].unwrap();
    let (mut told, mut interrupted) = (0, 0);
    while told < CALLS || interrupted == 0 {
        let event = session.wait().unwrap().unwrap();
        if let EventKind::Hit(_) = event.kind {
            told += 1;
            assert_eq!(session.call(event.tid, nine, &[10, 20, 30, 40, 50, 60, 70, 80, 90]).unwrap(), 2850);
            let pc = session.registers(event.tid).unwrap().pc();
            assert!(pc == busy || pc == handler, "{pc:?}");
            interrupted += u64::from(pc == handler);
            // An event that is reported twice is a fault.
            assert_eq!(session.breakpoint(pid, id).unwrap().hits(), told);
        }
        session.resume(event.tid).unwrap();
    }
    session.detach(pid).unwrap();
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "1231 received 0 sum 0 wrong 0 blocked 0\n");
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn two_sessions_of_one_thread_each_have_their_debuggee() {
    if !is_loaded() {
        return skip("two_sessions_of_one_thread_each_have_their_debuggee", "no /dev/ntrace");
    }
    let mut both = [at_work(&["5"]), at_work(&["6"])];
    for ((session, pid, work), calls) in both.iter_mut().zip([5, 6]) {
        let id = session.insert(*pid, &[Spec::count(*work)]).unwrap()[0].unwrap();
        session.resume(pid.leader()).unwrap();
        let mut hits = 0;
        run(session, *pid, |session, event| {
            if let EventKind::Exited(_) = event.kind {
                hits = session.breakpoint(event.pid, id).unwrap().hits();
            }
        });
        assert_eq!(hits, calls);
    }
}

#[test]
fn a_thread_that_waits_in_a_system_call_is_held_and_the_call_goes_on_as_if_nothing_had_been() {
    if !is_loaded() {
        return skip("a_thread_that_waits_in_a_system_call_is_held", "no /dev/ntrace");
    }
    let (mut child, mut out) = start(&build("blocked", &[]), &[]);
    let pid = Pid(child.id() as i32);
    assert_eq!(line(&mut out), "ready\n");
    for _ in 0..10 {
        let mut session = Session::open(Mechanism::Kernel, quiet()).unwrap();
        session.attach(pid).unwrap();
        let seven = symbol(&session, pid, "seven");
        session.interrupt(pid).unwrap();
        for _ in 0..12 {
            let event = session.wait().unwrap().unwrap();
            assert_eq!(event.kind, EventKind::Interrupted);
            let before = format!("{:?}", session.registers(event.tid).unwrap());
            assert_eq!(session.call(event.tid, seven, &[]).unwrap(), 7);
            assert_eq!(format!("{:?}", session.registers(event.tid).unwrap()), before);
            session.registers(event.tid).unwrap();
            session.resume(event.tid).unwrap();
        }
    }
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "finished 12 interrupted 0 unexpected 0\n");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// The addresses in a function of loop.c to which the first thread comes by steps, from the first arrival on that is not ignored to the function's
/// end; the arrivals at each breakpoint, the program's text and its end.
type Walk = (Vec<u64>, Vec<u64>, String, EventKind);

/// Steps through a function of loop.c, over calls where `over`, with breakpoints that count on every instruction of `work` where `sites`.
fn walk(mechanism: Mechanism, function: &str, ignored: u64, over: bool, sites: bool) -> Walk {
    let program = build("loop", &[]);
    let mut session = Session::open(mechanism, quiet()).unwrap();
    let pid = session.spawn(piped(&program, &["6"])).unwrap();
    let tid = pid.leader();
    let base = load_address(&session, pid);
    let body = instructions(&program, function);
    let counted = if sites { instructions(&program, "work") } else { Vec::new() };
    let mut specs: Vec<Spec> = counted.iter().map(|at| Spec::count(Address(base + at))).collect();
    specs.push(Spec::event(Address(base + body[0])).ignore(ignored).once());
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    session.resume(tid).unwrap();
    let mut out = session.take_stdio(pid).stdout.unwrap();
    let (mut path, mut hits) = (Vec::new(), Vec::new());
    let end = loop {
        let event = session.wait().unwrap().unwrap();
        match event.kind {
            EventKind::Exited(_) | EventKind::Killed(_) => {
                hits.extend(counted.iter().zip(&ids).map(|(_, id)| session.breakpoint(pid, *id).unwrap().hits()));
                break event.kind;
            }
            EventKind::Hit(_) | EventKind::Stepped => {
                let at = session.registers(tid).unwrap().pc().0.wrapping_sub(base);
                path.push(at);
                assert!(path.len() < 1000, "{path:x?}");
                match (body.contains(&at), over) {
                    (true, true) => session.step_over(tid).unwrap(),
                    (true, false) => session.step(tid).unwrap(),
                    (false, _) => session.resume(tid).unwrap(),
                }
            }
            _ if event.is_held() => session.resume(event.tid).unwrap(),
            _ => {}
        }
    };
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    // The address behind the function is one of another file's, where that is loaded.
    path.pop();
    (path, hits, text, end)
}

#[test]
fn steps_over_the_module_go_where_those_over_ptrace_go_whatever_breakpoints_there_are() {
    const NAME: &str = "steps_over_the_module_go_where_those_over_ptrace_go_whatever_breakpoints_there_are";
    if !is_loaded() {
        return skip(NAME, "no /dev/ntrace");
    }
    let plain = undisturbed(&build("loop", &[]), &["6"]);
    for (function, ignored, over) in [("work", 4, false), ("main", 0, true)] {
        let (expected, _, text, end) = walk(Mechanism::Ptrace, function, ignored, over, false);
        assert!(expected.len() > 10, "{expected:x?}");
        assert_eq!(text.as_bytes(), plain.stdout);
        let (_, counts, ..) = walk(Mechanism::Ptrace, function, ignored, over, true);
        for sites in [false, true] {
            let (path, hits, told, ended) = walk(Mechanism::Kernel, function, ignored, over, sites);
            assert_eq!(path, expected, "{function}, sites: {sites}");
            assert_eq!((told, ended), (text.clone(), end.clone()), "{function}, sites: {sites}");
            assert_eq!(hits, if sites { counts.clone() } else { Vec::new() }, "{function}, sites: {sites}");
        }
    }
}

/// The records of calls of `work` in loop.c, which is called so often, the number of lost ones, and the hits of the breakpoint. Where `late`, the
/// session takes nothing before the process has ended.
fn recorded(
    mechanism: Mechanism,
    when_full: WhenFull,
    calls: u64,
    late: bool,
    spec: fn(Spec) -> Spec,
) -> (Vec<Record>, u64, u64) {
    let program = build("loop", &[]);
    let mut options = quiet();
    options.buffer = Buffer { when_full, records: 64, stack: 256 };
    let mut session = Session::open(mechanism, options).unwrap();
    let pid = session.spawn(piped(&program, &[&calls.to_string()])).unwrap();
    let base = load_address(&session, pid);
    let [main, work] = ["main", "work"].map(|name| Address(base + instructions(&program, name)[0]));
    session.insert(pid, &[Spec::event(main).once()]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    // The loader is done: nothing holds the thread from here on.
    while !matches!(session.wait().unwrap().unwrap().kind, EventKind::Hit(_)) {
        session.resume(pid.leader()).unwrap();
    }
    let id = session.insert(pid, &[spec(Spec::record(work).patch(Patch::Trap))]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    if late {
        await_end(pid);
    }
    let (mut records, mut hits) = (Vec::new(), 0);
    run(&mut session, pid, |session, event| {
        records.extend(session.take_records());
        if let EventKind::Exited(_) = event.kind {
            hits = session.breakpoint(pid, id).unwrap().hits();
        }
    });
    assert!(records.iter().all(|record| record.pid == pid && record.tid == pid.leader() && record.address == work));
    assert!(records.is_sorted_by_key(|record| record.time));
    (records, session.lost_records(), hits)
}

/// What is equal in each run: the arguments, and where the caller lies in its page.
fn shape(records: &[Record]) -> Vec<(u64, Option<u64>)> {
    records.iter().map(|record| (record.arguments[0], record.return_address.map(|at| at.0 % 4096))).collect()
}

#[test]
fn hits_are_recorded_over_the_module_as_over_ptrace_whoever_makes_the_record() {
    if !is_loaded() {
        return skip("hits_are_recorded_over_the_module_as_over_ptrace", "no /dev/ntrace");
    }
    const CALLS: u64 = 500;
    let specs: [fn(Spec) -> Spec; 4] = [
        |spec| spec,
        // The thread is held: the module tells of no stack, and ignores nothing.
        Spec::with_stack,
        |spec| spec.ignore(3),
        // The module evaluates the condition.
        |spec| spec.when(Operand::Memory { base: None, offset: 8, size: 8 }.is(Comparison::Equal, 0)),
    ];
    for (number, spec) in specs.into_iter().enumerate() {
        let of = |mechanism| recorded(mechanism, WhenFull::Wait, CALLS, false, spec);
        let (kernel, ptrace) = (of(Mechanism::Kernel), of(Mechanism::Ptrace));
        assert_eq!(shape(&kernel.0), shape(&ptrace.0), "{number}");
        assert_eq!((kernel.1, kernel.2), (ptrace.1, ptrace.2), "{number}");
        let stacks = |records: &[Record]| {
            records.iter().map(|record| record.stack.as_ref().map(|stack| stack.bytes.len())).collect::<Vec<_>>()
        };
        assert_eq!(stacks(&kernel.0), stacks(&ptrace.0), "{number}");
        let expected = [CALLS, CALLS, CALLS - 3, 0][number];
        assert_eq!(kernel.0.len() as u64, expected, "{number}");
    }
}

#[test]
fn hits_without_room_in_the_channel_are_lost_as_the_buffer_says_and_counted() {
    if !is_loaded() {
        return skip("hits_without_room_in_the_channel_are_lost", "no /dev/ntrace");
    }
    const CALLS: u64 = 500;
    let (all, ..) = recorded(Mechanism::Kernel, WhenFull::Wait, CALLS, false, |spec| spec);
    for (when_full, is_first) in [(WhenFull::Drop, true), (WhenFull::Overwrite, false)] {
        let (records, lost, hits) = recorded(Mechanism::Kernel, when_full, CALLS, true, |spec| spec);
        assert_eq!((records.len() as u64 + lost, hits), (CALLS, CALLS), "{when_full:?}");
        assert!(lost > CALLS / 2 && records.len() >= 60, "{when_full:?} {lost}");
        let kept = if is_first { &all[..records.len()] } else { &all[all.len() - records.len()..] };
        assert_eq!(shape(&records), shape(kept), "{when_full:?}");
    }
}
