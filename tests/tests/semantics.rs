//! Every opcode form: in place, through its plan, and with all changed that it does not read.
//!
//! `NTRACE_SEMANTICS_CASES` says how many instructions per mode, `NTRACE_SEMANTICS_SEED` where to start.
#![cfg(target_arch = "x86_64")]

use std::collections::BTreeSet;

use crossing::lockstep::Lab;
use crossing::oracle::{Generator, vendor};
use crossing::semantics::{Operand, Space, Walk, manual, skeletons};
use insn::x86::{Bits, Encoding, Map, Mode, decode};

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
        for (what, parts) in ["reads", "writes", "last bytes", "kept"].into_iter().zip(&never) {
            println!("never seen {what}:\n  {}", parts.join("\n  "));
        }
        for form in &report.only_faulting {
            println!("only faulted: {form:x?}");
        }
    }
    assert_eq!((report.wrong, report.wrong_sets), (0, 0), "seed {seed}\n{}", report.examples.join("\n"));
}

/// Valid instructions by chance are all of forms that the walk knows.
fn nothing_is_left_out(bits: Bits) {
    let mode = Mode::new(bits, vendor()).lenient();
    let key = |space, map, opcode, memory: bool| (space, map, opcode, memory);
    let forms: BTreeSet<_> = skeletons(mode)
        .into_iter()
        .map(|form| key(form.space, form.map, form.opcode, form.operand == Operand::Memory))
        .collect();
    let mut seen = BTreeSet::new();
    for bytes in Generator::new(3, bits).take(300_000) {
        let Ok(insn) = decode(&bytes, mode) else { continue };
        let (space, map) = match (insn.encoding(), insn.map()) {
            (Encoding::Legacy, Map::Amd3DNow) => (Space::Now, 0),
            (Encoding::Legacy, map) => (Space::Legacy, map as u8),
            (Encoding::Vex, map) => (Space::Vex, map as u8),
            (Encoding::Xop, map) => (Space::Xop, map as u8),
            (Encoding::Evex, map) => (Space::Evex, map as u8),
            // APX's names for what the walk meets without.
            _ => continue,
        };
        let memory = insn.modrm().is_some() && insn.memory().is_some();
        let found = key(space, map, insn.opcode(), memory);
        assert!(forms.contains(&found), "{:02x?} is of no form: {found:x?}", insn.bytes());
        seen.insert(found);
    }
    assert!(seen.len() * 2 > forms.len(), "{} of {} met", seen.len(), forms.len());
}

/// What no processor at hand has is held against the manual: every form of map 4, and others of which there is a model.
#[test]
fn what_no_machine_executes_does_what_the_manual_says() {
    let mut random = crossing::Random::new(1);
    let direct = manual::DIRECT.iter().map(|text| {
        let mut bytes = [0; 15];
        for (at, byte) in bytes.iter_mut().take(text.len() / 2).enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hexadecimal");
        }
        (bytes, true)
    });
    let promoted: Vec<[u8; 15]> = manual::promoted(&mut random).collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (bytes, must) in direct.chain(promoted.into_iter().map(|bytes| (bytes, false))) {
        let insn = match decode(&bytes, Mode::INTEL_64) {
            Ok(insn) => insn,
            Err(error) => {
                assert!(!must, "{bytes:02x?}: {error}");
                continue;
            }
        };
        count += 1;
        let told = manual::Effects::told(&insn);
        if manual::model(&insn) != Some(told) {
            wrong.push(format!("{:02x?}: {told:?}; the manual: {:?}", insn.bytes(), manual::model(&insn)));
        }
    }
    println!("{count} instructions");
    assert!(count > 2000, "{count} instructions");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
}

#[test]
fn the_walk_leaves_out_no_64_bit_form() {
    nothing_is_left_out(Bits::B64);
}

#[test]
fn the_walk_leaves_out_no_32_bit_form() {
    nothing_is_left_out(Bits::B32);
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
