//! What the program's own signal handlers see, with a site on every instruction of the case and of the handlers.

mod common;

use common::signals::case;

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
