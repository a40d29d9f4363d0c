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
fn udf_shows_the_site_as_pc_and_as_address() {
    case("udf", &["udf_case"]);
}

#[test]
fn the_programs_own_brk_reaches_its_handler_at_the_site() {
    case("brk", &["brk_case"]);
}

#[test]
fn an_emulated_call_leaves_its_return_address_where_what_it_calls_faults() {
    case("call", &["call_case"]);
}
