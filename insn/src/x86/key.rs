//! Keys: the fields of an instruction as bits, which rules allow or do not (see [`super::validity`]).

use super::codes::key::{
    AAA, B, BITS, EXT, IGNORED_B, L, LOCK_MEM, LOCK_REG, MEM, PP, REG, RESERVED, RM, STRICT, V, VENDOR, W, WITH_66, Z,
};
use super::codes::space;
use super::insn::ext;
use super::validity::{self, Rule};
use super::{Bits, Insn, Prefixes, Vendor};

fn bit(base: u32, value: u32) -> u64 {
    1 << (base + value)
}

impl Insn {
    /// The index in the opcode's list of the rule that fits. The instruction must be valid.
    pub(super) fn rule_index(&self) -> Option<usize> {
        // Most opcodes have only one rule.
        let list = validity::list(self.space, self.opcode);
        if validity::is_last(list) { Some(0) } else { self.rule().map(|(index, _)| index) }
    }
    /// The rule that fits the instruction, and its index in the opcode's list.
    pub(super) fn rule(&self) -> Option<(usize, Rule)> {
        let list = validity::list(self.space, self.opcode);
        let found = validity::find(list, self.key());
        if found.is_none() && self.mode.ignores_reserved() && self.is_evex() {
            // b with a register, but without rounding: L'L is a length.
            return validity::find(list, self.key_with(true));
        }
        found
    }

    pub(super) fn key(&self) -> u64 {
        self.key_with(false)
    }

    fn key_with(&self, ignored_b: bool) -> u64 {
        let modrm = self.modrm().unwrap_or(0xc0);
        // Forms that ignore mod allow registers and memory.
        let register = modrm >= 0xc0;
        let common = bit(PP, u32::from(self.pp & 3))
            | bit(W, u32::from(self.w()))
            | bit(BITS, u32::from(self.mode.bits != Bits::B64))
            | bit(VENDOR, u32::from(self.mode.vendor == Vendor::Amd))
            | if register { REG } else { MEM }
            | if self.mode.ignores_reserved() { 0 } else { STRICT }
            | bit(EXT, u32::from(modrm >> 3 & 7))
            | bit(RM, u32::from(modrm & 7));
        common
            | match self.space {
                space::VEX..space::EVEX => self.vex_key(),
                space::EVEX..space::REX2 => self.evex_key(register, ignored_b),
                _ => self.legacy_key(register),
            }
    }

    fn legacy_key(&self, register: bool) -> u64 {
        let b = self.ext & (ext::B | ext::B4) != 0;
        let lock = match (self.prefixes().has(Prefixes::LOCK), register) {
            (false, _) => 0,
            (true, false) => LOCK_MEM,
            (true, true) => LOCK_REG,
        };
        let with_66 = self.pp > 1 && self.prefixes().has(Prefixes::OPERAND_SIZE);
        lock | bit(L, 0) | bit(V, u32::from(b)) | if with_66 { WITH_66 } else { 0 }
    }

    fn vex_key(&self) -> u64 {
        let v = if self.vvvv == 0 { 0 } else { 2 };
        bit(L, u32::from(self.p2 >> 5 & 3)) | bit(V, v)
    }

    /// EVEX map 4 gives z, L, b, V' and aaa other meanings (APX 3.1.2.3), which its rules take into account.
    fn evex_key(&self, register: bool, ignored_b: bool) -> u64 {
        let p2 = self.p2;
        let aaa = match p2 & 7 {
            0 => 0,
            4 => 1,
            _ => 2,
        };
        let v = match self.vvvv {
            0 => 0,
            16 => 1,
            _ => 2,
        };
        let b = match (p2 & 0x10 != 0, register) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        };
        let z = match (p2 & 0x80 != 0, p2 & 7) {
            (false, _) => 0,
            (true, 0) => 2,
            (true, _) => 1,
        };
        // With rounding control or SAE L'L is not a length, and the length is 512 bits.
        let rounding = b == 2 && self.space != space::EVEX_MAP4 && !ignored_b;
        let l = if rounding { 2 } else { u32::from(p2 >> 5 & 3) };
        let b = if b == 2 && ignored_b { IGNORED_B } else { bit(B, b) };
        let reserved = if z == 2 && !self.mode.ignores_reserved() { RESERVED } else { 0 };
        bit(L, l) | bit(V, v) | bit(AAA, aaa) | bit(Z, z) | b | reserved
    }
}
