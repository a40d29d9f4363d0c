//! Steps, and runs to an address.
#![cfg(target_arch = "x86_64")]

mod common;

use std::io::Read;
use std::process::{Command, Stdio};

use common::*;
use ubp::{Address, BreakpointId, Error, EventKind, InsertReason, Options, Pid, Session, Signal, Spec, Tid};

/// A session over ptrace, and a program of steps.c held at its first instruction.
fn spawned(flags: &[&str], arguments: &[&str], signals: bool) -> (Session, Pid, u64) {
    let program = build("steps", flags);
    let mut options = Options::default();
    options.signals = signals;
    let mut session = Session::with_options(options).unwrap();
    let pid = session.spawn(piped(&program, arguments)).unwrap();
    let base = if is_pie(&program) { load_address(&session, pid) } else { 0 };
    (session, pid, base)
}

/// Lets the first thread run to a symbol.
fn run_to(session: &mut Session, pid: Pid, base: u64, name: &str) {
    let path = session.process(pid).unwrap().executable().to_path_buf();
    session.run_to(pid.leader(), Address(base + symbols(&path)[name])).unwrap();
    loop {
        let event = session.wait().unwrap().unwrap();
        match event.kind {
            EventKind::Stepped => break,
            EventKind::Loaded(_) => session.resume(event.tid).unwrap(),
            kind => panic!("{kind:?} on the way to {name}"),
        }
    }
}

/// The next event of a thread that was let run for a step, of which `kind` must be the kind.
fn expect(session: &mut Session, kind: &EventKind) {
    let event = session.wait().unwrap().unwrap();
    assert_eq!(event.kind, *kind, "at {:?}", session.registers(event.tid));
}

fn pc(session: &mut Session, pid: Pid) -> u64 {
    session.registers(pid.leader()).unwrap().pc().0
}

/// Resumes the first thread, and returns what the program writes.
fn text(session: &mut Session, pid: Pid) -> String {
    let mut out = session.take_stdio(pid).stdout.unwrap();
    session.resume(pid.leader()).unwrap();
    while session.wait().unwrap().map(|event| event.is_held().then(|| session.resume(event.tid))).is_some() {}
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    text
}

/// The addresses to which the processor's own single step takes the program between two symbols.
fn single_stepped(flags: &[&str], from: &str, to: &str) -> Vec<u64> {
    use std::os::unix::process::CommandExt;
    let program = build("steps", flags);
    let names = symbols(&program);
    let mut command = Command::new(&program);
    command.arg("path").stdout(Stdio::null());
    let trace_me = || {
        // SAFETY: the request takes nothing.
        unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
        Ok(())
    };
    // SAFETY: the closure makes one system call.
    unsafe { command.pre_exec(trace_me) };
    #[expect(clippy::zombie_processes, reason = "waitpid takes its end below")]
    let child = command.spawn().unwrap();
    let pid = child.id() as i32;
    let wait = || {
        let mut status = 0;
        // SAFETY: the status is live.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        libc::WIFSTOPPED(status)
    };
    let base = || {
        if !is_pie(&program) {
            return 0;
        }
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let line = maps.lines().find(|line| line.ends_with(program.to_str().unwrap())).unwrap();
        u64::from_str_radix(line.split_once('-').unwrap().0, 16).unwrap()
    };
    // SAFETY: the requests take numbers, and all registers are a live structure.
    unsafe {
        assert!(wait());
        let base = base();
        let at = (base + names[from]) as usize;
        let word = libc::ptrace(libc::PTRACE_PEEKTEXT, pid, at, 0);
        libc::ptrace(libc::PTRACE_POKETEXT, pid, at, word & !0xff | 0xcc);
        libc::ptrace(libc::PTRACE_CONT, pid, 0, 0);
        assert!(wait());
        libc::ptrace(libc::PTRACE_POKETEXT, pid, at, word);
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers);
        registers.rip -= 1;
        libc::ptrace(libc::PTRACE_SETREGS, pid, 0, &raw mut registers);
        let mut all = vec![names[from]];
        while registers.rip != base + names[to] {
            libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, 0);
            assert!(wait());
            libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers);
            all.push(registers.rip - base);
        }
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL);
        all
    }
}

#[test]
fn steps_go_where_the_processor_steps_whatever_breakpoints_there_are() {
    for flags in machine::WIDTHS {
        let flags: Vec<&str> = flags.iter().copied().chain(["-no-pie"]).collect();
        let expected = single_stepped(&flags, "at_begin", "at_end");
        let program = build("steps", &flags);
        let names = symbols(&program);
        let sites: Vec<u64> = ["path", "deep"].into_iter().flat_map(|name| instructions(&program, name)).collect();
        let plain = undisturbed(&program, &["path"]);
        assert_eq!(plain.stdout, b"abcde 0\n");
        for chosen in 0..4 {
            let (mut session, pid, base) = spawned(&flags, &["path"], true);
            let picked = sites.iter().enumerate().filter(|(at, _)| match chosen {
                0 => false,
                1 => true,
                2 => at % 2 == 0,
                _ => at % 3 == 0,
            });
            let specs: Vec<Spec> = picked.map(|(_, site)| Spec::count(Address(base + site))).collect();
            for answer in session.insert(pid, &specs).unwrap() {
                answer.unwrap();
            }
            run_to(&mut session, pid, base, "at_begin");
            let mut seen = vec![pc(&mut session, pid) - base];
            while *seen.last().unwrap() != names["at_end"] {
                session.step(pid.leader()).unwrap();
                expect(&mut session, &EventKind::Stepped);
                seen.push(pc(&mut session, pid) - base);
                assert!(seen.len() < 200, "{flags:?} {chosen} {seen:x?}");
            }
            // The processor does not stop behind `mov ss`; a copy of it in a slot is a step.
            let held_off = sites[sites.iter().position(|site| *site == names["at_behind_repeat"]).unwrap() + 2];
            seen.retain(|at| *at != held_off || expected.contains(at));
            assert_eq!(seen, expected, "{flags:?} {chosen}");
            // Every breakpoint counts what it would without steps.
            let count = |at: u64| {
                let times = expected.iter().filter(|step| **step == at).count() as u64;
                if at == names["at_repeat"] { 1 } else { times }
            };
            for breakpoint in session.breakpoints(pid) {
                let at = breakpoint.address().0 - base;
                let is_inside = at >= names["at_begin"] && at != names["at_end"];
                if is_inside && at != held_off {
                    assert_eq!(breakpoint.hits(), count(at), "{flags:?} {chosen} {at:#x}");
                }
            }
            assert_eq!(text(&mut session, pid).as_bytes(), plain.stdout, "the program sees no trap flag");
        }
    }
}

#[test]
fn an_arrival_by_a_step_is_the_hit_and_counts_once() {
    let (mut session, pid, base) = spawned(&[], &["path"], true);
    run_to(&mut session, pid, base, "at_begin");
    let program = build("steps", &[]);
    let sites = instructions(&program, "path");
    let next = sites.iter().copied().find(|site| *site > symbols(&program)["at_begin"]).unwrap();
    let answers = session.insert(pid, &[Spec::event(Address(base + next)), Spec::count(Address(base + next))]).unwrap();
    let ids: Vec<BreakpointId> = answers.into_iter().map(Result::unwrap).collect();
    let hits = |session: &Session| [0, 1].map(|at| session.breakpoint(pid, ids[at]).unwrap().hits());
    for round in 1..=3 {
        // To the loop's first instruction: from before it, and then twice from its end.
        session.step(pid.leader()).unwrap();
        let event = session.wait().unwrap().unwrap();
        let EventKind::Hit(hit) = &event.kind else { panic!("{event:?}") };
        assert_eq!((hit.id(), hit.count(), hits(&session)), (ids[0], round, [round, round]));
        assert_eq!(pc(&mut session, pid), base + next);
        session.step(pid.leader()).unwrap();
        expect(&mut session, &EventKind::Stepped);
        assert_eq!(hits(&session), [round, round]);
    }
    assert_eq!(text(&mut session, pid), "abcde 0\n");
}

#[test]
fn a_call_is_passed_as_a_whole_in_its_own_frame() {
    for flags in machine::WIDTHS {
        let flags: &[&str] = &[&["-no-pie"], *flags].concat();
        for sites in [false, true] {
            let (mut session, pid, base) = spawned(flags, &["path"], true);
            let program = build("steps", flags);
            let names = symbols(&program);
            let at = |name: &str| base + names[name];
            if sites {
                let all = ["path", "deep"].into_iter().flat_map(|name| instructions(&program, name));
                let specs: Vec<Spec> = all.map(|site| Spec::count(Address(base + site))).collect();
                session.insert(pid, &specs).unwrap();
            }
            run_to(&mut session, pid, base, "at_call");
            let outer = session.registers(pid.leader()).unwrap().sp();
            // Into the recursion, to its second call.
            for _ in 0..2 {
                run_to(&mut session, pid, base, "at_deeper");
            }
            let sp = session.registers(pid.leader()).unwrap().sp();
            assert!(sp < outer);
            session.step_over(pid.leader()).unwrap();
            expect(&mut session, &EventKind::Stepped);
            let registers = session.registers(pid.leader()).unwrap();
            // Deeper frames came by the same place before.
            assert_eq!((registers.pc().0, registers.sp()), (at("at_behind_deeper"), sp));
            run_to(&mut session, pid, base, "at_repeat");
            session.step_over(pid.leader()).unwrap();
            expect(&mut session, &EventKind::Stepped);
            assert_eq!(pc(&mut session, pid), at("at_behind_repeat"));
            // A call of the next instruction, which pops its return address, does not return.
            while pc(&mut session, pid) != at("at_end") {
                session.step_over(pid.leader()).unwrap();
                expect(&mut session, &EventKind::Stepped);
            }
            assert_eq!(text(&mut session, pid), "abcde 0\n", "{flags:?} {sites}");
        }
    }
}

#[test]
fn places_that_threads_ran_to_hold_no_breakpoint_afterwards() {
    let (mut session, pid, base) = spawned(&[], &["path"], true);
    run_to(&mut session, pid, base, "at_call");
    session.step_over(pid.leader()).unwrap();
    expect(&mut session, &EventKind::Stepped);
    let program = build("steps", &[]);
    let (file, offset) = (std::fs::read(&program).unwrap(), symbols(&program));
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    for name in ["at_call", "at_behind_call"] {
        let mut byte = [0];
        std::os::unix::fs::FileExt::read_exact_at(&memory, &mut byte, base + offset[name]).unwrap();
        // The first segments of this program lie in memory as in its file.
        assert_eq!(byte[0], file[offset[name] as usize], "{name}");
    }
    assert_eq!(text(&mut session, pid), "abcde 0\n");
}

#[test]
fn a_signal_that_comes_in_a_step_leads_to_its_handler_and_the_program_goes_on_as_alone() {
    for signals in [false, true] {
        for sites in [false, true] {
            let (mut session, pid, base) = spawned(&[], &["signal"], signals);
            let program = build("steps", &[]);
            if sites {
                let all = ["main", "on_usr1"].into_iter().flat_map(|name| instructions(&program, name));
                session.insert(pid, &all.map(|site| Spec::count(Address(base + site))).collect::<Vec<_>>()).unwrap();
            }
            run_to(&mut session, pid, base, "main");
            let mut out = session.take_stdio(pid).stdout.unwrap();
            let handler = base + symbols(&program)["on_usr1"];
            let (mut handled, mut told, mut steps) = (0, 0, 0);
            session.step(pid.leader()).unwrap();
            let status = loop {
                let event = session.wait().unwrap().unwrap();
                match event.kind {
                    EventKind::Stepped => {
                        handled += u32::from(pc(&mut session, pid) == handler);
                        steps += 1;
                        session.step(event.tid).unwrap();
                    }
                    EventKind::Signal(signal) => {
                        assert_eq!(signal.signal, Signal(libc::SIGUSR1));
                        told += 1;
                        session.resume(event.tid).unwrap();
                    }
                    EventKind::Exited(status) => break status,
                    kind => panic!("{kind:?}"),
                }
            };
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            assert_eq!((text.as_str(), status, handled), ("signals 3\n", 5, 3), "{signals} {sites} after {steps}");
            assert_eq!(told, if signals { 3 } else { 0 });
        }
    }
}

#[test]
fn a_program_that_steps_itself_does_so_while_it_is_stepped() {
    let program = build("signals", &["-fno-pie", "-no-pie"]);
    let plain = undisturbed(&program, &["trap"]);
    assert!(!plain.stdout.is_empty());
    for sites in [false, true] {
        for signals in [false, true] {
            let mut options = Options::default();
            options.signals = signals;
            let mut session = Session::with_options(options).unwrap();
            let pid = session.spawn(piped(&program, &["trap"])).unwrap();
            if sites {
                let all = instructions(&program, "trap_flag_case").into_iter().chain(instructions(&program, "on_step"));
                session.insert(pid, &all.map(|site| Spec::count(Address(site))).collect::<Vec<_>>()).unwrap();
            }
            run_to(&mut session, pid, 0, "main");
            let mut out = session.take_stdio(pid).stdout.unwrap();
            session.step(pid.leader()).unwrap();
            loop {
                let event = session.wait().unwrap().unwrap();
                match event.kind {
                    EventKind::Stepped => session.step(event.tid).unwrap(),
                    EventKind::Exited(status) => {
                        assert_eq!(Some(status), plain.status.code());
                        break;
                    }
                    _ => session.resume(event.tid).unwrap(),
                }
            }
            let mut text = Vec::new();
            out.read_to_end(&mut text).unwrap();
            assert_eq!(String::from_utf8_lossy(&text), String::from_utf8_lossy(&plain.stdout), "{sites} {signals}");
        }
    }
}

#[test]
fn the_loader_is_stepped_through_and_tells_what_it_loads() {
    let kinds = |stepping: bool| {
        let (mut session, pid, _) = spawned(&[], &["signal"], false);
        let mut out = session.take_stdio(pid).stdout.unwrap();
        let mut kinds = Vec::new();
        let next = |session: &mut Session, tid: Tid| {
            if stepping { session.step(tid).unwrap() } else { session.resume(tid).unwrap() }
        };
        next(&mut session, pid.leader());
        while let Some(event) = session.wait().unwrap() {
            if event.is_held() {
                next(&mut session, event.tid);
            }
            match event.kind {
                EventKind::Stepped => {}
                // The addresses differ from run to run.
                EventKind::Loaded(modules) => {
                    let names = modules.iter().map(|module| module.path.display().to_string());
                    kinds.push(format!("loaded {}", names.collect::<Vec<_>>().join(" ")));
                }
                kind => kinds.push(format!("{kind:?}")),
            }
        }
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        (kinds, text)
    };
    assert_eq!(kinds(true), kinds(false));
}

#[test]
fn a_step_ends_with_a_fork_an_exec_or_the_programs_end_by_that_event() {
    for (argument, last, output) in [("fork", 5, "child 7\n"), ("exec", 5, "signals 3\n"), ("none", 5, "")] {
        let (mut session, pid, base) = spawned(&[], &[argument], false);
        run_to(&mut session, pid, base, "main");
        let mut out = session.take_stdio(pid).stdout.unwrap();
        session.step(pid.leader()).unwrap();
        let mut kinds = Vec::new();
        while let Some(event) = session.wait().unwrap() {
            match event.kind {
                EventKind::Stepped => session.step(event.tid).unwrap(),
                EventKind::Forked { child } => {
                    // The child runs without steps, and its memory has no place that the parent runs to.
                    session.resume(child.leader()).unwrap();
                    session.resume(event.tid).unwrap();
                    kinds.push("forked");
                }
                EventKind::Exec => {
                    kinds.push("exec");
                    session.resume(event.tid).unwrap();
                }
                EventKind::Exited(status) if event.pid == pid => assert_eq!(status, last),
                EventKind::Exited(status) => assert_eq!(status, 7),
                _ => session.resume(event.tid).unwrap(),
            }
        }
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        assert_eq!(text, output);
        let expected: &[&str] = match argument {
            "fork" => &["forked"],
            "exec" => &["exec"],
            _ => &[],
        };
        assert_eq!(kinds, expected);
    }
}

#[test]
fn a_thread_runs_to_an_address_that_other_threads_pass() {
    let program = build("threads", &[]);
    let plain = undisturbed(&program, &[]);
    let mut options = Options::default();
    options.signals = false;
    let mut session = Session::with_options(options).unwrap();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let leaf = symbol(&session, pid, "leaf");
    session.resume(pid.leader()).unwrap();
    let (mut waiting, mut reached) = (Vec::new(), 0);
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::ThreadStarted => waiting.push(event.tid),
        EventKind::Stepped => {
            assert_eq!(session.registers(event.tid).unwrap().pc(), leaf);
            reached += 1;
        }
        _ => {}
    });
    assert_eq!((outcome.output.clone(), reached), (plain.stdout.clone(), 0));
    drop(session);

    let mut session = Session::with_options(options).unwrap();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let leaf = symbol(&session, pid, "leaf");
    let mut out = session.take_stdio(pid).stdout.unwrap();
    session.resume(pid.leader()).unwrap();
    let mut reached = Vec::new();
    while let Some(event) = session.wait().unwrap() {
        match event.kind {
            EventKind::ThreadStarted => session.run_to(event.tid, leaf).unwrap(),
            EventKind::Stepped => {
                assert_eq!(session.registers(event.tid).unwrap().pc(), leaf);
                reached.push(event.tid);
                session.resume(event.tid).unwrap();
            }
            _ if event.is_held() => session.resume(event.tid).unwrap(),
            _ => {}
        }
    }
    reached.sort_unstable();
    let all = reached.len();
    reached.dedup();
    assert_eq!((all, reached.len()), (8, 8), "each thread came there once, and passed it afterwards");
    let mut text = Vec::new();
    out.read_to_end(&mut text).unwrap();
    assert_eq!(text, plain.stdout);
}

#[test]
fn a_step_that_cannot_be_begun_leaves_the_thread_as_it_was() {
    let (mut session, pid, base) = spawned(&[], &["path"], true);
    assert!(matches!(session.step(Tid(1)), Err(Error::NoSuchThread(_))));
    assert!(matches!(session.step_over(Tid(1)), Err(Error::NoSuchThread(_))));
    assert!(matches!(session.run_to(Tid(1), Address(base)), Err(Error::NoSuchThread(_))));
    for nowhere in [Address(0), Address(0x10), Address(u64::MAX)] {
        let answer = session.run_to(pid.leader(), nowhere);
        let is_refused = matches!(answer, Err(Error::Insert(error)) if error.reason == InsertReason::NotMapped);
        assert!(is_refused, "{answer:?}");
    }
    run_to(&mut session, pid, base, "at_begin");
    session.resume(pid.leader()).unwrap();
    for answer in
        [session.step(pid.leader()), session.step_over(pid.leader()), session.run_to(pid.leader(), Address(base))]
    {
        assert!(matches!(answer, Err(Error::NotHeld(_))), "{answer:?}");
    }
    assert_eq!(exit_of(&run(&mut session, pid, |_, _| {})), EventKind::Exited(5));
}

#[test]
fn an_interruption_and_a_breakpoint_end_a_run_that_was_under_way() {
    let (mut session, pid, base) = spawned(&[], &["path"], true);
    run_to(&mut session, pid, base, "at_call");
    let deeper = Address(base + symbols(&build("steps", &[]))["at_deeper"]);
    let id = session.insert(pid, &[Spec::event(deeper).once()]).unwrap()[0].unwrap();
    session.step_over(pid.leader()).unwrap();
    let event = session.wait().unwrap().unwrap();
    assert!(matches!(&event.kind, EventKind::Hit(hit) if hit.is_of(id)), "{event:?}");
    // The run is over: nothing holds the thread behind the call.
    session.resume(pid.leader()).unwrap();
    let event = session.wait().unwrap().unwrap();
    assert!(matches!(event.kind, EventKind::Exited(5)), "{event:?}");
}
