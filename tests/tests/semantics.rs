//! Every opcode form: in place, through its plan, and with all changed that it does not read.
//!
//! `NTRACE_SEMANTICS_CASES` says how many instructions per mode, `NTRACE_SEMANTICS_SEED` where to start.
#![cfg(target_arch = "x86_64")]

use crossing::lockstep::Lab;
use crossing::semantics::Walk;

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |value| value.parse().expect("a number"))
}

fn walk(subject: &str, lab: Lab) {
    let seed = number("NTRACE_SEMANTICS_SEED", 1);
    let start = std::time::Instant::now();
    let report = Walk::new(lab, seed).run(number("NTRACE_SEMANTICS_CASES", 0)).expect("the child lives");
    let figures = report.figures();
    println!("FIGURES semantics {subject} {figures}");
    crossing::figure("semantics", subject, figures);
    println!("{:?}, {:?}", report.compared, start.elapsed());
    let never = report.excess.never_seen();
    println!(
        "of {:?} parts reported often enough were never seen: {:?}; {} forms only faulted",
        report.excess.listed(),
        never.each_ref().map(Vec::len),
        report.only_faulting.len()
    );
    if std::env::var_os("NTRACE_SEMANTICS_CASES").is_some() {
        for (what, parts) in ["reads", "writes", "last bytes"].into_iter().zip(&never) {
            println!("never seen {what}:\n  {}", parts.join("\n  "));
        }
        for form in &report.only_faulting {
            println!("only faulted: {form:x?}");
        }
    }
    assert_eq!((report.wrong, report.wrong_sets), (0, 0), "seed {seed}\n{}", report.examples.join("\n"));
}

#[test]
fn every_64_bit_form_does_what_insn_and_its_plan_say() {
    walk("64-bit", Lab::x86_64());
}

#[test]
fn every_32_bit_form_does_what_insn_and_its_plan_say() {
    match Lab::i386() {
        Ok(lab) => walk("32-bit", lab),
        Err(error) => crossing::skip("every_32_bit_form_does_what_insn_and_its_plan_say", error),
    }
}
