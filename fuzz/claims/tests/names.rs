//! Names are what other decoders call instructions, but for what fuzz/names.txt lists.

use std::collections::{BTreeMap, BTreeSet};

use claims::assembler::{Assembler, Language, NAME, PREFIXES, VARIABLE, find};
use claims::generate::encodings;
use iced_x86::{Decoder, DecoderOptions};
use insn::x86::{Bits, Encoding, Mode, Vendor, decode};

/// An ordinary run asks the assembler for one of so many encodings: a number that shares no factor with the walk's periods.
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
