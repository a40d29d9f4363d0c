//! Prints the unlisted deviations of peers, by class, with the processor's verdict:
//! `cargo run -p claims --release --features zydis --example disagreements [forms | ENCODINGS [SEED]]`.

use std::collections::BTreeMap;

use claims::claims::disagreements;
use claims::corpus::line;
use claims::deviations::Disagreement;
use claims::generate::{Code, forms};
use crossing::Random;
use crossing::oracle::{Child, Class, Explanations, Outcome};
use insn::x86::{Bits, Mode};

type Classes = BTreeMap<String, (u64, Vec<u8>, Disagreement)>;

fn main() {
    let argument = std::env::args().nth(1);
    let number = |at: usize| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let mut classes = Classes::new();
    let count = if argument.as_deref() == Some("forms") {
        all(&mut classes)
    } else {
        chance(number(1).unwrap_or(100_000), number(2).unwrap_or(1), &mut classes)
    };
    let mut children = [Child::start(Bits::B64).ok(), Child::start(Bits::B32).ok()];
    for (class, (count, bytes, found)) in &classes {
        let child = children[usize::from(found.mode.bits == Bits::B32)].as_mut();
        let verdict = child.map_or_else(|| "no processor to ask".into(), |child| verdict(child, bytes));
        let feature = if is_explained(bytes, found.mode) { "feature absent" } else { "" };
        let answers = match &found.ours {
            Ok(ours) => format!("ours {} {:?} {:x?}", ours.len, ours.flow, ours.target),
            Err(error) => format!("ours {error}"),
        };
        let theirs = found.theirs.map(|theirs| (theirs.len, theirs.flow, theirs.target));
        println!("{count}\t{class}\t{}\t{verdict}\t{feature}\t{answers}\t{theirs:x?}", line(bytes));
    }
    eprintln!("{} classes of {count} encodings", classes.len());
}

/// Every form in every mode.
fn all(classes: &mut Classes) -> u64 {
    let mut count = 0;
    for mode in [Mode::INTEL_64, Mode::AMD_64, Mode::INTEL_32, Mode::AMD_32] {
        forms(mode.bits, &mut |bytes| {
            count += 1;
            note(bytes, mode, classes);
        });
    }
    count
}

/// Compares `count` random encodings.
fn chance(count: u64, seed: u64, classes: &mut Classes) -> u64 {
    let mut random = Random::new(seed);
    for _ in 0..count {
        let mut input = [0; 64];
        random.fill(&mut input);
        let Ok(code) = arbitrary::Unstructured::new(&input).arbitrary::<Code>() else { continue };
        note(&code.encoding.0[..15], Mode { lenient: false, ..code.mode }, classes);
    }
    count
}

fn note(bytes: &[u8], mode: Mode, classes: &mut Classes) {
    for found in disagreements(bytes, mode) {
        classes.entry(found.class()).or_insert_with(|| (0, bytes.to_vec(), found)).0 += 1;
    }
}

/// Whether the processor lacks a feature that the encoding needs.
fn is_explained(bytes: &[u8], mode: Mode) -> bool {
    let explanations = Explanations::read(include_str!("../../../tests/oracle-ud.txt")).expect("oracle-ud.txt");
    insn::x86::decode(bytes, mode).is_ok_and(|insn| explanations.explain(&Class::of(&insn)))
}

/// The shortest length that the processor decodes, and the outcome.
fn verdict(child: &mut Child, bytes: &[u8]) -> String {
    for n in 1..=15 {
        match child.probe(bytes, n) {
            Ok(Outcome::TooShort) => {}
            Ok(outcome) => return format!("{outcome:?} {n}"),
            Err(error) => return error.to_string(),
        }
    }
    "too long".into()
}
