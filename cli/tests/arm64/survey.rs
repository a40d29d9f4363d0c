//! `ntrace survey` of files for arm64.

use std::fs;

use object::write::{Object, StandardSection, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope};
use serde_json::Value;

use crate::common::{run, scratch, stderr, stdout};

/// Returns an object file for arm64 with the given functions. Each function has a symbol.
fn file(functions: &[&[u8]]) -> String {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::Aarch64, Endianness::Little);
    let section = object.section_id(StandardSection::Text);
    for (number, code) in functions.iter().enumerate() {
        let id = object.add_symbol(Symbol {
            name: format!("function{number}").into_bytes(),
            value: 0,
            size: 0,
            kind: SymbolKind::Text,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        });
        object.add_symbol_data(id, section, code, 4);
    }
    let path = scratch("arm64.o");
    fs::write(&path, object.write().unwrap()).unwrap();
    path.display().to_string()
}

fn code(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn survey(path: &str) -> Value {
    let output = run(&["survey", "--json", path]);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// Code with an instruction for each class, and a word that is no instruction.
const WORDS: [u32; 12] = [
    0xd503_245f, // bti c: emulated
    0x5400_0040, // b.eq .+8: emulated
    0x9100_0421, // add: boosted
    0xc85f_7c01, // 1: ldxr: boosted
    0x9100_0421, // add: refused
    0xc802_7c01, // stxr: refused
    0x35ff_ffa2, // cbnz w2, 1b: emulated
    0x0420_bc20, // movprfx: trapped
    0xd73f_0822, // blraa: stepped
    0xdac1_a3fe, // paciasppc: refused
    0xffff_ffff,
    0xd65f_03c0, // ret: emulated
];

#[test]
fn every_instruction_of_arm64_is_in_exactly_one_class() {
    let survey = survey(&file(&[&code(&WORDS)]));
    assert_eq!((&survey["arch"], &survey["ranges"]), (&"arm64".into(), &"functions".into()));
    let of = |key: &str| survey[key].as_u64().unwrap();
    assert_eq!((of("code_bytes"), of("instructions"), of("undecodable_bytes")), (48, 11, 4));
    let classes = ["emulated", "boosted", "trapped", "stepped", "refused"].map(of);
    assert_eq!(classes, [4, 2, 1, 1, 3]);
    assert!(of("instructions_per_second") > 0);
}

#[test]
fn refusals_and_what_is_no_instruction_are_listed_with_address_and_reason() {
    let path = file(&[&code(&WORDS)]);
    let survey = survey(&path);
    let listed: Vec<(&str, &str)> = survey["refusals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|refused| (refused["address"].as_str().unwrap(), refused["hex"].as_str().unwrap()))
        .collect();
    assert_eq!(listed, [("0x10", "91000421"), ("0x14", "c8027c01"), ("0x24", "dac1a3fe")]);
    assert!(survey["refusals"][0]["reason"].as_str().unwrap().contains("in an exclusive sequence"), "{survey}");
    assert_eq!(survey["refusals"][0]["text"], "add x1, x1, #0x1");
    let none = &survey["undecodable"][0];
    assert_eq!((&none["address"], &none["size"], &none["hex"]), (&"0x28".into(), &4.into(), &"ffffffff".into()));
    let text = stdout(&run(&["survey", &path]));
    for part in ["arm64, 48 bytes of code", "0x24  dac1a3fe", "4 bytes are no instructions", "undefined: 0xffffffff"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn an_exclusive_sequence_is_seen_across_the_symbols_in_it() {
    let words = code(&WORDS);
    // A function starts at the store.
    let survey = survey(&file(&[&words[..20], &words[20..]]));
    assert_eq!(survey["refused"], 3);
}

#[test]
fn bytes_that_make_no_word_are_no_instructions() {
    let survey = survey(&file(&[&[0x1f, 0x20, 0x03, 0xd5, 0x1f, 0x20]]));
    assert_eq!((&survey["instructions"], &survey["undecodable_bytes"]), (&1.into(), &2.into()));
    assert_eq!(survey["undecodable"][0]["error"], "less than a word");
}
