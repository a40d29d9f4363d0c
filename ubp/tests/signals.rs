//! What the program's own signal handlers see, with a site on every instruction of the case and of the handlers.

mod common;

use common::signals::case;
use common::*;
use ubp::{Address, EventKind, Signal, Spec};

#[test]
fn the_stack_grows_under_emulated_calls() {
    case("grow", &["grow_case", "deep"]);
}

#[test]
fn nested_handlers_on_another_stack_run_as_often_as_without_breakpoints() {
    case("nested", &["nested_case", "on_usr2", "main"]);
}

#[test]
fn interrupted_system_calls_restart_or_fail_as_the_program_asked() {
    case("restart", &["restart_case", "blocked_read", "later", "on_alarm"]);
}

#[test]
fn handlers_left_by_longjmp_do_no_harm() {
    case("jump", &["jump_case", "blocked_read", "jump_later", "on_jump"]);
}

#[test]
fn the_programs_signal_mask_is_its_own() {
    case("mask", &["mask_case"]);
}

#[test]
fn a_signal_reaches_a_thread_whose_every_instruction_is_emulated() {
    let program = build("forever", &[]);
    let mut session = session();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let base = load_address(&session, pid);
    let specs: Vec<Spec> =
        instructions(&program, "forever").into_iter().map(|at| Spec::count(Address(base + at))).collect();
    let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Killed(_) = event.kind {
            hits = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().hits()).sum();
        }
    });
    assert_eq!(exit_of(&outcome), EventKind::Killed(Signal(libc::SIGALRM)));
    assert!(hits > 1);
}
