//! Encodings in the structure that decoders see: prefixes × map × opcode × modrm and sib × the fields of VEX, EVEX, XOP and REX2.

use insn::x86::Bits;

use crate::Random;

const PREFIXES: &[u8] = &[0x66, 0x66, 0x67, 0xf2, 0xf2, 0xf3, 0xf3, 0xf0, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65];

/// An endless sequence of encodings that depends on the seed alone.
#[derive(Clone, Debug)]
pub struct Generator {
    random: Random,
    bits: Bits,
}

impl Generator {
    /// The sequence of a seed for a code segment.
    pub fn new(seed: u64, bits: Bits) -> Generator {
        Generator { random: Random::new(seed), bits }
    }

    fn encoding(&mut self) -> [u8; 15] {
        let mut bytes = Vec::with_capacity(32);
        match self.random.below(100) {
            0..48 => self.legacy(&mut bytes),
            48..64 => self.vex(&mut bytes),
            64..86 => self.evex(&mut bytes),
            86..92 => self.xop(&mut bytes),
            92..95 => self.rex2(&mut bytes),
            _ => {}
        }
        self.tail(&mut bytes);
        let mut encoding = [0; 15];
        encoding.copy_from_slice(&bytes[..15]);
        encoding
    }

    fn legacy(&mut self, bytes: &mut Vec<u8>) {
        let prefixes = self.random.one_of(&[0, 0, 0, 1, 1, 1, 2, 2, 3, 4]);
        for _ in 0..prefixes {
            bytes.push(self.random.one_of(PREFIXES));
        }
        if self.bits == Bits::B64 && self.random.chance(45) {
            bytes.push(0x40 | self.random.byte() & 15);
            // A REX that is not right before the opcode is ignored.
            if self.random.chance(3) {
                bytes.push(self.random.one_of(PREFIXES));
            }
        }
        match self.random.below(12) {
            0..4 => {}
            4..9 => bytes.push(0x0f),
            9..11 => bytes.extend([0x0f, 0x38]),
            _ => bytes.extend([0x0f, 0x3a]),
        }
        bytes.push(self.random.byte());
    }

    fn vex(&mut self, bytes: &mut Vec<u8>) {
        self.rare_prefix(bytes);
        let vvvv = if self.random.chance(40) { 0x78 } else { self.random.byte() & 0x78 };
        let length_and_pp = self.random.byte() & 7;
        if self.random.chance(25) {
            bytes.extend([0xc5, self.inverted_high_bits() & 0x80 | vvvv | length_and_pp]);
        } else {
            let map = if self.random.chance(95) { 1 + self.random.below(3) as u8 } else { self.random.byte() & 31 };
            let w = self.random.byte() & 0x80;
            bytes.extend([0xc4, self.inverted_high_bits() | map, w | vvvv | length_and_pp]);
        }
        bytes.push(self.random.byte());
    }

    fn evex(&mut self, bytes: &mut Vec<u8>) {
        self.rare_prefix(bytes);
        let map = self.random.one_of(&[1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 6, 7, 0]);
        // R' is bit 4 inverted, bit 3 is zero without APX.
        let high = self.inverted_high_bits() | if self.random.chance(70) { 0x10 } else { 0 };
        let reserved = if self.random.chance(4) { 8 } else { 0 };
        let w = self.random.byte() & 0x80;
        let vvvv = if self.random.chance(50) { 0x78 } else { self.random.byte() & 0x78 };
        let fixed = if self.random.chance(96) { 4 } else { 0 };
        let pp = self.random.byte() & 3;
        let z = if self.random.chance(15) { 0x80 } else { 0 };
        let length = self.random.byte() & 0x60;
        let broadcast = if self.random.chance(25) { 0x10 } else { 0 };
        let v = if self.random.chance(75) { 8 } else { 0 };
        let mask = if self.random.chance(50) { 0 } else { self.random.byte() & 7 };
        bytes.extend([0x62, high | reserved | map, w | vvvv | fixed | pp, z | length | broadcast | v | mask]);
        bytes.push(self.random.byte());
    }

    fn xop(&mut self, bytes: &mut Vec<u8>) {
        self.rare_prefix(bytes);
        let map = if self.random.chance(90) { 8 + self.random.below(3) as u8 } else { self.random.byte() & 31 };
        let pp = if self.random.chance(80) { 0 } else { self.random.byte() & 3 };
        bytes.extend([0x8f, self.inverted_high_bits() | map, self.random.byte() & 0xfc | pp, self.random.byte()]);
    }

    fn rex2(&mut self, bytes: &mut Vec<u8>) {
        self.rare_prefix(bytes);
        bytes.extend([0xd5, self.random.byte(), self.random.byte()]);
    }

    /// Bits R, X and B in their place, inverted; outside 64-bit mode R and X tell VEX and EVEX from lds, les and bound.
    fn inverted_high_bits(&mut self) -> u8 {
        let wanted = if self.bits == Bits::B64 { 50 } else { 90 };
        let all = if self.random.chance(wanted) { 0xe0 } else { 0 };
        all | self.random.byte() & 0xe0
    }

    fn rare_prefix(&mut self, bytes: &mut Vec<u8>) {
        if self.random.chance(8) {
            bytes.push(self.random.one_of(PREFIXES));
        }
        if self.bits == Bits::B64 && self.random.chance(2) {
            bytes.push(0x40 | self.random.byte() & 15);
        }
    }

    /// modrm, sib, displacement, immediate, and whatever follows: random, or small so that operands lie in memory.
    fn tail(&mut self, bytes: &mut Vec<u8>) {
        bytes.push(self.random.byte());
        let small = self.random.chance(50);
        while bytes.len() < 15 {
            let byte = self.random.byte();
            bytes.push(if small && byte & 3 != 0 { byte >> 7 } else { byte });
        }
    }
}

impl Iterator for Generator {
    type Item = [u8; 15];

    fn next(&mut self) -> Option<[u8; 15]> {
        Some(self.encoding())
    }
}
