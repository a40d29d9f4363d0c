//! Random instructions.

use insn::arm64::{Insn, decode};

/// splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A word that is an instruction, often of those that are not simply copied.
    pub(crate) fn insn(&mut self) -> Insn {
        /// Bits that stay, and what they are.
        const KINDS: [(u32, u32); 16] = [
            (0, 0),
            (0, 0),
            (0xfc00_0000, 0x1400_0000),
            (0xfc00_0000, 0x9400_0000),
            (0xff00_0000, 0x5400_0000),
            (0x7c00_0000, 0x3400_0000),
            (0x7e00_0000, 0x7400_0000),
            (0xfe00_0000, 0xd600_0000),
            (0x1f00_0000, 0x1000_0000),
            (0x3b00_0000, 0x1800_0000),
            (0x3f00_0000, 0x1900_0400),
            (0xffff_f01f, 0xd503_201f),
            (0xff00_0000, 0xd500_0000),
            (0xff00_0000, 0xd400_0000),
            (0x3f80_0000, 0x0800_0000),
            (0xff00_001f, 0x5500_001f),
        ];
        loop {
            let (mask, value) = KINDS[(self.next() % 16) as usize];
            if let Ok(insn) = decode(self.next() as u32 & !mask | value) {
                return insn;
            }
        }
    }

    /// An address of code: close to others or far from all.
    pub(crate) fn address(&mut self) -> u64 {
        let near = self.next() % 2 == 0;
        (if near { 0x4000_0000 + (self.next() & 0xff_ffff) } else { self.next() >> 16 }) & !3
    }
}
