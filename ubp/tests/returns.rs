//! Calls paired with their returns: the program tells of each, and the tracer sees the same.

mod common;

use std::collections::BTreeMap;
use std::io::Read;
use std::time::{Duration, Instant};

use common::*;
use ubp::{Address, EventKind, Returns, Spec};

/// What happened in each thread, in order: `+NAME` and `-NAME`.
type Seen = BTreeMap<String, Vec<String>>;

/// Runs the program, and returns what the tracer saw and what the program told.
fn run(arguments: &[&str]) -> (Seen, Seen) {
    let program = build("returns", &["-foptimize-sibling-calls"]);
    let mut session = session_with(|options| options.follow_forks = true);
    let pid = session.spawn(piped(&program, arguments)).unwrap();
    let mut out = session.take_stdio(pid).stdout.unwrap();
    let base = load_address(&session, pid);
    let functions = symbols(&program).into_iter().filter(|(name, _)| name.starts_with("f_"));
    let functions: BTreeMap<u64, String> = functions.map(|(name, offset)| (base + offset, name)).collect();
    let specs: Vec<Spec> = functions.keys().map(|address| Spec::event(Address(*address))).collect();
    assert!(session.insert(pid, &specs).unwrap().iter().all(Result::is_ok));
    session.resume(pid.leader()).unwrap();

    let (mut seen, mut returns) = (Seen::new(), Returns::new());
    while let Some(event) = session.wait().unwrap() {
        let thread = event.tid.to_string();
        for call in returns.leave(&mut session, &event).unwrap() {
            assert_eq!(functions[&call.function.0], call.tag);
            assert!(call.inner <= call.duration, "{call:?}");
            seen.entry(thread.clone()).or_default().push(format!("-{}", call.tag));
        }
        match event.kind {
            EventKind::Hit(ref hit) => {
                if let Some(name) = functions.get(&hit.address().0) {
                    let entered = returns.enter(&mut session, &event, |_| name.clone()).unwrap();
                    assert!(entered.is_some(), "{name}");
                    seen.entry(thread).or_default().push(format!("+{name}"));
                }
            }
            EventKind::Forked { child } => {
                returns.forked(&event, child);
                session.resume(child.leader()).unwrap();
            }
            _ => {}
        }
        returns.resuming(&event);
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    let mut told = Seen::new();
    for (thread, what) in text.lines().map(|line| line.split_once(' ').unwrap()) {
        told.entry(thread.into()).or_default().push(what.into());
    }
    (seen, told)
}

fn check(what: &str, least: usize) {
    let (seen, told) = run(&[what]);
    assert!(told.values().map(Vec::len).sum::<usize>() >= least, "{told:?}");
    assert_eq!(seen, told);
}

#[test]
fn recursive_calls_return_in_their_order() {
    check("recursive", 24);
}

#[test]
fn a_tail_call_returns_with_the_call_that_made_it() {
    check("tail", 8);
}

#[test]
fn calls_that_longjmp_leaves_do_not_return_and_confuse_no_other() {
    check("jumps", 12);
}

#[test]
fn calls_on_several_stacks_return_in_the_order_of_the_program() {
    check("coroutines", 16);
}

#[test]
fn calls_of_a_handler_on_its_own_stack_return_before_the_interrupted_one() {
    check("signals", 4);
}

#[test]
fn a_call_that_forks_returns_in_both_processes() {
    check("forks", 3);
    let (seen, _) = run(&["forks"]);
    assert_eq!(seen.values().filter(|events| events.ends_with(&["-f_forking".into()])).count(), 2, "{seen:?}");
}

#[test]
fn threads_return_from_their_own_calls() {
    check("threads", 4 * 20 * 16);
}

#[test]
fn the_time_that_the_tracer_takes_is_no_time_of_the_call() {
    let program = build("returns", &["-foptimize-sibling-calls"]);
    let mut session = session();
    let pid = session.spawn(piped(&program, &["recursive"])).unwrap();
    let function = symbol(&session, pid, "f_recursive");
    session.insert(pid, &[Spec::event(function)]).unwrap().pop().unwrap().unwrap();
    let start = Instant::now();
    session.resume(pid.leader()).unwrap();
    let pause = Duration::from_millis(50);
    let (mut returns, mut calls) = (Returns::new(), Vec::new());
    while let Some(event) = session.wait().unwrap() {
        calls.extend(returns.leave(&mut session, &event).unwrap());
        if matches!(event.kind, EventKind::Hit(ref hit) if hit.address() == function) {
            returns.enter(&mut session, &event, |_| ()).unwrap();
            // The tracer does something else.
            std::thread::sleep(pause);
        }
        returns.resuming(&event);
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
    assert_eq!(calls.iter().map(|call| call.depth).collect::<Vec<_>>(), [5, 4, 3, 2, 1, 0]);
    let (outermost, whole) = (calls.last().unwrap(), start.elapsed());
    assert!(outermost.duration + pause * 6 <= whole, "{outermost:?} of {whole:?}");
}
