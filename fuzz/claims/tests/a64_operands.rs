//! Operands of A64 are what the newest assembler writes, for every line of insn/src/arm64/operands.txt and for words of all kinds.

mod a64_text;

use std::collections::{BTreeMap, BTreeSet};

use a64_text::{ours, theirs};
use claims::a64;
use claims::assembler::{Language, NAME, VARIABLE, find};
use insn::arm64::{Insn, decode};

/// Its lines begin with patterns of bits.
const LINES: &str = include_str!("../../../insn/src/arm64/operands.txt");
/// Words of each line.
const WORDS: usize = 24;
/// The distance between words that are taken of all words, whatever their line.
const STEP: usize = 97;
/// Bits 9 to 0 of those words.
const LOW: [u32; 3] = [2 << 5 | 1, 0x3ff, 31 << 5 | 4];
/// The most kinds that a failure names.
const MOST: usize = 60;

/// Names that the assembler writes in place of the instruction's own, and then other operands: it has no way to turn these off.
const ALIASES: [&str; 26] = [
    "mov", "sbfx", "sbfiz", "ubfx", "ubfiz", "bfxil", "bfi", "bfc", "asr", "lsl", "lsr", "sxtb", "sxth", "sxtw",
    "uxtb", "uxth", "hint", "ic", "dc", "at", "tlbi", "tlbip", "gcspopm", "gcspushm", "gcsss1", "gcsss2",
];
/// What the list of operands tells otherwise than the manual writes it.
const OTHERWISE: [(&str, usize, &str); 4] = [
    ("adr", 2, "SVE's adr accesses no memory: its address is told as two registers and a shift"),
    ("ldgm", 2, "as many tags as the implementation has, for EL1 alone: the base is told as a register"),
    ("stgm", 2, "likewise"),
    ("stzgm", 2, "likewise"),
];

/// A register offset that is not shifted (bit 12 is 0). Without aliases llvm-mc writes a shift that the instruction does not do: Arm ARM
/// C6.2 (`ldr`, register) has an amount of 0 there, as llvm-mc itself does with aliases.
fn is_unshifted_offset(word: u32) -> bool {
    word & 0x3b20_fc00 == 0x3820_6800
}

/// Words that fit a pattern.
fn words_of(pattern: &str, seed: u64) -> impl Iterator<Item = u32> {
    let bits = |wanted: char| pattern.chars().fold(0u32, |bits, c| bits << 1 | u32::from(c == wanted));
    let (free, value) = (bits('.'), bits('1'));
    a64::words(seed).map(move |word| word & free | value)
}

fn instructions() -> Vec<Insn> {
    let lines = LINES.lines().filter(|line| line.starts_with(['0', '1', '.']));
    let of_line = |(seed, line): (u64, &str)| {
        let pattern = line.split(' ').next().unwrap_or_default();
        // Of some patterns few words are instructions.
        words_of(pattern, seed * 2 + 1)
            .take(40 * WORDS)
            .filter_map(|word| decode(word).ok())
            .take(WORDS)
            .collect::<Vec<_>>()
    };
    let of_lines = (1..).zip(lines).flat_map(of_line);
    let others = LOW.into_iter().flat_map(a64::encodings).step_by(STEP).filter_map(|word| decode(word).ok());
    of_lines.chain(others).filter(|insn| insn.word() > 0xffff).collect()
}

#[test]
fn operands_are_what_the_newest_assembler_writes() {
    let Some(assembler) = find() else {
        let reason = format!("no {NAME}: `cargo xtask setup` brings it, and {VARIABLE} names it");
        return crossing::skip("operands_are_what_the_newest_assembler_writes", reason);
    };
    let insns = instructions();
    let blocks: Vec<Vec<u8>> = insns.iter().map(|insn| insn.word().to_le_bytes().to_vec()).collect();
    let lines = assembler.lines(Language::A64Plain, &blocks).expect("it answers");
    let (mut wrong, mut compared, mut aliases, mut unknown) = (BTreeMap::new(), 0, BTreeSet::new(), 0);
    for (insn, lines) in insns.iter().zip(&lines) {
        let Some(text) = lines.first() else {
            unknown += 1;
            continue;
        };
        let (name, operands) = text.split_once('\t').unwrap_or((text, ""));
        if name != insn.mnemonic() && ALIASES.contains(&name) {
            aliases.insert(name);
            continue;
        }
        let (ours, theirs) = (ours(insn), theirs(name, operands));
        let is_otherwise = OTHERWISE.iter().any(|(other, parts, _)| *other == name && *parts == theirs.len());
        if is_otherwise && !ours.contains(&theirs) || is_unshifted_offset(insn.word()) {
            continue;
        }
        compared += 1;
        if !ours.contains(&theirs) {
            let kind = format!("{name} {}", theirs.len());
            wrong.entry(kind).or_insert_with(|| format!("{:08x} {text}: {theirs:?}, ours {ours:?}", insn.word()));
        }
    }
    println!("{compared} words compared, {unknown} unknown to it, aliases {aliases:?}");
    let some: Vec<&String> = wrong.values().take(MOST).collect();
    assert!(
        wrong.is_empty(),
        "{} kinds:\n{}",
        wrong.len(),
        some.iter().map(|s| s.as_str()).collect::<Vec<_>>().join("\n")
    );
    assert!(compared > 50_000, "only {compared}");
}
