//! The parts of an instruction: encoding, map, prefixes, modrm, displacement, immediates.

use super::chunk::MAX_LEN;
use super::codes::space;
use super::insn::{ext, shape};
use super::parts::{Encoding, Field, Map, Prefixes};
use super::{Bits, Insn, entry};

impl Insn {
    /// The encoding of an opcode: the prefixes that introduce it.
    pub fn encoding(&self) -> Encoding {
        match self.space {
            space::VEX..space::XOP => Encoding::Vex,
            space::XOP..space::EVEX => Encoding::Xop,
            space::EVEX..space::REX2 => Encoding::Evex,
            _ if self.shape & shape::REX2 != 0 => Encoding::Rex2,
            _ => Encoding::Legacy,
        }
    }
    /// The opcode map.
    pub fn map(&self) -> Map {
        const MAPS: [Map; 21] = [
            Map::OneByte,
            Map::M0F,
            Map::M0F38,
            Map::M0F3A,
            Map::Amd3DNow,
            Map::M0F,
            Map::M0F38,
            Map::M0F3A,
            Map::Map5,
            Map::Map7,
            Map::Xop8,
            Map::Xop9,
            Map::XopA,
            Map::M0F,
            Map::M0F38,
            Map::M0F3A,
            Map::Map4,
            Map::Map5,
            Map::Map6,
            Map::Map7,
            Map::OneByte,
        ];
        MAPS.get(usize::from(self.space)).copied().unwrap_or(Map::OneByte)
    }
    /// The opcode byte within its map.
    #[inline]
    pub fn opcode(&self) -> u8 {
        self.opcode
    }
    /// Offset of the opcode byte in bytes; for 3DNow! that is the last byte.
    #[inline]
    pub fn opcode_offset(&self) -> usize {
        if self.space == space::AMD_3DNOW { self.len().saturating_sub(1) } else { usize::from(self.opcode_at) }
    }
    /// Number of prefix bytes before the opcode and the escape of its map: legacy prefixes, REX, REX2, VEX, XOP or EVEX.
    pub fn prefix_len(&self) -> usize {
        let escape = match self.space {
            space::TWO_BYTE if self.shape & shape::REX2 == 0 => 1,
            space::M0F38 | space::M0F3A => 2,
            space::AMD_3DNOW => 1,
            _ => 0,
        };
        usize::from(self.opcode_at).saturating_sub(escape)
    }
    /// The legacy prefixes.
    #[inline]
    pub fn prefixes(&self) -> Prefixes {
        Prefixes::from_bits(u16::from(self.prefixes))
    }
    /// Offset of the modrm byte.
    pub fn modrm_offset(&self) -> Option<usize> {
        if self.shape & shape::MODRM == 0 {
            return None;
        }
        Some(usize::from(self.opcode_at) + 1)
    }
    /// The modrm byte.
    #[inline]
    pub fn modrm(&self) -> Option<u8> {
        let byte = self.bytes[usize::from(self.opcode_at + 1) & 15];
        (self.shape & shape::MODRM != 0).then_some(byte)
    }
    /// Whether modrm.rm names a register, not memory.
    #[inline]
    pub(super) fn is_register_form(&self) -> bool {
        self.modrm().is_some_and(|modrm| modrm >= 0xc0) || self.shape & shape::ANY_MOD != 0
    }
    /// Sizes of the SIB byte and of the displacement in bytes.
    #[inline]
    pub(super) fn after_modrm(&self) -> (u8, u8) {
        let (Some(at), Some(modrm)) = (self.modrm_offset(), self.modrm()) else {
            return (0, 0);
        };
        if self.is_register_form() {
            return (0, 0);
        }
        if self.address_size() == 2 {
            return match (modrm >> 6, modrm & 7) {
                (0, 6) | (2, _) => (0, 2),
                (1, _) => (0, 1),
                _ => (0, 0),
            };
        }
        let after = entry::modrm(modrm);
        let sib = after >> 4 & 1;
        let base = self.bytes.get(at + 1).map_or(0, |sib| sib & 7);
        let more = if after & 0x20 != 0 && base == 5 { 4 } else { 0 };
        (sib, (after & 15) - 1 - sib + more)
    }
    /// Offset of the sib byte.
    pub fn sib_offset(&self) -> Option<usize> {
        (self.after_modrm().0 != 0).then_some(self.modrm_offset()? + 1)
    }
    /// The sib byte.
    pub fn sib(&self) -> Option<u8> {
        self.bytes.get(self.sib_offset()?).copied()
    }
    /// modrm.reg with its extension bits (REX.R, EVEX.R', …), 0 to 31. With REX2 this includes R4, which extends general registers only.
    pub fn reg(&self) -> u8 {
        let reg = self.modrm().unwrap_or(0) >> 3 & 7;
        reg | self.extension(ext::R, 8) | self.extension(ext::R4, 16)
    }
    /// modrm.rm, or the opcode's low three bits, with the extension bit B: the register operand if mod = 3, 0 to 31.
    ///
    /// If EVEX names a vector register, its bit X is the fifth bit. REX2's B4 extends general registers only.
    pub fn rm(&self) -> u8 {
        if self.rm_is_evex_vector() { self.rm_vector() } else { self.rm_general() }
    }
    /// [`Insn::rm`] of a vector register that EVEX names.
    pub(super) fn rm_vector(&self) -> u8 {
        self.modrm().unwrap_or(0) & 7 | self.extension(ext::B, 8) | self.extension(ext::X, 16)
    }
    /// [`Insn::rm`] of any other register.
    pub(super) fn rm_general(&self) -> u8 {
        self.modrm().unwrap_or(self.opcode) & 7 | self.extension(ext::B, 8) | self.extension(ext::B4, 16)
    }
    pub(super) fn extension(&self, bit: u8, value: u8) -> u8 {
        if self.ext & bit != 0 { value } else { 0 }
    }
    /// The W bit of REX, REX2, VEX, XOP or EVEX.
    #[inline]
    pub fn w(&self) -> bool {
        self.ext & ext::W != 0
    }
    /// vvvv of VEX or XOP, or of EVEX with V', as a register number.
    #[inline]
    pub fn vvvv(&self) -> u8 {
        // Outside 64-bit mode the fourth bit names no register, but must be right if vvvv names none.
        if self.mode.bits == Bits::B64 { self.vvvv } else { self.vvvv & 7 }
    }
    /// The displacement of the memory operand.
    pub fn displacement(&self) -> Option<Field> {
        let (sib, size) = self.after_modrm();
        if size == 0 {
            return None;
        }
        self.field(self.modrm_offset()? + 1 + usize::from(sib), size)
    }
    /// The first immediate, which may be the distance of a relative branch or a `moffs` address.
    pub fn immediate(&self) -> Option<Field> {
        let (first, second) = self.immediate_sizes();
        if first == 0 {
            return None;
        }
        self.field(self.len().checked_sub(usize::from(first + second))?, first)
    }
    /// The second immediate (`enter`, `extrq`, selector of a far pointer).
    pub fn immediate2(&self) -> Option<Field> {
        let (_, second) = self.immediate_sizes();
        if second == 0 {
            return None;
        }
        self.field(self.len().checked_sub(usize::from(second))?, second)
    }
    fn immediate_sizes(&self) -> (u8, u8) {
        match (self.space, self.opcode) {
            (space::ONE_BYTE, 0xc8) => (2, 1),
            (space::ONE_BYTE, 0x9a | 0xea) => (self.tail.saturating_sub(2), 2),
            (space::TWO_BYTE, 0x78) if self.tail == 2 => (1, 1),
            (space::AMD_3DNOW, _) => (0, 0),
            _ => (self.tail, 0),
        }
    }
    fn field(&self, offset: usize, size: u8) -> Option<Field> {
        if offset + usize::from(size) > MAX_LEN {
            return None;
        }
        Some(Field { offset: offset as u8, size, value: self.value(offset as u32, u32::from(size)) })
    }
    /// `size` bytes at `offset`, sign-extended. Bytes past the fifteenth read as 0.
    #[inline(always)]
    pub(super) fn value(&self, offset: u32, size: u32) -> i64 {
        let unused = 64 - 8 * size.clamp(1, 8);
        ((u128::from_le_bytes(self.bytes).wrapping_shr(8 * offset) as u64).wrapping_shl(unused) as i64)
            .wrapping_shr(unused)
    }
    /// The operand size by prefixes and mode alone, in bytes.
    pub(super) fn plain_operand_size(&self) -> u8 {
        let evex_66 = self.space == space::EVEX_MAP4 && self.pp == 1;
        let small = self.prefixes & Prefixes::OPERAND_SIZE as u8 != 0 || evex_66;
        match self.mode.bits {
            Bits::B64 if self.w() => 8,
            Bits::B16 => {
                if small {
                    4
                } else {
                    2
                }
            }
            _ => {
                if small {
                    2
                } else {
                    4
                }
            }
        }
    }
    /// The effective address size in bytes: 2, 4 or 8.
    #[inline]
    pub fn address_size(&self) -> u8 {
        let other = self.prefixes & Prefixes::ADDRESS_SIZE as u8 != 0;
        match (self.mode.bits, other) {
            (Bits::B64, false) => 8,
            (Bits::B64, true) | (Bits::B32, false) | (Bits::B16, true) => 4,
            (Bits::B32, true) | (Bits::B16, false) => 2,
        }
    }
}
