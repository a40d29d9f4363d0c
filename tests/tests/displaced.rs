//! Instructions that mean something else elsewhere run as at home with a site on each: gdb's cases of displaced stepping, anew.
#![cfg(target_arch = "x86_64")]

use crossing::debuggee::{Program, alone, with_sites};
use crossing::skip;

/// Compares one way of running the cases of a program; `arguments` are those of its main.
fn compare(source: &str, flags: &[&str], arguments: &[&str]) {
    let Some(program) = Program::build(source, flags) else {
        return skip("displaced", format_args!("gcc cannot build {source} here"));
    };
    let cases: Vec<&str> = program.functions().filter(|name| name.starts_with("case_")).collect();
    assert!(cases.len() > 20, "{cases:?}");
    let mut functions = cases.clone();
    functions.extend(["leaf", "stepped", "on_trap", "on_alarm", "run_case", "main"]);
    let (plain, plain_end) = alone(&mut program.command(arguments));
    let (traced, traced_end, hits) = with_sites(&program, arguments, &functions);
    let mut differences = String::new();
    let mut with = cases_of(&traced);
    for one in cases_of(&plain) {
        match with.next() {
            Some(other) if one == other => {}
            other => differences += &format!("alone:\n{one}traced:\n{}", other.unwrap_or("nothing\n")),
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert_eq!((&traced, traced_end), (&plain, plain_end));
    for case in cases {
        let rounds = if arguments == ["storm"] { 10 } else { 1 };
        assert_eq!(hits[&program.address(case)], rounds, "{case}");
    }
}

/// The output, one case after another: a line that names it, and indented ones.
fn cases_of(output: &str) -> impl Iterator<Item = &str> {
    let mut rest = output;
    std::iter::from_fn(move || {
        let next = rest.match_indices('\n').map(|(at, _)| at + 1).find(|&at| !rest[at..].starts_with(' '))?;
        let (case, after) = rest.split_at(next);
        rest = after;
        Some(case)
    })
}

#[test]
fn instructions_that_depend_on_their_address_compute_the_same() {
    compare("displaced64.c", &[], &["run"]);
}

#[test]
fn a_program_that_sets_its_own_trap_flag_is_trapped_at_the_same_addresses() {
    compare("displaced64.c", &[], &["step"]);
}

#[test]
fn programs_at_a_fixed_address_do_so_too() {
    compare("displaced64.c", &["-no-pie", "-static"], &["run"]);
    compare("displaced64.c", &["-no-pie", "-static"], &["step"]);
}

#[test]
fn instructions_of_32_bit_code_compute_the_same() {
    compare("displaced32.c", &["-m32", "-no-pie"], &["run"]);
}

#[test]
fn a_32_bit_program_that_sets_its_own_trap_flag_is_trapped_at_the_same_addresses() {
    compare("displaced32.c", &["-m32", "-no-pie"], &["step"]);
}

#[test]
fn a_storm_of_signals_neither_adds_nor_takes_a_trap_of_the_programs_own_trap_flag() {
    compare("displaced64.c", &[], &["storm"]);
    compare("displaced32.c", &["-m32", "-no-pie"], &["storm"]);
}
