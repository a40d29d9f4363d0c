//! What the program's own signal handlers see, with a site on every instruction of the case and of the handlers.

mod common;

use common::*;
use ubp::{Address, EventKind, Options, Session, Spec};

const HANDLERS: &[&str] =
    &["note", "on_segv", "on_map", "on_skip2", "on_div", "on_call", "on_push", "on_step", "on_usr1"];

/// Runs one case of signals.c undisturbed and with sites, with and without signal events; all must agree.
fn case(name: &str, functions: &[&str]) {
    let program = build("signals", &[]);
    let plain = undisturbed(&program, &[name]);
    for events in [false, true] {
        let mut options = Options::default();
        options.signals = events;
        let mut session = Session::with_options(options).unwrap();
        let pid = session.spawn(piped(&program, &[name])).unwrap();
        let base = load_address(&session, pid);
        let sites = functions.iter().chain(HANDLERS).flat_map(|function| instructions(&program, function));
        let specs: Vec<Spec> = sites.map(|at| Spec::count(Address(base + at))).collect();
        for answer in session.insert(pid, &specs).unwrap() {
            answer.unwrap();
        }
        session.resume(pid.leader()).unwrap();
        let first = instructions(&program, "blocked_read")[0] + base;
        let mut read = Vec::new();
        let range = base..base + 0x100000;
        let outcome = run(&mut session, pid, |session, event| {
            if let EventKind::Exited(_) = event.kind
                && event.pid == pid
            {
                // Up to the system call, which is one execution however often it is restarted.
                let of_read = session.breakpoints(pid).filter(|b| (first..first + 16).contains(&b.address().0));
                read = of_read.map(|b| b.hits()).take_while(|hits| *hits > 0).collect();
            }
            if let EventKind::Signal(_) = event.kind {
                assert!(events);
                // Slots lie outside of everything that is mapped as far as anybody is told.
                let pc = session.registers(event.tid).unwrap().pc();
                let maps = session.process(event.pid).unwrap().maps().unwrap();
                assert!(range.contains(&pc.0) || maps.iter().any(|map| map.contains(pc)), "pc {pc} in a slot");
            }
        });
        assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout), "signal events: {events}");
        if let Some(calls) = read.first() {
            let before_call = read.iter().take(4);
            assert!(before_call.clone().all(|hits| hits == calls), "{read:?}");
        }
        let exit = outcome.exits.iter().find(|exit| exit.0 == pid).map(|exit| exit.1.clone());
        assert_eq!(exit, Some(EventKind::Exited(plain.status.code().unwrap())));
    }
}

#[test]
fn a_fault_in_a_slot_shows_the_site_and_a_repaired_register_is_used() {
    case("load", &["load_case"]);
}

#[test]
fn a_store_succeeds_after_its_handler_mapped_the_page() {
    case("store", &["store_case"]);
}

#[test]
fn ud2_shows_the_site_as_pc_and_as_address() {
    case("ud2", &["ud2_case"]);
}

#[test]
fn a_division_by_zero_shows_the_site_as_pc_and_as_address() {
    case("div", &["div_case"]);
}

#[test]
fn the_programs_own_int3_reaches_its_handler() {
    case("int3", &["int3_case"]);
}

#[test]
fn an_emulated_call_to_a_non_canonical_address_faults_as_the_processor_does() {
    case("call", &["call_case"]);
}

#[test]
fn an_emulated_call_completes_after_its_handler_made_the_stack_writable() {
    case("push", &["push_case"]);
}

#[test]
fn the_stack_grows_under_emulated_calls() {
    case("grow", &["grow_case", "deep"]);
}

#[test]
fn the_stack_grows_by_the_push_of_an_emulated_call() {
    case("growcall", &["grow_by_call_case"]);
}

#[test]
fn a_program_that_sets_its_own_trap_flag_steps_as_without_breakpoints() {
    case("trap", &["trap_flag_case"]);
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
fn ignored_signals_do_not_end_a_wait() {
    case("ignored", &["ignored_case", "ignored_later"]);
}

#[test]
fn handlers_left_by_longjmp_do_no_harm() {
    case("jump", &["jump_case", "blocked_read", "jump_later", "on_jump"]);
}

#[test]
fn the_programs_signal_mask_is_its_own() {
    case("mask", &["mask_case"]);
}
