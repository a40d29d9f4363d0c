//! Names are what other decoders call instructions, but for what fuzz/names.txt lists.

use std::collections::{BTreeMap, BTreeSet};

use claims::a64;
use claims::assembler::{Assembler, Language, NAME, PREFIXES, VARIABLE, find};
use claims::generate::encodings;
use disarm64::InsnOpcode as _;
use iced_x86::{Decoder, DecoderOptions};
use insn::x86::{Bits, Encoding, Mode, Vendor, decode};

/// An ordinary run asks the assembler about every n-th encoding. This number shares no factor with the walk's periods.
const STEP: usize = 37;
/// Differences that a failure names.
const MOST: usize = 200;
const ICED: &str = "iced-x86";

/// A row of the list.
#[derive(Debug)]
struct Row {
    line: usize,
    architecture: &'static str,
    peer: &'static str,
    ours: Vec<&'static str>,
    theirs: &'static str,
    judge: &'static str,
    example: Vec<u8>,
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, line) in include_str!("../../names.txt").lines().enumerate() {
        let (row, why) = line.split_once('#').unwrap_or((line, ""));
        if row.trim().is_empty() {
            continue;
        }
        let words: Vec<&'static str> = row.split_whitespace().collect();
        let [architecture, peer, ours, theirs, ":", judge, example] = words[..] else {
            panic!("line {}: {line}", number + 1);
        };
        assert!(judge != "manual" || !why.trim().is_empty(), "line {}: no word of the manual", number + 1);
        let digits = example.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
        let example = digits.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal digits")).collect();
        let ours = ours.split(',').collect();
        rows.push(Row { line: number + 1, architecture, peer, ours, theirs, judge, example });
    }
    rows
}

/// Differences by our name and theirs, with an example of each.
#[derive(Default)]
struct Differences(BTreeMap<(String, String), String>);

impl Differences {
    fn add(&mut self, ours: &str, theirs: &str, example: impl FnOnce() -> String) {
        if ours != theirs {
            self.0.entry((ours.to_owned(), theirs.to_owned())).or_insert_with(example);
        }
    }
    /// Fails where the list lacks one.
    fn assert_listed(self, architecture: &str, peer: &str) {
        let rows = rows();
        let is_listed = |(ours, theirs): &(String, String)| {
            rows.iter().any(|row| {
                let is_of = row.architecture == architecture && row.peer == peer && row.theirs == theirs;
                is_of && row.ours.contains(&ours.as_str())
            })
        };
        let unlisted = self.0.iter().filter(|(names, _)| !is_listed(names));
        let unlisted: Vec<String> = unlisted.map(|((ours, theirs), at)| format!("{ours} {theirs}: {at}")).collect();
        let some: Vec<String> = unlisted.iter().take(MOST).cloned().collect();
        assert!(unlisted.is_empty(), "{peer} has {} other names:\n{}", unlisted.len(), some.join("\n"));
    }
}

const MODES: [Mode; 4] = [Mode::INTEL_64, Mode::AMD_64, Mode::INTEL_32, Mode::AMD_32];

fn iced(bytes: &[u8], mode: Mode) -> Option<String> {
    let vendor = if mode.vendor == Vendor::Amd { DecoderOptions::AMD } else { DecoderOptions::MPX };
    let bits = if mode.bits == Bits::B64 { 64 } else { 32 };
    let found = Decoder::with_ip(bits, bytes, 0, vendor).decode();
    (!found.is_invalid()).then(|| format!("{:?}", found.mnemonic()).to_lowercase())
}

/// What the assembler calls the first instruction of each block.
fn assembled(assembler: &Assembler, language: Language, blocks: &[Vec<u8>]) -> Vec<Option<String>> {
    let lines = assembler.lines(language, blocks).expect("it answers");
    let name = |lines: Vec<String>| {
        let words = |line: &String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let mut words =
            lines.iter().flat_map(words).skip_while(|word| PREFIXES.contains(&word.as_str()) || word.starts_with('{'));
        words.next()
    };
    lines.into_iter().map(name).collect()
}

fn assembler(test: &str) -> Option<Assembler> {
    let found = find();
    if found.is_none() {
        crossing::skip(test, format_args!("no {NAME}: `cargo xtask setup` brings it, and {VARIABLE} names it"));
    }
    found
}

fn is_long() -> bool {
    std::env::var_os("NTRACE_ENCODINGS").is_some_and(|value| value == "all")
}

#[test]
fn every_x86_form_has_a_name_and_it_is_what_iced_calls_it() {
    let mut found = Differences::default();
    let (mut nameless, mut names, mut compared) = (BTreeSet::new(), BTreeSet::new(), 0);
    for mode in MODES {
        encodings(mode.bits, &mut |bytes| {
            let Ok(insn) = decode(bytes, mode) else { return };
            names.insert(insn.mnemonic());
            if insn.mnemonic().is_empty() {
                nameless.insert(format!("{insn:?}"));
            }
            if let Some(theirs) = iced(bytes, mode) {
                compared += 1;
                found.add(insn.mnemonic(), &theirs, || format!("{insn:?}"));
            }
        });
    }
    println!("{compared} encodings, {} names", names.len());
    assert!(nameless.is_empty(), "{nameless:#?}");
    assert!(compared > 100_000 && names.len() > 1_500, "{compared} encodings, {} names", names.len());
    found.assert_listed("x86", ICED);
}

#[test]
fn an_x86_form_that_iced_lacks_has_the_name_that_the_assembler_gives_it() {
    let test = "an_x86_form_that_iced_lacks_has_the_name_that_the_assembler_gives_it";
    let Some(assembler) = assembler(test) else { return };
    let mut found = Differences::default();
    let mut asked = 0;
    for mode in [Mode::INTEL_64, Mode::INTEL_32] {
        let (mut ours, mut blocks, mut walked) = (Vec::new(), Vec::new(), 0);
        encodings(mode.bits, &mut |bytes| {
            let Ok(insn) = decode(bytes, mode) else { return };
            // iced knows by other encodings what REX2 introduces; the assembler misreads 66 with the W of REX2.
            let is_judged =
                insn.encoding() == Encoding::Rex2 && !["jmpabs", "pushp", "popp"].contains(&insn.mnemonic());
            if iced(bytes, mode).is_none() && !is_judged {
                walked += 1;
                if is_long() || walked % STEP == 0 {
                    ours.push(insn.mnemonic());
                    blocks.push(insn.bytes().to_vec());
                }
            }
        });
        asked += blocks.len();
        for ((ours, bytes), theirs) in
            ours.iter().zip(&blocks).zip(assembled(&assembler, Language::Intel(mode.bits), &blocks))
        {
            if let Some(theirs) = theirs {
                found.add(ours, &theirs, || format!("{bytes:02x?}"));
            }
        }
    }
    println!("{asked} encodings");
    found.assert_listed("x86", NAME);
}

#[test]
fn every_row_about_x86_is_true() {
    let assembler = assembler("every_row_about_x86_is_true");
    let mut wrong = Vec::new();
    for row in rows().iter().filter(|row| row.architecture == "x86") {
        let name = |peer: &str, mode: Mode| match (peer, &assembler) {
            (ICED, _) => iced(&row.example, mode),
            (_, Some(assembler)) => {
                assembled(assembler, Language::Intel(mode.bits), std::slice::from_ref(&row.example)).remove(0)
            }
            _ => None,
        };
        let holds = |mode: Mode| {
            let ours = decode(&row.example, mode).map_or("", |insn| insn.mnemonic());
            let is_absent = row.peer != ICED && assembler.is_none();
            let is_judged = row.judge == "manual" || name(row.judge, mode).is_none_or(|name| name == ours);
            row.ours.contains(&ours) && (is_absent || name(row.peer, mode).as_deref() == Some(row.theirs)) && is_judged
        };
        if !MODES.into_iter().any(holds) {
            wrong.push(format!("line {}: {row:?}", row.line));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Bits 9 to 0 that are asked for with all others: two registers, none of which is the other.
const LOW: u32 = 2 << 5 | 1;
/// What a long run asks for besides: registers of number 31, of number 0, both, and the number that chooses a condition.
const MORE: [u32; 4] = [0x3ff, 0x000, 0x01f, 0x1ee];
/// An ordinary run asks the assembler about every n-th word.
const A64_STEP: usize = 61;

#[test]
fn every_a64_instruction_has_a_name() {
    let (mut nameless, mut names) = (BTreeSet::new(), BTreeSet::new());
    for insn in [LOW].into_iter().chain(MORE).flat_map(a64::encodings).filter_map(|word| insn::arm64::decode(word).ok())
    {
        names.insert(insn.mnemonic());
        if insn.mnemonic().is_empty() && nameless.len() < MOST {
            nameless.insert(insn.word());
        }
    }
    println!("{} names", names.len());
    let some: Vec<String> = nameless.iter().map(|word| format!("{word:08x}")).collect();
    assert!(nameless.is_empty(), "{some:?}");
    assert!(names.len() > 1_400, "{} names", names.len());
}

#[test]
fn every_a64_name_is_what_the_assembler_calls_it_without_aliases() {
    let test = "every_a64_name_is_what_the_assembler_calls_it_without_aliases";
    let Some(assembler) = assembler(test) else { return };
    let step = if is_long() { 1 } else { A64_STEP };
    let more = MORE.into_iter().filter(|_| is_long());
    let words = [LOW].into_iter().chain(more).flat_map(a64::encodings).step_by(step);
    let insns: Vec<_> = words.filter_map(|word| insn::arm64::decode(word).ok()).collect();
    let blocks: Vec<Vec<u8>> = insns.iter().map(|insn| insn.word().to_le_bytes().to_vec()).collect();
    let mut found = Differences::default();
    for (insn, theirs) in insns.iter().zip(assembled(&assembler, Language::A64Plain, &blocks)) {
        if let Some(theirs) = theirs.filter(|_| insn.word() >= 0x1_0000) {
            found.add(insn.mnemonic(), &theirs, || format!("{:08x}", insn.word()));
        }
    }
    println!("{} words", insns.len());
    found.assert_listed("a64", NAME);
}

#[test]
fn every_a64_name_is_what_disarm64_calls_it() {
    let mut found = Differences::default();
    let mut compared = 0;
    for insn in a64::encodings(LOW).filter_map(|word| insn::arm64::decode(word).ok()) {
        if let Some(theirs) = disarm64_name(insn.word()) {
            compared += 1;
            found.add(insn.mnemonic(), &theirs, || format!("{:08x}", insn.word()));
        }
    }
    println!("{compared} words");
    found.assert_listed("a64", "disarm64");
}

#[test]
fn every_row_about_a64_is_true() {
    let Some(assembler) = assembler("every_row_about_a64_is_true") else { return };
    let rows = rows();
    let rows: Vec<&Row> = rows.iter().filter(|row| row.architecture == "a64").collect();
    let examples: Vec<Vec<u8>> = rows.iter().map(|row| row.example.clone()).collect();
    let mut wrong = Vec::new();
    for (row, of_assembler) in rows.iter().zip(assembled(&assembler, Language::A64Plain, &examples)) {
        let word = row.example.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let ours = insn::arm64::decode(word).map_or("", |insn| insn.mnemonic());
        let theirs = if row.peer == NAME { of_assembler.clone() } else { disarm64_name(word) };
        let is_judged = row.judge != NAME || of_assembler.as_deref() == Some(ours);
        if !row.ours.contains(&ours) || theirs.as_deref() != Some(row.theirs) || !is_judged {
            wrong.push(format!("line {}: {ours}, {theirs:?}, {of_assembler:?}", row.line));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn disarm64_name(word: u32) -> Option<String> {
    Some(disarm64::decoder::decode(word)?.definition().mnemonic.to_lowercase())
}
