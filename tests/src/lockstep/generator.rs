//! Random valid instructions of every map. The tests that use them are elsewhere.

use insn::Target;
use insn::x86::{Bits, Insn, Map, Mode, decode};

use super::program::{DATA_SIZE, Layout};
use crate::Random;

/// Makes instructions to be probed at the layout's site.
pub struct Generator {
    rng: Random,
    mode: Mode,
    layout: Layout,
}

impl Generator {
    /// A generator; equal seeds give equal sequences.
    pub fn new(seed: u64, mode: Mode, layout: Layout) -> Generator {
        Generator { rng: Random::new(seed), mode, layout }
    }

    /// The next instruction that decodes and whose outcome does not depend on time, chance or the kernel.
    pub fn instruction(&mut self) -> Vec<u8> {
        loop {
            let mut bytes = self.candidate();
            let Ok(insn) = decode(&bytes, self.mode) else { continue };
            bytes.truncate(insn.len());
            if excluded(&insn, self.layout.site()) {
                continue;
            }
            self.aim(&insn, &mut bytes);
            return bytes;
        }
    }

    fn candidate(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let wide = self.mode.bits == Bits::B64;
        match self.rng.below(10) {
            0..=2 => {
                self.prefixes(&mut bytes, 12);
                self.rex(&mut bytes, wide);
            }
            3..=5 => {
                self.prefixes(&mut bytes, 6);
                self.rex(&mut bytes, wide);
                bytes.push(0x0f);
                match self.rng.below(5) {
                    0 => bytes.push(0x38),
                    1 => bytes.push(0x3a),
                    _ => (),
                }
            }
            6 | 7 => {
                self.prefixes(&mut bytes, 40);
                self.vex(&mut bytes);
            }
            _ => {
                self.prefixes(&mut bytes, 40);
                self.evex(&mut bytes);
            }
        }
        bytes.push(self.rng.next() as u8);
        let modrm = self.modrm(wide);
        bytes.extend(modrm);
        let mut tail = [0; 12];
        self.rng.fill(&mut tail);
        bytes.extend(tail);
        bytes
    }

    /// Each legacy prefix once in `rarity`; LOCK less often.
    fn prefixes(&mut self, bytes: &mut Vec<u8>, rarity: u64) {
        for prefix in [0x66, 0x67, 0xf2, 0xf3, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65] {
            if self.rng.one_in(rarity) {
                bytes.push(prefix);
            }
        }
        if self.rng.one_in(rarity * 4) {
            bytes.push(0xf0);
        }
    }

    fn rex(&mut self, bytes: &mut Vec<u8>, wide: bool) {
        if wide && self.rng.one_in(2) {
            bytes.push(0x40 | self.rng.below(16) as u8);
        }
    }

    /// vvvv is 1111, as many instructions want it, half of the time.
    fn vvvv(&mut self) -> u8 {
        if self.rng.one_in(2) { 15 } else { self.rng.below(16) as u8 }
    }

    fn vex(&mut self, bytes: &mut Vec<u8>) {
        let tail = self.vvvv() << 3 | self.rng.below(8) as u8;
        if self.rng.one_in(2) {
            bytes.extend([0xc5, 0x80 | tail]);
        } else {
            let extension = if self.rng.one_in(2) { 0xe0 } else { (self.rng.below(8) as u8) << 5 };
            bytes.extend([0xc4, extension | (1 + self.rng.below(3) as u8), tail | (self.rng.below(2) as u8) << 7]);
        }
    }

    fn evex(&mut self, bytes: &mut Vec<u8>) {
        let extension = if self.rng.one_in(2) { 0xf0 } else { (self.rng.below(16) as u8) << 4 };
        let second = (self.rng.below(2) as u8) << 7 | self.vvvv() << 3 | 4 | self.rng.below(4) as u8;
        let mut third = (self.rng.below(3) as u8) << 5 | 8 | self.rng.below(8) as u8;
        if self.rng.one_in(4) {
            third ^= 0x80;
        }
        if self.rng.one_in(6) {
            third ^= 0x10;
        }
        if self.rng.one_in(4) {
            third ^= 0x08;
        }
        bytes.extend([0x62, extension | (1 + self.rng.below(3) as u8), second, third]);
    }

    /// modrm, sib and displacement; memory operands near what registers point to.
    fn modrm(&mut self, wide: bool) -> Vec<u8> {
        let reg = (self.rng.below(8) as u8) << 3;
        let rm = self.rng.below(8) as u8;
        match self.rng.below(10) {
            0..=2 => vec![reg | 5],
            3..=5 => {
                let kind = self.rng.below(3) as u8;
                if wide && kind == 0 && rm == 5 {
                    return vec![reg | 5];
                }
                let mut bytes = vec![kind << 6 | reg | rm];
                if rm == 4 {
                    bytes.push(self.rng.next() as u8);
                }
                if kind == 2 {
                    bytes.extend((self.rng.below(512) as i32 - 256).to_le_bytes());
                }
                bytes
            }
            _ => vec![0xc0 | reg | rm],
        }
    }

    /// Leads a rip-relative or absolute operand into the data window.
    fn aim(&mut self, insn: &Insn, bytes: &mut [u8]) {
        let Some(field) = insn.displacement() else { return };
        let target = self.layout.data + DATA_SIZE / 4 + self.rng.below(DATA_SIZE / 2);
        let value = if insn.is_rip_relative() {
            target.wrapping_sub(self.layout.site() + insn.len() as u64)
        } else if self.mode.bits == Bits::B32 && insn.memory().is_some_and(|operand| operand.base.is_none()) {
            target
        } else {
            return;
        };
        if field.size == 4 {
            bytes[usize::from(field.offset)..][..4].copy_from_slice(&(value as u32).to_le_bytes());
        }
    }
}

/// System calls, clocks, counters, random numbers, hypervisor calls, and jumps into themselves.
fn excluded(insn: &Insn, site: u64) -> bool {
    let modrm = insn.modrm().unwrap_or(0);
    let extension = modrm >> 3 & 7;
    let into_itself = matches!(insn.target(), Target::Relative(_))
        && insn.target_address(site).is_some_and(|to| (site..site + insn.len() as u64).contains(&to));
    let variable = match (insn.map(), insn.opcode()) {
        (Map::OneByte, 0xcd) => insn.immediate().is_some_and(|vector| vector.value as u8 == 0x80),
        (Map::M0F, 0x05 | 0x31 | 0x33 | 0x34) => true,
        (Map::M0F, 0x01) => matches!(modrm, 0xc1 | 0xd9 | 0xf9 | 0xfd),
        (Map::M0F, 0xc7) => extension >= 6,
        _ => false,
    };
    into_itself || variable
}
