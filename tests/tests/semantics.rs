//! Every opcode form: in place, through its plan, and with all changed that it does not read.
//!
//! `NTRACE_SEMANTICS_CASES` says how many instructions per mode, `NTRACE_SEMANTICS_SEED` where to start.
#![cfg(target_arch = "x86_64")]

use crossing::lockstep::Lab;
use crossing::semantics::Walk;

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |value| value.parse().expect("a number"))
}

fn walk(section: &str, lab: Lab) {
    let seed = number("NTRACE_SEMANTICS_SEED", 1);
    let start = std::time::Instant::now();
    let report = Walk::new(lab, seed).run(number("NTRACE_SEMANTICS_CASES", 0)).expect("the child lives");
    let way = |name| report.passages(name);
    let figures: &[(&str, &dyn std::fmt::Display)] = &[
        ("forms", &report.forms),
        ("forms_completed", &report.forms_completed),
        ("tried", &report.tried),
        ("executed", &report.executed),
        ("faulted", &report.faulted),
        ("undefined", &report.undefined),
        ("refused", &report.refused),
        ("emulated", &way("emulated")),
        ("emulated_fault", &way("faulted")),
        ("boosted", &way("boosted")),
        ("trapped", &way("trapped")),
        ("stepped", &way("stepped")),
        ("perturbed", &report.perturbed),
        ("wrong", &report.wrong),
        ("wrong_sets", &report.wrong_sets),
    ];
    for (key, value) in figures {
        crossing::figure(section, key, value);
        print!("{key}={value} ");
    }
    println!("FIGURES {section}");
    println!("{:?}, {:?}", report.compared, start.elapsed());
    assert_eq!((report.wrong, report.wrong_sets), (0, 0), "seed {seed}\n{}", report.examples.join("\n"));
}

#[test]
fn every_64_bit_form_does_what_insn_and_its_plan_say() {
    walk("semantics-64", Lab::x86_64());
}

#[test]
fn every_32_bit_form_does_what_insn_and_its_plan_say() {
    match Lab::i386() {
        Ok(lab) => walk("semantics-32", lab),
        Err(error) => crossing::skip("every_32_bit_form_does_what_insn_and_its_plan_say", error),
    }
}
