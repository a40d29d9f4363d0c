//! Watchpoints by the processor's debug registers.

mod common;

use std::io::Write as _;
use std::process::Stdio;

use common::*;
use ubp::{
    Access, Address, BreakpointId, Error, Event, EventKind, Mechanism, Options, Pid, Session, Spec, Tid, WatchId,
    WatchReason,
};

fn quiet() -> Session {
    let mut options = Options::default();
    (options.signals, options.threads) = (false, false);
    Session::open(mechanism(), options).unwrap()
}

/// Whether this machine has debug registers; a virtual machine may lack them. A test that cannot run is named.
fn can_watch(test: &str) -> bool {
    let mut session = quiet();
    let pid = session.spawn(piped(&build("watched", &[]), &["store", "1"])).unwrap();
    let words = symbol(&session, pid, "words");
    let watched = session.watch(pid, words, 4, Access::Write);
    let works = watched.is_ok() && {
        session.resume(pid.leader()).unwrap();
        let mut hits = 0;
        run(&mut session, pid, |_, event| hits += u32::from(matches!(event.kind, EventKind::Watched { .. })));
        hits > 0
    };
    if !works {
        skip(test, "the debug registers of this machine do not work");
    }
    works
}

fn spawn(flags: &[&str], args: &[&str]) -> (Session, Pid) {
    let mut session = quiet();
    let pid = session.spawn(piped(&build("watched", flags), args)).unwrap();
    (session, pid)
}

/// Breakpoints that only count on every instruction of functions.
fn sites(session: &mut Session, pid: Pid, functions: &[&str]) -> Vec<BreakpointId> {
    let program = session.process(pid).unwrap().executable().to_path_buf();
    let base = load_address(session, pid);
    let all = functions.iter().flat_map(|function| instructions(&program, function));
    let specs: Vec<Spec> = all.map(|at| Spec::count(Address(base + at))).collect();
    session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect()
}

fn word(session: &mut Session, pid: Pid, address: Address) -> u64 {
    let mut raw = [0; 8];
    session.read_memory(pid, address, &mut raw[..4]).unwrap();
    u64::from_le_bytes(raw)
}

fn watched(event: &Event) -> Option<(WatchId, Address)> {
    match event.kind {
        EventKind::Watched { id, address } => Some((id, address)),
        _ => None,
    }
}

/// The values that `words[0]` had when each event of a watchpoint arrived, and the program's output.
fn stores(flags: &[&str], with_sites: bool) -> (Vec<u64>, String) {
    let (mut session, pid) = spawn(flags, &["store", "20"]);
    let words = symbol(&session, pid, "words");
    if with_sites {
        sites(&mut session, pid, &["store", "load"]);
    }
    let id = session.watch(pid, words, 4, Access::Write).unwrap();
    session.resume(pid.leader()).unwrap();
    let store = symbol(&session, pid, "store");
    let mut values = Vec::new();
    let outcome = run(&mut session, pid, |session, event| {
        if let Some(hit) = watched(event) {
            assert_eq!(hit, (id, words));
            values.push(word(session, pid, words));
            let pc = session.registers(event.tid).unwrap().pc();
            assert!(pc >= store && pc < store + 32, "pc {pc} is not in the function that writes at {store}");
        }
    });
    assert_eq!(exit_of(&outcome), EventKind::Exited(5));
    (values, outcome.text().to_string())
}

#[test]
fn every_write_is_told_with_and_without_breakpoints_in_programs_of_any_width() {
    if !can_watch("every_write_is_told_with_and_without_breakpoints_in_programs_of_any_width") {
        return;
    }
    for flags in widths("every_write_is_told_with_and_without_breakpoints_in_programs_of_any_width") {
        let plain = undisturbed(&build("watched", flags), &["store", "20"]);
        for with_sites in [false, true] {
            let (values, text) = stores(flags, with_sites);
            let first = u64::from(machine::WATCH_IS_BEHIND);
            assert_eq!(values, Vec::from_iter(first..first + 20), "{flags:?}, sites: {with_sites}");
            assert_eq!(text, String::from_utf8_lossy(&plain.stdout));
        }
    }
}

#[test]
fn reads_are_told_by_a_watchpoint_of_both() {
    if !can_watch("reads_are_told_by_a_watchpoint_of_both") {
        return;
    }
    for with_sites in [false, true] {
        let (mut session, pid) = spawn(&[], &["store", "20"]);
        if with_sites {
            sites(&mut session, pid, &["store", "load"]);
        }
        let words = symbol(&session, pid, "words");
        session.watch(pid, words, 8, Access::ReadWrite).unwrap();
        session.resume(pid.leader()).unwrap();
        let mut hits = 0;
        let outcome = run(&mut session, pid, |_, event| hits += u32::from(watched(event).is_some()));
        assert_eq!(exit_of(&outcome), EventKind::Exited(5));
        // 20 stores, 20 loads, and the load for the last line.
        assert_eq!(hits, 41);
    }
}

#[test]
fn a_return_address_that_the_tracer_pushes_is_told() {
    if !can_watch("a_return_address_that_the_tracer_pushes_is_told") || machine::LINK_REGISTER {
        return;
    }
    let (mut session, pid) = spawn(&[], &["call", "3"]);
    let program = session.process(pid).unwrap().executable().to_path_buf();
    let base = load_address(&session, pid);
    let leaf = symbol(&session, pid, "leaf");
    let caller = instructions(&program, "caller");
    sites(&mut session, pid, &["caller", "leaf"]);
    let first = session.insert(pid, &[Spec::event(Address(base + caller[0]))]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let mut watch = None;
    let mut at_leaf = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if matches!(&event.kind, EventKind::Hit(hit) if hit.id() == first) && watch.is_none() {
            // The call in `caller` pushes below its own frame.
            let sp = session.registers(event.tid).unwrap().sp();
            let below = Address(sp.0 - 8 - 8 * u64::from(caller_frame(&program) > 0));
            watch = Some(session.watch(pid, below, 8, Access::Write).unwrap());
        }
        if watched(event).is_some() && session.registers(event.tid).unwrap().pc() == leaf {
            at_leaf += 1;
        }
    });
    assert_eq!(exit_of(&outcome), EventKind::Exited(5));
    assert_eq!(at_leaf, 3);
}

#[test]
fn an_access_by_the_kernel_is_told_over_the_module_alone() {
    if !can_watch("an_access_by_the_kernel_is_told_over_the_module_alone") {
        return;
    }
    let mut session = quiet();
    let mut command = piped(&build("watched", &[]), &["read"]);
    command.stdin(Stdio::piped());
    let pid = session.spawn(command).unwrap();
    let mut pipes = session.take_stdio(pid);
    pipes.stdin.take().unwrap().write_all(b"four").unwrap();
    let bytes = symbol(&session, pid, "bytes");
    let id = session.watch(pid, bytes, 4, Access::Write).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = Vec::new();
    run(&mut session, pid, |_, event| hits.extend(watched(event)));
    let expected = if mechanism() == Mechanism::Kernel { vec![(id, bytes)] } else { Vec::new() };
    assert_eq!(hits, expected);
}

/// The words that `caller` takes of the stack before its call: none if its first instruction is the call.
fn caller_frame(program: &std::path::Path) -> u32 {
    let output =
        std::process::Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let body = text.split("<caller>:\n").nth(1).unwrap().split("\n\n").next().unwrap().to_string();
    u32::from(!body.lines().next().unwrap().contains("call"))
}

#[test]
fn every_thread_is_watched_also_new_ones() {
    if !can_watch("every_thread_is_watched_also_new_ones") {
        return;
    }
    let (mut session, pid) = spawn(&[], &["threads", "5"]);
    let words = symbol(&session, pid, "words");
    session.watch(pid, words, 8, Access::Write).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut tids: Vec<Tid> = Vec::new();
    let outcome = run(&mut session, pid, |_, event| tids.extend(watched(event).map(|_| event.tid)));
    assert_eq!(exit_of(&outcome), EventKind::Exited(5));
    assert_eq!(tids.len(), 5);
    assert!(!tids.contains(&pid.leader()));
}

#[test]
fn a_forked_child_has_a_copy_of_the_watchpoint() {
    if !can_watch("a_forked_child_has_a_copy_of_the_watchpoint") {
        return;
    }
    let (mut session, pid) = spawn(&[], &["fork"]);
    let words = symbol(&session, pid, "words");
    let id = session.watch(pid, words, 8, Access::Write).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = Vec::new();
    run(&mut session, pid, |session, event| {
        if let EventKind::Forked { .. } = event.kind {
            session.unwatch(pid, id).unwrap();
        }
        hits.extend(watched(event).map(|hit| (event.pid == pid, hit)));
    });
    assert_eq!(hits, [(false, (id, words))], "the parent's watchpoint is removed, the child's is not");
}

#[test]
fn an_exec_ends_watchpoints() {
    if !can_watch("an_exec_ends_watchpoints") {
        return;
    }
    let (mut session, pid) = spawn(&[], &["exec"]);
    let words = symbol(&session, pid, "words");
    let id = session.watch(pid, words, 8, Access::Write).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    let outcome = run(&mut session, pid, |session, event| {
        hits += u32::from(watched(event).is_some());
        if event.kind == EventKind::Exec {
            let words = symbol(session, pid, "words");
            let other = session.watch(pid, words + 8, 8, Access::Write).unwrap();
            assert!(other > id, "ids are not used again");
        }
    });
    assert_eq!(exit_of(&outcome), EventKind::Exited(5));
    assert_eq!(hits, 1);
}

#[test]
fn a_range_takes_as_many_registers_as_it_has_aligned_parts() {
    if !can_watch("a_range_takes_as_many_registers_as_it_has_aligned_parts") {
        return;
    }
    let (mut session, pid) = spawn(&[], &["bytes"]);
    let bytes = symbol(&session, pid, "bytes");
    let id = session.watch(pid, bytes + 3, 7, Access::Write).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = Vec::new();
    let outcome = run(&mut session, pid, |session, event| {
        if let Some((other, part)) = watched(event) {
            assert_eq!(other, id);
            assert!(part >= bytes + 3 && part < bytes + 10);
            let mut all = [0; 32];
            session.read_memory(pid, bytes, &mut all).unwrap();
            hits.push(all.iter().filter(|&&byte| byte != 0).count());
        }
    });
    assert_eq!(exit_of(&outcome), EventKind::Exited(5));
    let first = 3 + usize::from(machine::WATCH_IS_BEHIND);
    assert_eq!(hits, Vec::from_iter(first..first + 7), "the writes to bytes 3 to 9");
}

#[test]
fn refusals_name_what_is_wrong_and_who_has_the_registers() {
    if !can_watch("refusals_name_what_is_wrong_and_who_has_the_registers") {
        return;
    }
    let (mut session, pid) = spawn(&[], &["store", "1"]);
    let words = symbol(&session, pid, "words");
    let reason =
        |session: &mut Session, address: Address, length, access| match session.watch(pid, address, length, access) {
            Err(Error::Watch(error)) => {
                assert_eq!((error.pid, error.address, error.length), (pid, address, length));
                assert!(error.to_string().contains(&address.to_string()));
                error.reason
            }
            other => panic!("{other:?}"),
        };
    assert_eq!(reason(&mut session, words, 0, Access::Write), WatchReason::Length { possible: 1 });
    let wrong = reason(&mut session, words, 3, Access::Execute);
    assert_eq!(wrong, WatchReason::Length { possible: machine::WATCHED_INSTRUCTION });
    assert_eq!(reason(&mut session, Address(u64::MAX - 3), 4, Access::Write), WatchReason::NotMemory);
    let mut held = Vec::new();
    let refused = loop {
        let at = words + 8 * held.len() as u64;
        match session.watch(pid, at, 8, Access::Write) {
            Ok(id) => held.push(id),
            Err(Error::Watch(error)) => break error.reason,
            Err(error) => panic!("{error}"),
        }
    };
    let present = held.len();
    assert_eq!(refused, WatchReason::NoneFree { needed: 1, present, holders: held.clone() });
    // The same bytes share a register, and a removed watchpoint frees its own.
    session.watch(pid, words, 8, Access::Write).unwrap();
    session.unwatch(pid, held[1]).unwrap();
    session.watch(pid, words + 8 * present as u64, 8, Access::Write).unwrap();
}

#[test]
fn an_instruction_is_watched_before_its_breakpoint_is_hit() {
    if !can_watch("an_instruction_is_watched_before_its_breakpoint_is_hit") {
        return;
    }
    let (mut session, pid) = spawn(&[], &["store", "4"]);
    let store = symbol(&session, pid, "store");
    let id = session.watch(pid, store, machine::WATCHED_INSTRUCTION, Access::Execute).unwrap();
    session.insert(pid, &[Spec::event(store)]).unwrap().remove(0).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut kinds = Vec::new();
    let outcome = run(&mut session, pid, |session, event| {
        if watched(event).is_some() || matches!(event.kind, EventKind::Hit(_)) {
            assert_eq!(session.registers(event.tid).unwrap().pc(), store);
            kinds.push(watched(event).map(|hit| hit.0));
        }
    });
    assert_eq!(exit_of(&outcome), EventKind::Exited(5));
    assert_eq!(kinds, [Some(id), None].repeat(4));
}

#[test]
fn each_repetition_of_a_copy_is_told() {
    if !can_watch("each_repetition_of_a_copy_is_told") {
        return;
    }
    for with_sites in [false, true] {
        let (mut session, pid) = spawn(&[], &["copy", "40"]);
        if with_sites {
            sites(&mut session, pid, &["copy"]);
        }
        let target = symbol(&session, pid, "target");
        session.watch(pid, target + 8, 8, Access::Write).unwrap();
        session.resume(pid.leader()).unwrap();
        let mut hits = 0;
        let outcome = run(&mut session, pid, |_, event| hits += u32::from(watched(event).is_some()));
        assert_eq!(hits, 8, "sites: {with_sites}");
        assert_eq!(
            outcome.text(),
            String::from_utf8_lossy(&undisturbed(&build("watched", &[]), &["copy", "40"]).stdout)
        );
    }
}

#[test]
fn a_running_process_is_watched_and_left_without_debug_registers() {
    if !can_watch("a_running_process_is_watched_and_left_without_debug_registers") {
        return;
    }
    let (mut child, mut out) = start(&build("watched", &[]), &["serve"]);
    let mut stdin = child.stdin.take().unwrap();
    // The program has begun.
    stdin.write_all(b"0").unwrap();
    assert_eq!(line(&mut out), "done\n");
    let mut session = quiet();
    let pid = Pid(child.id() as i32);
    session.attach(pid).unwrap();
    let words = symbol(&session, pid, "words");
    session.watch(pid, words, 8, Access::Write).unwrap();
    stdin.write_all(b"a").unwrap();
    let event = session.wait().unwrap().unwrap();
    assert!(watched(&event).is_some(), "{event:?}");
    assert_eq!(session.signal_info(event.tid).unwrap(), None, "the program does not get the trap");
    // The thread is held.
    session.detach(pid).unwrap();
    assert_eq!(line(&mut out), "done\n");
    stdin.write_all(b"b").unwrap();
    assert_eq!(line(&mut out), "done\n");
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

/// The environment variable that makes [`watching_tracer`] a tracer.
const TARGET: &str = "UBP_WATCH_TARGET";

/// A tracer for the next test, in its own process: watches, reports that, and takes no event any more.
#[test]
fn watching_tracer() {
    let Some(pid) = std::env::var_os(TARGET) else { return };
    let pid = Pid(pid.to_str().unwrap().parse().unwrap());
    let mut session = quiet();
    session.attach(pid).unwrap();
    let words = symbol(&session, pid, "words");
    session.watch(pid, words, 4, Access::Write).unwrap();
    println!("\nwatches");
    loop {
        std::thread::park();
    }
}

#[test]
fn a_process_survives_a_killed_tracer_that_watched_it() {
    if !can_watch("a_process_survives_a_killed_tracer_that_watched_it") {
        return;
    }
    if machine::LINK_REGISTER {
        return skip("a_process_survives_a_killed_tracer_that_watched_it", "arm64 reports an access before it is made");
    }
    for flags in widths("a_process_survives_a_killed_tracer_that_watched_it") {
        let (mut child, mut out) = start(&build("watched", flags), &["serve"]);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"0").unwrap();
        assert_eq!(line(&mut out), "done\n");
        let mut tracer = std::process::Command::new(std::env::current_exe().unwrap());
        tracer.args(["--exact", "watching_tracer", "--nocapture"]).env(TARGET, child.id().to_string());
        let mut tracer = tracer.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = std::io::BufReader::new(tracer.stdout.take().unwrap());
        while line(&mut lines) != "watches\n" {}
        tracer.kill().unwrap();
        tracer.wait().unwrap();
        for byte in [b"a", b"b"] {
            stdin.write_all(byte).unwrap();
            assert_eq!(line(&mut out), "done\n", "{flags:?}");
        }
        // The next session removes what is left.
        let mut session = quiet();
        session.attach(Pid(child.id() as i32)).unwrap();
        stdin.write_all(b"c").unwrap();
        while session.poll().unwrap().is_none() && !is_readable(&out) {}
        assert_eq!(line(&mut out), "done\n", "{flags:?}");
        session.detach(Pid(child.id() as i32)).unwrap();
        drop(stdin);
        assert_eq!(child.wait().unwrap().code(), Some(5), "{flags:?}");
    }
}

/// Whether a pipe has something to read.
fn is_readable(pipe: &std::io::BufReader<std::process::ChildStdout>) -> bool {
    let fd = std::os::fd::AsRawFd::as_raw_fd(pipe.get_ref());
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one live structure.
    unsafe { libc::poll(&mut poll, 1, 0) == 1 }
}
