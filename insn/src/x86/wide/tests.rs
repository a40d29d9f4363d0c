//! What vectors tell, beside what the decoder of single instructions finds.

use std::vec;
use std::vec::Vec;

use super::super::walk::{PART, Walk};
use super::super::{MAX_LEN, Mode, decode, quick};
use super::plain::Plain;
use super::vectors::BLOCK;
use super::{Finder, lengths};

/// Prefixes that select a form or a segment, and others.
const PREFIXES: [u8; 12] = [0x66, 0xf2, 0xf3, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf0, 0x40];
const REX: [&[u8]; 4] = [&[], &[0x40], &[0x48], &[0x47]];
/// What follows modrm: a SIB byte with a base, and two that have none behind a modrm with mod 0.
const REST: [[u8; 3]; 3] = [[0x24, 0x11, 0xff], [0x25, 0x90, 0x00], [0xe5, 0x7f, 0x80]];
/// The bytes that each instruction of a test has: the longest that vectors tell are shorter.
const STRIDE: usize = 16;

/// The lengths that vectors tell at all bytes but the last ones.
fn told(code: &[u8]) -> Vec<u8> {
    let size = (code.len() - 2) / BLOCK * BLOCK;
    let mut lens = vec![0xff; size];
    lengths::lengths(Plain, code, &mut lens, &mut Walk::nowhere(&[0; PART + MAX_LEN]));
    if let Some(finder) = Finder::new() {
        let mut found = vec![0xff; size];
        finder.lengths(code, &mut found, &mut Walk::nowhere(&[0; PART + MAX_LEN]));
        assert!(found == lens, "AVX2 and plain code differ");
    }
    lens
}

/// Compares what vectors tell at multiples of `stride`, and counts it, beside what quick code tells.
fn compare(code: &[u8], stride: usize) -> [usize; 2] {
    let mut counts = [0; 2];
    for (at, len) in told(code).into_iter().enumerate().step_by(stride) {
        let Some(chunk) = code[at..].first_chunk::<MAX_LEN>() else { break };
        counts[1] += usize::from(quick::length(chunk).is_some());
        if len == 0 {
            continue;
        }
        counts[0] += 1;
        for mode in [Mode::INTEL_64, Mode::AMD_64.lenient()] {
            assert_eq!(decode(chunk, mode).map(|insn| insn.len()), Ok(len.into()), "{mode:?} {chunk:02x?}");
        }
    }
    counts
}

/// Every opcode of both maps behind these prefixes, with each of these modrm bytes.
fn instructions(prefixes: &[u8], modrms: impl Iterator<Item = u8> + Clone) -> Vec<u8> {
    let mut code = Vec::new();
    for (number, modrm) in modrms.enumerate() {
        for at in 0..256 * 2 * REX.len() {
            let (opcode, escape, rex) = (at as u8, &[0x0f][..at / 256 % 2], REX[at / 512]);
            let end = code.len() + STRIDE;
            let parts = [prefixes, rex, escape, &[opcode, modrm], &REST[(number + at) % REST.len()]];
            code.extend(parts.into_iter().flatten());
            code.resize(end, 0x5a);
        }
    }
    code.resize(code.len() + BLOCK, 0x5a);
    code
}

#[test]
fn vectors_tell_most_that_has_no_prefix_and_all_of_it_is_right() {
    let [told, quick] = compare(&instructions(&[], 0..=255), STRIDE);
    assert!(told * 10 > quick * 9, "{told} of {quick}");
}

#[test]
fn behind_one_prefix_too() {
    for prefix in PREFIXES {
        let [told, _] = compare(&instructions(&[prefix], (0..=255).step_by(9)), STRIDE);
        match prefix {
            0x66 | 0xf3 | 0xf2 => assert!(told > 25_000, "{prefix:x}: {told}"),
            0x67 | 0xf0 => assert_eq!(told, 0),
            _ => assert!(told > 6_000, "{prefix:x}: {told}"),
        }
    }
}

#[test]
fn behind_two_prefixes_too() {
    for prefix in PREFIXES.into_iter().flat_map(|first| PREFIXES.map(|second| [first, second])) {
        compare(&instructions(&prefix, [0x04, 0xd0].into_iter()), STRIDE);
    }
}

#[test]
fn at_every_byte_of_noise_vectors_are_right_or_tell_nothing() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut noise: Vec<u8> = (0..8_000).flat_map(|_| next().to_le_bytes()).collect();
    let [told, _] = compare(&noise, 1);
    assert!(told > 20_000, "{told}");
    // Few values, so that prefixes and escapes follow each other.
    let bytes = [0x66, 0x0f, 0x48, 0xf3, 0xb8, 0xf7, 0x05, 0x25, 0x2e, 0xc7, 0x44, 0x83];
    noise.iter_mut().for_each(|byte| *byte = bytes[usize::from(*byte) % bytes.len()]);
    let [told, _] = compare(&noise, 1);
    assert!(told > 20_000, "{told}");
}

#[test]
fn at_every_byte_of_a_program_vectors_are_right_or_tell_nothing() {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    for code in program[program.len() / 2..].chunks(1 << 16).take(3) {
        compare(code, 1);
    }
}
