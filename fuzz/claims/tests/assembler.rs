//! The newest assembler knows no instruction that we refuse, and refuses none that we accept, except for known deviations.
//!
//! The test shows it one encoding of every kind: of some kinds in an ordinary run, of all if `NTRACE_ENCODINGS` is `all`.

use std::collections::{BTreeMap, BTreeSet};

use claims::a64;
use claims::assembler::{Answer, Assembler, NAME, VARIABLE, find};
use claims::claims::list;
use claims::corpus::line;
use claims::deviations::{Difference, Disagreement, Row};
use claims::generate::encodings;
use claims::peers;
use claims::shape::Shape;
use insn::x86::{Bits, Mode};

/// An ordinary run takes one encoding of this number. It shares no factor with the walks' periods.
const STEP: usize = 37;
const A64_STEP: usize = 61;
/// Bits 9 to 0 in an ordinary run: two different registers.
const LOW: u32 = 2 << 5 | 1;
/// Further values of bits 9 to 0 in a long run: registers of number 31, of number 0, and both.
const MORE: [u32; 3] = [0x3ff, 0x000, 0x01f];
/// Names that the assembler gives only to encodings that we refuse: names of prefixes.
const NO_NEWS: [&str; 2] = ["xacquire", "xrelease"];
/// The most kinds that a failure names.
const MOST: usize = 200;

fn assembler(test: &str) -> Option<Assembler> {
    let found = find();
    match &found {
        Some(assembler) => println!("{}", assembler.version().expect("it says its version")),
        None => crossing::skip(test, format_args!("no {NAME}: `cargo xtask setup` brings it, and {VARIABLE} names it")),
    }
    found
}

fn is_long() -> bool {
    std::env::var_os("NTRACE_ENCODINGS").is_some_and(|value| value == "all")
}

/// Fails with one of each kind.
fn assert_none(found: &BTreeMap<String, String>) {
    let some: Vec<String> = found.iter().take(MOST).map(|(kind, text)| format!("{kind}: {text}")).collect();
    assert!(found.is_empty(), "{} kinds:\n{}", found.len(), some.join("\n"));
}

/// Unlisted deviations for x86. A long run in 64-bit mode, which has nearly all instructions, also finds names
/// that the assembler gives only to encodings that we refuse. No row of the list can hide these.
fn unlisted(assembler: &Assembler, mode: Mode, all: &[[u8; 15]]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let answers = assembler.x86(mode, all).expect("it answers");
    let agreed = answers.iter().filter(|answer| answer.difference.is_none());
    let known: BTreeSet<&str> = agreed.map(Answer::name).collect();
    for (bytes, answer) in all.iter().zip(&answers) {
        let Some((difference, shape)) = answer.difference.zip(Shape::of(bytes, mode.bits)) else { continue };
        let ours = peers::ours(bytes, mode);
        let (why, name) = (ours.as_ref().err().map(|error| error.kind), answer.name());
        let Shape { encoding, map, prefix, opcode, .. } = &shape;
        let kind = format!("{difference:?} {why:?} {encoding} {map} {prefix} {opcode:02x} {name}");
        let disagreement = Disagreement { peer: NAME, mode, difference, shape, ours, theirs: None };
        let is_news = difference == Difference::Accepts && !known.contains(name) && !NO_NEWS.contains(&name);
        let is_new = is_news && mode.bits == Bits::B64 && is_long();
        if is_new || !list().iter().any(|row| row.covers(&disagreement)) {
            found.entry(kind).or_insert_with(|| format!("{}: {}", line(bytes), answer.text));
        }
    }
    found
}

fn x86(test: &str, bits: Bits) {
    let Some(assembler) = assembler(test) else { return };
    let mut all = Vec::new();
    let mut walked = 0;
    encodings(bits, &mut |bytes| {
        walked += 1;
        if is_long() || walked % STEP == 0 {
            all.extend(<[u8; 15]>::try_from(bytes));
        }
    });
    let found = unlisted(&assembler, Mode::new(bits, insn::x86::Vendor::Intel), &all);
    println!("{} of {walked} encodings", all.len());
    let subject = match bits {
        Bits::B64 => "64-bit",
        Bits::B32 => "32-bit",
        Bits::B16 => "16-bit",
    };
    crossing::figure("assembler", subject, format_args!("asked={} unlisted={}", all.len(), found.len()));
    assert_none(&found);
}

#[test]
fn the_newest_assembler_knows_no_64_bit_instruction_that_we_do_not() {
    x86("the_newest_assembler_knows_no_64_bit_instruction_that_we_do_not", Bits::B64);
}

#[test]
fn the_newest_assembler_knows_no_32_bit_instruction_that_we_do_not() {
    x86("the_newest_assembler_knows_no_32_bit_instruction_that_we_do_not", Bits::B32);
}

#[test]
fn the_newest_assembler_knows_no_16_bit_instruction_that_we_do_not() {
    x86("the_newest_assembler_knows_no_16_bit_instruction_that_we_do_not", Bits::B16);
}

#[test]
fn the_newest_assembler_knows_no_a64_instruction_that_we_do_not() {
    let Some(assembler) = assembler("the_newest_assembler_knows_no_a64_instruction_that_we_do_not") else { return };
    let more = MORE.into_iter().filter(|_| is_long());
    let step = if is_long() { 1 } else { A64_STEP };
    let words: Vec<u32> = [LOW].into_iter().chain(more).flat_map(a64::encodings).step_by(step).collect();
    let answers = assembler.a64(&words).expect("it answers");
    let mut found = BTreeMap::new();
    for (word, answer) in words.iter().zip(answers) {
        let (answer, text) = answer.map_or((None, String::new()), |(answer, text)| (Some(answer), text));
        if let Some(other) = a64::compare(NAME, *word, answer) {
            let name = text.split_whitespace().next().unwrap_or_default();
            let kind = format!("{:?} {:011b} {name}", other.difference, word >> 21);
            found.entry(kind).or_insert_with(|| format!("{word:08x} {word:032b}: {text}"));
        }
    }
    println!("{} words", words.len());
    crossing::figure("assembler", "A64", format_args!("asked={} unlisted={}", words.len(), found.len()));
    assert_none(&found);
}

/// The modes that a row may be about.
const MODES: [Mode; 3] = [Mode::INTEL_64, Mode::INTEL_32, Mode::new(Bits::B16, insn::x86::Vendor::Intel)];

fn padded(example: &[u8]) -> [u8; 15] {
    std::array::from_fn(|at| example.get(at).copied().unwrap_or(0))
}

#[test]
fn every_x86_row_about_it_and_every_row_that_it_judges_is_true() {
    let test = "every_x86_row_about_it_and_every_row_that_it_judges_is_true";
    let Some(assembler) = assembler(test) else { return };
    let examples: Vec<[u8; 15]> = list().iter().map(|row| padded(&row.example)).collect();
    let answers = MODES.map(|mode| assembler.x86(mode, &examples).expect("it answers"));
    let mut wrong = Vec::new();
    for (number, row) in list().iter().enumerate() {
        let differs = |(mode, answers): (Mode, &Vec<Answer>)| {
            let (bytes, difference) = (&examples[number], answers[number].difference?);
            let (shape, ours) = (Shape::of(bytes, mode.bits)?, peers::ours(bytes, mode));
            Some(Disagreement { peer: NAME, mode, difference, shape, ours, theirs: None })
        };
        let found: Vec<Disagreement> = MODES.into_iter().zip(&answers).filter_map(differs).collect();
        if row.is_about(NAME) && !found.iter().any(|disagreement| row.covers(disagreement)) {
            wrong.push(format!("line {}: it does not differ so: {found:?}", row.line));
        }
        let judged = |row: &Row| row.modes().any(|mode| found.iter().all(|other| other.mode.bits != mode.bits));
        if row.is_judged_by(NAME) && !judged(row) {
            wrong.push(format!("line {}: it does not say what we say: {found:?}", row.line));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_a64_row_about_it_and_every_row_that_it_judges_is_true() {
    let test = "every_a64_row_about_it_and_every_row_that_it_judges_is_true";
    let Some(assembler) = assembler(test) else { return };
    let examples: Vec<u32> = a64::list().iter().map(|row| row.example).collect();
    let answers = assembler.a64(&examples).expect("it answers");
    let mut wrong = Vec::new();
    for (row, answer) in a64::list().iter().zip(answers) {
        let told = answer.as_ref().map(|(answer, _)| *answer);
        if row.peers.iter().any(|peer| peer == NAME) && !a64::differs(row, NAME, told) {
            wrong.push(format!("line {}: it answers {answer:?}", row.line));
        }
        if row.is_judged_by(NAME) && a64::difference(row.example, told).is_some() {
            wrong.push(format!("line {}: it does not say what we say: {answer:?}", row.line));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
