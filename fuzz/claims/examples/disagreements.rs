//! What peers say otherwise and the list of deviations does not cover, by class, with the processor's verdict:
//! `cargo run -p claims --release --features zydis --example disagreements [ENCODINGS [SEED]]`.

use std::collections::BTreeMap;

use claims::claims::disagreements;
use claims::corpus::line;
use claims::deviations::Disagreement;
use claims::generate::Code;
use crossing::Random;
use crossing::oracle::{Child, Class, Explanations, Outcome};
use insn::x86::{Bits, Mode};

fn main() {
    let number = |at: usize| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let (count, seed) = (number(1).unwrap_or(100_000), number(2).unwrap_or(1));
    let mut random = Random::new(seed);
    let mut classes: BTreeMap<String, (u64, Vec<u8>, Disagreement)> = BTreeMap::new();
    for _ in 0..count {
        let mut input = [0; 64];
        random.fill(&mut input);
        let Ok(code) = arbitrary::Unstructured::new(&input).arbitrary::<Code>() else { continue };
        let bytes = &code.encoding.0[..15];
        for found in disagreements(bytes, Mode { lenient: false, ..code.mode }) {
            let Disagreement { peer, mode, difference, shape, ours, .. } = &found;
            let why = ours.as_ref().err().map(|error| format!("{:?}", error.kind)).unwrap_or_default();
            let class =
                format!("{peer}\t{difference:?}\t{why}\t{:?}-{:?}\t{shape}\t{:x}", mode.bits, mode.vendor, shape.seen);
            classes.entry(class).or_insert_with(|| (0, bytes.to_vec(), found)).0 += 1;
        }
    }
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

/// Whether the processor lacks what the encoding needs.
fn is_explained(bytes: &[u8], mode: Mode) -> bool {
    let explanations = Explanations::read(include_str!("../../../tests/oracle-ud.txt")).expect("oracle-ud.txt");
    insn::x86::decode(bytes, mode).is_ok_and(|insn| explanations.explain(&Class::of(&insn)))
}

/// The shortest length that the processor decodes, and what comes of it.
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
