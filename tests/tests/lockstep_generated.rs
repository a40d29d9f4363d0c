//! Random valid instructions, through their plans and undisturbed.
//!
//! `LOCKSTEP_CASES` says how many per mode, `LOCKSTEP_SEED` where to start.
#![cfg(target_arch = "x86_64")]

use crossing::lockstep::{Case, Generator, Lab};
use crossing::skip;
use stepping::x86::Plan;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |value| value.parse().expect("a number"))
}

fn run(mut lab: Lab, cases: u64) {
    // QEMU takes as many times longer.
    let cases = if lab.is_emulated() { cases / 8 } else { cases };
    let seed = number("LOCKSTEP_SEED", 1);
    let mut generator = Generator::new(seed, lab.mode(), lab.layout());
    let mut failures = Vec::new();
    let mut completed = 0_u64;
    for index in 0..number("LOCKSTEP_CASES", cases) {
        let bytes = generator.instruction();
        let insn = insn::x86::decode(&bytes, lab.mode()).expect("the generator's are valid");
        if matches!(stepping::x86::plan(&insn, lab.layout().site()), Plan::Refuse(_)) {
            continue;
        }
        let case = Case::bytes(&format!("{seed}.{index}"), &bytes).seeds(1).with(move |state| {
            // Alignment checks and unmasked exceptions, now and then.
            if index % 16 == 3 {
                state.regs.eflags |= 1 << 18;
            }
            if index % 16 == 5 {
                state.set_mxcsr(0x0f80);
            }
        });
        match lab.compare(&case) {
            Ok(check) => completed += u64::from(check.signal == libc::SIGTRAP),
            Err(report) => failures.push(format!("{index}: {report}")),
        }
    }
    println!("{completed} instructions completed");
    assert!(failures.is_empty(), "{} differences\n{}", failures.len(), failures[..failures.len().min(40)].join("\n"));
    assert!(completed * 4 > cases, "too few instructions completed: {completed}");
}

#[test]
fn random_64_bit_instructions_do_what_they_do_in_place() {
    run(Lab::x86_64(), 10_000);
}

#[test]
fn random_32_bit_instructions_do_what_they_do_in_place() {
    match Lab::i386() {
        Ok(lab) => run(lab, 5000),
        Err(error) => skip("random_32_bit_instructions_do_what_they_do_in_place", error),
    }
}
