//! Children of debuggees: traced, or released without breakpoints.

mod common;

use std::collections::BTreeMap;

use common::*;
use ubp::{Address, EventKind, Mechanism, Pid, Session, Spec};

/// Runs one case with sites on every instruction of it. Returns the calls of `work` that each process made, summed over the programs that it
/// executed: those of the first process, then those of the others in ascending order. Ids of processes do not always grow.
fn case(name: &str, follow: bool) -> Vec<u64> {
    let program = build("forks", &[]);
    let plain = undisturbed(&program, &[name]);
    let mut session = session_with(|options| options.follow_forks = follow);
    let pid = session.spawn(piped(&program, &[name])).unwrap();
    let functions = ["work", "many", "main", "wait_for", "in_clone"];
    let own = format!("{name}_case");
    let mut sites: Vec<u64> = functions.iter().flat_map(|function| instructions(&program, function)).collect();
    if symbols(&program).contains_key(&own) {
        sites.extend(instructions(&program, &own));
    }
    let work = symbols(&program)["work"];
    let insert = |session: &mut Session, pid: Pid| {
        let base = load_address(session, pid);
        let specs: Vec<Spec> = sites.iter().map(|at| Spec::count(Address(base + at))).collect();
        for answer in session.insert(pid, &specs).unwrap() {
            answer.unwrap();
        }
    };
    insert(&mut session, pid);
    session.resume(pid.leader()).unwrap();
    let mut calls: BTreeMap<Pid, u64> = BTreeMap::new();
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Exec => insert(session, event.pid),
        EventKind::Exited(_) => {
            let of_work = session.breakpoints(event.pid).filter(|b| b.address().0 & 0xfff == work & 0xfff);
            calls.insert(event.pid, of_work.map(|b| b.hits()).sum());
        }
        _ => {}
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
    let exit = outcome.exits.iter().find(|exit| exit.0 == pid).map(|exit| exit.1.clone());
    assert_eq!(exit, Some(EventKind::Exited(plain.status.code().unwrap())));
    let first = calls.remove(&pid);
    let mut others: Vec<u64> = calls.into_values().collect();
    others.sort_unstable();
    first.into_iter().chain(others).collect()
}

/// Calls that children made in their parent's memory, which the parent's counts include over the kernel module.
fn guests(calls: u64) -> u64 {
    if session().mechanism() == Mechanism::Kernel { calls } else { 0 }
}

#[test]
fn forked_children_hit_their_own_copies_and_count_from_zero() {
    assert_eq!(case("fork", true), [5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
}

#[test]
fn forked_children_that_are_not_followed_run_clean() {
    assert_eq!(case("fork", false), [5]);
}

#[test]
fn children_of_vfork_run_in_their_parents_memory_until_exec() {
    // Each but the executing ones calls seven times in the memory of the parent.
    let calls = case("vfork", true);
    assert_eq!(calls.iter().sum::<u64>(), 3 * 7 + 2 * 4);
}

#[test]
fn children_of_vfork_that_are_not_followed_leave_their_parents_breakpoints_alone() {
    assert_eq!(case("vfork", false), [guests(3 * 7)]);
}

#[test]
fn spawned_children_are_followed_through_exec() {
    assert_eq!(case("spawn", true), [5, 4, 4, 4, 4, 4]);
}

#[test]
fn spawned_children_that_are_not_followed_run_clean_and_leave_their_parents_counts_alone() {
    assert_eq!(case("spawn", false), [5]);
}

#[test]
fn clones_with_and_without_shared_memory_are_told_apart() {
    let calls = case("clone", true);
    assert_eq!(calls.iter().sum::<u64>(), 9 + 11 + 12);
    assert_eq!(case("clone", false), [guests(9)]);
}

#[test]
fn exec_by_another_thread_than_the_first_goes_on_in_the_new_program() {
    let calls = case("thread_exec", true);
    assert_eq!(calls.len(), 1);
    assert!(calls[0] >= 3 + 4, "{calls:?}");
}

#[test]
fn a_process_lives_on_after_its_first_thread_ended() {
    assert_eq!(case("leader", true), [6]);
}

#[test]
fn threads_that_fork_at_the_same_time_are_all_followed() {
    let calls = case("threads", true);
    assert_eq!(calls.iter().sum::<u64>(), 5 * (1 + 2 + 3 + 4));
    assert_eq!(case("threads", false), [0]);
}

#[test]
fn a_thread_is_held_when_the_child_of_its_vfork_has_left_its_memory() {
    let program = build("forks", &[]);
    let mut session = session_with(|options| options.vforks = true);
    let pid = session.spawn(piped(&program, &["vfork"])).unwrap();
    let wait_for = Address(load_address(&session, pid) + symbols(&program)["wait_for"]);
    session.resume(pid.leader()).unwrap();
    let (mut done, mut hits) = (0, 0);
    run(&mut session, pid, |session, event| match event.kind {
        // The thread comes there next, and could be there already if it had run.
        EventKind::VforkDone => {
            done += 1;
            session.insert(event.pid, &[Spec::event(wait_for).once()]).unwrap().remove(0).unwrap();
        }
        EventKind::Hit(_) => hits += 1,
        _ => {}
    });
    assert_eq!((done, hits), (5, 5));
}
