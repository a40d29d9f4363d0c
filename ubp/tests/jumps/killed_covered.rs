//! Killed tracers whose jumps cover code into which the program branches.
#![cfg(target_arch = "x86_64")]

use std::io::{Read, Write};

use insn::x86::Reg;
use ubp::Comparison::NotEqual;
use ubp::{Address, EventKind, Operand, Patch, Pid, Spec};

use super::killed::{KIND, kill, target, trace_by, traced};
use super::life::code;
use crate::common::*;
use crate::{KINDS, by_ptrace, end_of, outlived};

/// Branches into the bytes that jumps cover are answered by the handlers in the program.
#[test]
fn without_its_tracer_a_program_may_branch_into_jumps() {
    (0..KINDS.len()).for_each(|kind| branch("killed_covered::tracer_of_covered", kind, &[]));
}

/// Below a program without PIE there is no room at the distance whose bytes are all `int3`.
#[test]
fn without_its_tracer_a_program_without_pie_may_branch_into_jumps() {
    (0..KINDS.len()).for_each(|kind| branch("killed_covered::tracer_of_covered", kind, &["-no-pie"]));
}

/// The handlers call those of the program.
#[test]
fn without_its_tracer_a_program_with_handlers_may_branch_into_jumps_and_has_its_own_signals() {
    for flags in [&["-DHANDLES"][..], &["-DHANDLES", "-no-pie"]] {
        branch("killed_covered::tracer_of_covered", 1, flags);
        branch("killed_covered::reading_tracer_of_covered", 0, flags);
    }
}

fn branch(tracer: &str, kind: usize, flags: &[&str]) {
    let program = build("x86/covered", flags);
    let (child, mut out) = start(&program, &["3", "0", "waits"]);
    assert_eq!(line(&mut out), "ready\n");
    let pid = Pid(child.id() as i32);
    kill(traced(tracer, pid, kind));
    assert_eq!(end_of(child, out).as_bytes(), undisturbed(&program, &["3", "0"]).stdout);
}

/// A tracer for the tests above, in its own process.
#[test]
fn tracer_of_covered() {
    trace_by(&KINDS, Patch::Jump, &COVERED);
}

#[test]
fn reading_tracer_of_covered() {
    trace_by(&READING, Patch::Jump, &COVERED);
}

/// The memory of jumps of tracers that were killed stays, and at last there is no room for others.
#[test]
fn tracer_of_covered_in_turn() {
    trace_by(&KINDS, Patch::Auto, &COVERED);
}

/// Code of jumps reads memory that is not there, without a tracer, and the program does not see it.
#[test]
fn without_its_tracer_a_program_has_no_faults_of_its_jumps() {
    for kind in 0..READING.len() {
        let program = build("x86/tested", &["-pthread"]);
        let (child, mut out) = start(&program, &["400", "2", "waits"]);
        assert_eq!(line(&mut out), "ready\n");
        kill(traced("killed_covered::tracer_of_tested", Pid(child.id() as i32), kind));
        assert_eq!(end_of(child, out).as_bytes(), undisturbed(&program, &["400", "2"]).stdout, "kind {kind}");
    }
}

/// One jump counts at each instruction of a block, and other code branches into the block.
#[test]
fn without_its_tracer_a_program_may_branch_into_blocks() {
    for kind in 0..KINDS.len() {
        let program = build("x86/further", &[]);
        let (child, mut out) = start(&program, &["5", "-1", "waits"]);
        assert_eq!(line(&mut out), "ready\n");
        let pid = Pid(child.id() as i32);
        kill(traced("killed_covered::tracer_of_further", pid, kind));
        let opcodes = || code(&program, pid, &["block"])["block"].clone();
        let (there, own) = opcodes();
        // `inc`, `add` and `lea` under the jump, and `cmc` behind it.
        assert_eq!((there[0], there[11], own[11]), (0xe9, 0xcc, 0xf5), "kind {kind}");
        assert_eq!(end_of(child, out).as_bytes(), undisturbed(&program, &["5", "-1"]).stdout, "kind {kind}");
    }
}

/// A tracer for the test above, in its own process.
#[test]
fn tracer_of_further() {
    let Some(pid) = target() else { return };
    let mut session = by_ptrace();
    session.attach(pid).unwrap();
    let program = session.process(pid).unwrap().executable().to_path_buf();
    let (base, kind) = (load_address(&session, pid), KINDS[std::env::var(KIND).unwrap().parse::<usize>().unwrap()]);
    let sites = instructions(&program, "block").into_iter();
    let specs: Vec<Spec> = sites.map(|at| kind(Address(base + at)).patch(Patch::Jump)).collect();
    assert!(session.insert(pid, &specs).unwrap().iter().all(Result::is_ok));
    println!("\njumps");
    while let Some(event) = session.wait().unwrap() {
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
}

/// Breakpoints whose jumps read memory of the program, some of which is not there.
const READING: [fn(Address) -> Spec; 4] = [
    |address| Spec::record(address).with_text(),
    |address| Spec::record(address).with_stack(),
    |address| Spec::count(address).when(Operand::Memory { base: Some(Reg::RSI), offset: 0, size: 8 }.is(NotEqual, 1)),
    |address| Spec::record(address).with_text().with_stack(),
];

/// A tracer for the test above, in its own process.
#[test]
fn tracer_of_tested() {
    trace_by(&READING, Patch::Jump, &["probe"]);
}

/// A tracer is killed, and another one attaches, while threads are in the handlers.
#[test]
fn tracers_come_and_are_killed_while_threads_branch_into_jumps() {
    for flags in [&["-pthread"][..], &["-pthread", "-no-pie"], &["-pthread", "-no-pie", "-DHANDLES"]] {
        let program = build("x86/covered", flags);
        let (child, mut out) = start(&program, &["hot"]);
        assert_eq!(line(&mut out), "ready\n");
        let pid = Pid(child.id() as i32);
        for _ in 0..3 {
            kill(traced("killed_covered::tracer_of_covered_in_turn", pid, 1));
            let mut session = by_ptrace();
            session.attach(pid).unwrap();
            session.detach(pid).unwrap();
        }
        assert_eq!(end_of(child, out), "wrong 0\n", "{flags:?}");
    }
}

/// There is an entry for each instruction that reads memory, however many there are.
#[test]
fn many_functions_of_a_program_that_outlives_the_tracer_have_jumps_that_read() {
    let program = build("x86/many", &[]);
    let mut session = outlived();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let base = load_address(&session, pid);
    let functions: Vec<u64> =
        symbols(&program).into_iter().filter(|(name, _)| name.starts_with("work_")).map(|(_, at)| at).collect();
    assert_eq!(functions.len(), 100);
    let specs: Vec<Spec> =
        functions.iter().map(|at| Spec::record(Address(base + at)).with_text().patch(Patch::Jump)).collect();
    let refused: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().filter_map(Result::err).collect();
    assert_eq!(refused, []);
    session.resume(pid.leader()).unwrap();
    let outcome = run(&mut session, pid, |_, _| {});
    assert_eq!(exit_of(&outcome), EventKind::Exited(0));
    let records = session.take_records();
    assert_eq!(records.len(), functions.len());
    assert!(records.iter().all(|record| record.text(0).starts_with(b"text")));
}

/// The handlers of a tracer that was killed go with the next one, which may use none of them.
#[test]
fn a_detach_takes_the_handlers_of_a_killed_tracer_out() {
    for (tracer, flags) in [
        ("killed_covered::tracer_of_covered", &["-DHANDLES", "-no-pie"][..]),
        ("killed_covered::reading_tracer_of_covered", &["-DHANDLES", "-no-pie"]),
        ("killed_covered::reading_tracer_of_covered", &["-no-pie"]),
    ] {
        let program = build("x86/covered", flags);
        let (child, mut out) = start(&program, &["3", "0", "waits"]);
        assert_eq!(line(&mut out), "ready\n");
        let pid = Pid(child.id() as i32);
        let before = caught(pid);
        kill(traced(tracer, pid, 0));
        let mut session = by_ptrace();
        session.attach(pid).unwrap();
        session.detach(pid).unwrap();
        assert_eq!(caught(pid), before, "{flags:?}");
        assert_eq!(end_of(child, out).as_bytes(), undisturbed(&program, &["3", "0"]).stdout, "{flags:?}");
    }
}

/// The number of mappings of a process.
fn mappings(pid: Pid) -> usize {
    std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap().lines().count()
}

/// The signals that a process handles, as the kernel tells them.
fn caught(pid: Pid) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find(|line| line.starts_with("SigCgt:")).unwrap().to_owned()
}

/// A program that was traced has its own actions again, and so has its next tracer.
#[test]
fn a_detach_leaves_the_actions_of_the_program() {
    for flags in [&["-no-pie"][..], &["-DHANDLES", "-no-pie"], &["-DHANDLES"]] {
        let program = build("x86/covered", flags);
        let (child, mut out) = start(&program, &["3", "0", "waits"]);
        assert_eq!(line(&mut out), "ready\n");
        let pid = Pid(child.id() as i32);
        let (before, maps) = (caught(pid), mappings(pid));
        for _ in 0..3 {
            let mut session = by_ptrace();
            session.attach(pid).unwrap();
            let specs = COVERED.map(|name| Spec::count(symbol(&session, pid, name)).patch(Patch::Jump));
            assert!(session.insert(pid, &specs).unwrap().iter().all(Result::is_ok));
            session.detach(pid).unwrap();
            assert_eq!(caught(pid), before, "{flags:?}");
            // The page of the handlers, which the next tracer uses again.
            assert_eq!(mappings(pid), maps + usize::from(flags.contains(&"-DHANDLES")), "{flags:?}");
        }
        assert_eq!(end_of(child, out).as_bytes(), undisturbed(&program, &["3", "0"]).stdout, "{flags:?}");
    }
}

const COVERED: [&str; 5] = ["ones", "twos", "threes", "fours", "skip"];

/// The kernel resets the handler of a blocked signal that an instruction raises.
#[test]
fn a_program_that_blocks_all_signals_and_branches_into_jumps_keeps_its_handlers() {
    for flags in [&["-DHANDLES"][..], &["-DHANDLES", "-no-pie"]] {
        let program = build("x86/covered", flags);
        let (mut child, mut out) = start(&program, &["3", "0", "waits", "blocks"]);
        assert_eq!(line(&mut out), "ready\n");
        let pid = Pid(child.id() as i32);
        let mut session = by_ptrace();
        session.attach(pid).unwrap();
        let specs = COVERED.map(|name| Spec::count(symbol(&session, pid, name)).patch(Patch::Jump));
        assert!(session.insert(pid, &specs).unwrap().iter().all(Result::is_ok));
        child.stdin.take().unwrap().write_all(b"x").unwrap();
        let mut ends = Vec::new();
        while let Some(event) = session.wait().unwrap() {
            if event.is_held() {
                session.resume(event.tid).unwrap();
            }
            ends.push(event.kind);
        }
        assert_eq!(ends.last(), Some(&EventKind::Exited(0)), "{flags:?}");
        let (alone, mut out_alone) = start(&program, &["3", "0", "waits", "blocks"]);
        assert_eq!(line(&mut out_alone), "ready\n");
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        assert_eq!(text, end_of(alone, out_alone), "{flags:?}");
    }
}

const HEADS: [&str; 6] = ["returns", "jumps", "jumps_far", "jumps_by", "calls", "tests"];

/// Functions that begin with a branch, a call or a return have jumps in a process that outlives the tracer too.
#[test]
fn a_program_runs_on_with_jumps_at_branches_calls_and_returns() {
    for kind in 0..KINDS.len() {
        let program = build("x86/heads", &["-pthread", "-mno-red-zone"]);
        let (child, mut out) = start(&program, &[]);
        assert_eq!(line(&mut out), "ready\n");
        let pid = Pid(child.id() as i32);
        // One tracer is killed while its jumps stand, another while they come and go.
        kill(traced("killed_covered::tracer_of_heads", pid, kind));
        kill(traced("killed_covered::tracer_of_heads_that_come_and_go", pid, kind));
        let mut session = by_ptrace();
        session.attach(pid).unwrap();
        assert!(code(&program, pid, &HEADS).values().all(|(there, own)| there == own), "kind {kind}");
        session.detach(pid).unwrap();
        assert_eq!(end_of(child, out), "wrong 0\n", "kind {kind}");
    }
}

/// Tracers for the test above, in their own processes.
#[test]
fn tracer_of_heads() {
    trace_by(&KINDS, Patch::Jump, &HEADS);
}

#[test]
fn tracer_of_heads_that_come_and_go() {
    let Some(pid) = target() else { return };
    let mut session = by_ptrace();
    session.attach(pid).unwrap();
    let kind = KINDS[std::env::var(KIND).unwrap().parse::<usize>().unwrap()];
    for round in 0_u64.. {
        let specs = HEADS.map(|name| kind(symbol(&session, pid, name)).patch(Patch::Auto));
        let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
        // Removed at once, and after some stops.
        for _ in 0..round % 3 {
            if let Some(event) = session.poll().unwrap() {
                session.resume(event.tid).unwrap();
            }
        }
        session.remove(pid, &ids).unwrap();
        if round == 2 {
            println!("\njumps");
        }
    }
}
