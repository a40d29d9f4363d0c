//! Registers that an instruction reads, writes and overwrites.

use super::codes::{attr, bank, operand, register_bank, source, space};
use super::form::{Form, Implied};
use super::insn::ext;
use super::{Bits, Insn, Memory, Prefixes, Reg, RegSet, Vendor};
use crate::Flow;

/// Registers of an instruction: see the accessors of the same names.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    pub(super) reads: RegSet,
    pub(super) writes: RegSet,
    pub(super) overwrites: RegSet,
    pub(super) overwrites_low: RegSet,
}

/// The first number of each bank ([`register_bank`]), and the bits of a number within it.
const BANKS: [(u8, u8); 8] = [
    (0, 31),
    (bank::VECTOR, 31),
    (bank::MASK, 7),
    (bank::MMX, 7),
    (bank::BOUND, 3),
    (bank::SEGMENT, 7),
    (bank::TILE, 7),
    (bank::SYSTEM, 0),
];
const VECTORS: u128 = 0xffff_ffff << bank::VECTOR;
const SYSTEM: u128 = 1 << bank::SYSTEM;

impl Insn {
    /// Whether modrm.rm is a vector register named with EVEX's X as fifth bit.
    pub(super) fn rm_is_evex_vector(&self) -> bool {
        self.is_evex() && self.space != space::EVEX_MAP4 && self.form().has(attr::VECTOR_RM)
    }
    pub(super) fn is_evex(&self) -> bool {
        (space::EVEX..space::REX2).contains(&self.space)
    }
    /// Effective operand size in bytes (2, 4, 8; 1 for byte forms).
    pub fn operand_size(&self) -> u8 {
        self.size_of(&self.form())
    }
    pub(super) fn size_of(&self, form: &Form) -> u8 {
        let size = self.plain_operand_size();
        if form.has(attr::BYTE) {
            return 1;
        }
        if self.mode.bits != Bits::B64 {
            return size;
        }
        // Near branches are of 64 bits but for 66 on AMD (APM vol. 3, 1.2.7).
        if matches!(self.flow(), Flow::Jump | Flow::ConditionalJump | Flow::Call | Flow::Return) {
            return if size == 2 && self.mode.vendor == Vendor::Amd { 2 } else { 8 };
        }
        let wide = form.has(attr::FORCE_64) || form.has(attr::DEFAULT_64) && size == 4;
        if wide { 8 } else { size }
    }
    /// Whether neither VEX, XOP nor EVEX introduces it.
    fn is_legacy(&self) -> bool {
        !(space::VEX..space::REX2).contains(&self.space)
    }
    /// The registers' numbers in the instruction's fields, by [`source`].
    #[inline]
    fn numbers(&self) -> [u8; source::LEN] {
        let modrm = self.modrm().unwrap_or(self.opcode);
        let evex = self.is_evex();
        // Bits of `ext`, moved to where they extend a number.
        let low = modrm & 7 | (self.ext & ext::B) << 3;
        let reg = modrm >> 3 & 7 | (self.ext & ext::R) << 1 | (self.ext & ext::R4) >> 2;
        let mut numbers = [0; source::LEN];
        numbers[usize::from(source::REG)] = reg;
        // REX2's fourth bits extend no vector register.
        numbers[usize::from(source::REG_VECTOR)] = if evex { reg } else { reg & 15 };
        numbers[usize::from(source::RM)] = low | self.ext & ext::B4;
        numbers[usize::from(source::RM_VECTOR)] = if evex { low | (self.ext & ext::X) << 3 } else { low };
        numbers[usize::from(source::VVVV)] = self.vvvv;
        let last = self.bytes[usize::from(self.len.wrapping_sub(1) & 15)];
        numbers[usize::from(source::IMMEDIATE)] = last >> 4;
        numbers
    }
    /// The registers that an operand's code stands for: most are one, some an aligned group.
    #[inline]
    fn named(&self, code: u16, numbers: &[u8; source::LEN]) -> u128 {
        let bank = code >> operand::BANK & 7;
        let (first, mask) = BANKS[usize::from(bank & 7)];
        // Outside 64-bit mode there are eight registers; VEX's and EVEX's further bits are ignored.
        let mask = if self.mode.bits == Bits::B64 { mask } else { mask & 7 };
        let mut number = numbers[usize::from(code & operand::SOURCE)] & mask;
        // ah to bh, where no prefix makes them spl to dil.
        let may_be_high = bank == register_bank::GENERAL && code & operand::BYTE != 0;
        if may_be_high && self.ext & ext::REX == 0 && !self.is_evex() && number & 0x1c == 4 {
            number -= 4;
        }
        let count = code >> operand::COUNT & 3;
        if count != 0 {
            let size = 1_u32 << count;
            number &= !(size as u8 - 1);
            return ((1_u128 << size) - 1).wrapping_shl(u32::from(first + number));
        }
        1_u128.wrapping_shl(u32::from(first + number))
    }
    /// All registers, for the operand size and the memory operands.
    #[inline]
    pub(super) fn registers_by(&self, form: &Form, size: u8, memory: [Option<&Memory>; 3]) -> Registers {
        let is_word = size == 2;
        let Implied { read: mut reads, written: mut writes, overwritten: mut whole } = form.implied(is_word);
        let numbers = self.numbers();
        let is_register_form = self.is_register_form();
        let keeps_part = form.has(attr::PART) || form.has(attr::PART_OF_REGISTER) && is_register_form;
        let kept_by = match () {
            () if form.has(attr::ZERO_UPPER) => 0,
            () if is_word => operand::BYTE | operand::SIZED,
            () => operand::BYTE,
        };
        let mut codes = form.operands();
        while codes != 0 {
            let code = codes as u16;
            codes >>= 16;
            let is_register = code & operand::REGISTER_FORM == 0 || is_register_form;
            if code & operand::SOURCE == source::NONE || !is_register {
                continue;
            }
            let named = self.named(code, &numbers);
            let (is_read, is_written) = (code >> operand::ACCESS & 1 != 0, code >> operand::ACCESS & 2 != 0);
            let is_general = code >> operand::BANK & 7 == register_bank::GENERAL;
            let keeps = is_general && code & kept_by != 0 || keeps_part && !is_read;
            reads |= if is_read { named } else { 0 };
            writes |= if is_written { named } else { 0 };
            whole |= if is_written && !keeps { named } else { 0 };
        }
        let (mut reads, mut writes) = (RegSet::from_bits(reads), RegSet::from_bits(writes));
        if let Some(mask) = self.masking(form) {
            reads = reads.with(mask);
            if self.p2 & 0x80 == 0 && form.has(attr::MERGES) {
                reads = reads.union(RegSet::from_bits(self.named(form.operands() as u16, &numbers)));
            }
            if form.has(attr::MASK_CLEARED) {
                writes = writes.with(mask);
            }
        }
        if !form.has(attr::NOTHING) {
            reads = reads.union(self.address_registers(memory));
        }
        if self.is_repeated(form) {
            (reads, writes) = (reads.with(Reg::RCX), writes.with(Reg::RCX));
            if matches!(self.opcode, 0xac | 0xad) {
                reads = reads.with(Reg::RAX);
            }
        }
        for (segment, base) in [(Reg::FS, Reg::FS_BASE), (Reg::GS, Reg::GS_BASE)] {
            if writes.contains(segment) {
                writes = writes.with(base);
            }
        }
        let low = RegSet::from_bits(whole & VECTORS);
        let whole = if self.is_legacy() { whole & !VECTORS } else { whole };
        Registers { reads, writes, overwrites: RegSet::from_bits(whole & !SYSTEM), overwrites_low: low }
    }
    /// The mask register that EVEX.aaa names, where it masks.
    fn masking(&self, form: &Form) -> Option<Reg> {
        let aaa = self.p2 & 7;
        let masks = self.is_evex() && aaa != 0 && form.has(attr::MASK | attr::MASK_CLEARED);
        masks.then(|| Reg::mask(aaa))
    }
    /// Whether F2 or F3 repeats the instruction.
    pub(super) fn is_repeated(&self, form: &Form) -> bool {
        form.has(attr::REP) && self.prefixes().has(Prefixes::REP | Prefixes::REPNE)
    }
    /// Registers of the addresses of memory operands.
    fn address_registers(&self, memory: [Option<&Memory>; 3]) -> RegSet {
        // `lea` computes no linear address.
        let lea = self.space == space::ONE_BYTE && self.opcode == 0x8d;
        let mut set = RegSet::EMPTY;
        for memory in memory.into_iter().flatten() {
            for reg in [memory.base, memory.index].into_iter().flatten() {
                set = set.with(reg);
            }
            set = match memory.segment {
                Reg::FS if !lea => set.with(Reg::FS_BASE),
                Reg::GS if !lea => set.with(Reg::GS_BASE),
                _ => set,
            };
        }
        set
    }
    /// Registers read, implicit ones and those of addresses included.
    ///
    /// What is written in part keeps the rest; that alone does not make it read (`mov al, 1`, `sqrtss xmm0, xmm1`).
    /// What may survive in whole is read: the destination of `cmov`, of a merging mask, of a repeated `lods`. A register
    /// whose value cannot matter is read all the same (`xor eax, eax`). [`Reg::FLAGS`] is a member where
    /// [`Insn::flags_read`] is not empty, [`Reg::MXCSR`] with floating point arithmetic, [`Reg::RIP`] with what is relative
    /// to it or saves it, [`Reg::SSP`] with calls and returns; x87 instructions that use the register stack read and write
    /// all of mm0 to mm7. Of the segments that memory operands use only fs and gs count, as their bases.
    pub fn reads(&self) -> RegSet {
        self.effects().reads
    }
    /// Registers that may be written, implicit ones included.
    ///
    /// A 32-bit write to a general register clears its upper half. Members as in [`Insn::reads`]: [`Reg::FLAGS`] where
    /// [`Insn::flags_written`] is not empty, [`Reg::RIP`] where the flow may leave the next instruction.
    pub fn writes(&self) -> RegSet {
        self.effects().writes
    }
    /// Registers of which every bit, once the instruction is complete, depends on nothing but what it reads ([`Insn::reads`]) and on memory: a
    /// value that was there before is of no use any more, unless it is read.
    ///
    /// A subset of [`Insn::writes`]. What is written and not a member keeps some of its bits (`mov al, 1`, `movaps xmm0, xmm1`, of which the
    /// upper half of `ymm0` stays), or is written in some cases only. An instruction of 32 bits overwrites a general register in whole, since
    /// it clears the upper half. [`Reg::FLAGS`] is never a member: [`Insn::flags_overwritten`] tells of each flag.
    pub fn overwrites(&self) -> RegSet {
        self.effects().overwrites
    }
    /// Vector registers of which bits 127:0 are overwritten, as [`Insn::overwrites`] has it of all bits: of `movss xmm0, [rax]`, not of
    /// `movss xmm0, xmm1`, which keeps bits 127:32.
    pub fn overwrites_low(&self) -> RegSet {
        self.effects().overwrites_low
    }
}
