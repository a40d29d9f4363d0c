//! Random instructions: mostly random bytes behind likely beginnings.

use insn::x86::{Insn, Mode, decode};

pub(crate) const MODES: [Mode; 4] = [Mode::INTEL_64, Mode::AMD_64, Mode::INTEL_32, Mode::AMD_32];

/// splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A valid instruction of the mode.
    pub(crate) fn insn(&mut self, mode: Mode) -> Insn {
        const BEGINNINGS: [&[u8]; 16] = [
            &[],
            &[0x48],
            &[0x0f],
            &[0x48, 0x0f],
            &[0x66, 0x0f],
            &[0xf3, 0x0f],
            &[0xf2, 0x0f],
            &[0x0f, 0x38],
            &[0x0f, 0x3a],
            &[0xc5],
            &[0xc4],
            &[0x62],
            &[0x8f],
            &[0xd5],
            &[0x67],
            &[0x66],
        ];
        loop {
            let mut bytes = Vec::new();
            for prefix in [0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x64, 0xf0] {
                if self.next() % 24 == 0 {
                    bytes.push(prefix);
                }
            }
            bytes.extend(BEGINNINGS[(self.next() % 16) as usize]);
            bytes.extend(self.next().to_le_bytes());
            bytes.extend(self.next().to_le_bytes());
            if self.next() % 3 == 0 {
                // More operands relative to rip.
                for byte in bytes.iter_mut().skip(2).take(4) {
                    if self.0 & 2 != 0 {
                        *byte = *byte & 0x38 | 5;
                    }
                }
            }
            if let Ok(insn) = decode(&bytes, mode) {
                return insn;
            }
        }
    }

    /// An address of the mode, often at an edge.
    pub(crate) fn address(&mut self, mode: Mode) -> u64 {
        let random = self.next();
        let address = match random % 4 {
            0 => 0x5555_5555_0000,
            1 => 0x7fff_ffff_e000,
            2 => 0x0010_0000,
            _ => self.next() >> 17,
        };
        let mask = if mode.bits == insn::x86::Bits::B64 { u64::MAX } else { 0xffff_ffff };
        (address + (random >> 32 & 0xfff)) & mask
    }
}
