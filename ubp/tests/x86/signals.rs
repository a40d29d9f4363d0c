//! Signal handlers at single instructions.

use crate::common::signals::case;

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
fn the_stack_grows_by_the_push_of_an_emulated_call() {
    case("growcall", &["grow_by_call_case"]);
}

#[test]
fn a_program_that_sets_its_own_trap_flag_steps_as_without_breakpoints() {
    case("trap", &["trap_flag_case"]);
}

#[test]
fn ignored_signals_do_not_end_a_wait() {
    case("ignored", &["ignored_case", "ignored_later"]);
}
