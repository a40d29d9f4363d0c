//! The registers that an instruction reads, writes and overwrites.

use super::codes::{attr, bank, operand, register_bank, source, space};
use super::form::{Form, Implied};
use super::insn::ext;
use super::{Bits, Insn, Memory, Prefixes, Reg, RegSet, Vendor};
use crate::Flow;

/// The registers of an instruction, named as the accessors of [`Insn`].
#[derive(Clone, Copy)]
pub(super) struct Registers {
    pub(super) reads: RegSet,
    pub(super) writes: RegSet,
    pub(super) overwrites: RegSet,
    pub(super) overwrites_low: RegSet,
}

/// The number of the first register of each bank ([`register_bank`]), and the mask of a number within the bank.
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
    /// Whether the encoding has no VEX, XOP or EVEX prefix.
    fn is_legacy(&self) -> bool {
        !(space::VEX..space::REX2).contains(&self.space)
    }
    /// The register numbers in the instruction's fields, indexed by [`source`].
    #[inline]
    fn numbers(&self) -> [u8; source::LEN] {
        let modrm = self.modrm().unwrap_or(self.opcode);
        let evex = self.is_evex();
        // Shifts move the bits of `ext` to the bits 3 and 4 of a number.
        let low = modrm & 7 | (self.ext & ext::B) << 3;
        let reg = modrm >> 3 & 7 | (self.ext & ext::R) << 1 | (self.ext & ext::R4) >> 3;
        let mut numbers = [0; source::LEN];
        numbers[usize::from(source::REG)] = reg;
        // REX2's fourth bits extend no vector register.
        numbers[usize::from(source::REG_VECTOR)] = if evex { reg } else { reg & 15 };
        numbers[usize::from(source::RM)] = low | (self.ext & ext::B4) >> 1;
        numbers[usize::from(source::RM_VECTOR)] = if evex { low | (self.ext & ext::X) << 3 } else { low };
        numbers[usize::from(source::VVVV)] = self.vvvv;
        let last = self.bytes[usize::from(self.len.wrapping_sub(1) & 15)];
        numbers[usize::from(source::IMMEDIATE)] = last >> 4;
        numbers
    }
    /// The registers that an operand's code names: one, or an aligned group.
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
    /// The registers of the instruction. `size` is the operand size in bytes, `memory` the memory operands.
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
            let first = form.operands() as u16;
            let is_register = first & operand::REGISTER_FORM == 0 || is_register_form;
            if self.p2 & 0x80 == 0 && form.has(attr::MERGES) && is_register {
                reads = reads.union(RegSet::from_bits(self.named(first, &numbers)));
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
            // AMD's processors before Zen 2 keep the base when a null selector is loaded.
            if writes.contains(segment) {
                (reads, writes) = (reads.with(base), writes.with(base));
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
    /// The registers that the instruction reads, including implicit ones and those of addresses.
    ///
    /// - A partial write does not count as a read (`mov al, 1`, `sqrtss xmm0, xmm1`).
    /// - A destination that may keep its whole value counts as read: of `cmov`, with a merging mask, of a repeated `lods`.
    /// - A register counts as read even if its value cannot matter (`xor eax, eax`).
    /// - A no-operation reads nothing, whatever its operand (`nop [rax]`).
    /// - [`Reg::FLAGS`] is a member if [`Insn::flags_read`] is not empty, [`Reg::MXCSR`] with floating point arithmetic, [`Reg::RIP`] if the
    ///   instruction uses or saves it, [`Reg::SSP`] with calls and returns.
    /// - x87 instructions that use the register stack read and write all of mm0 to mm7.
    /// - Of the segments of memory operands only fs and gs count, as their bases.
    pub fn reads(&self) -> RegSet {
        self.effects().reads
    }
    /// The registers that the instruction may write, including implicit ones.
    ///
    /// [`Reg::FLAGS`] is a member if [`Insn::flags_written`] is not empty, [`Reg::RIP`] if the flow may leave the next instruction.
    pub fn writes(&self) -> RegSet {
        self.effects().writes
    }
    /// The registers that the instruction overwrites in whole: after it, all their bits depend only on memory and on what the instruction
    /// reads ([`Insn::reads`]). Unless the instruction also reads such a register, its old value is dead.
    ///
    /// The set is a subset of [`Insn::writes`]. A register that is written and not in this set keeps some of its bits (`mov al, 1`; `movaps
    /// xmm0, xmm1`, which keeps the upper half of `ymm0`), or is written only in some cases. A 32-bit instruction overwrites a general
    /// register in whole, because it clears the upper half. [`Reg::FLAGS`] is never a member; see [`Insn::flags_overwritten`].
    pub fn overwrites(&self) -> RegSet {
        self.effects().overwrites
    }
    /// The vector registers of which the instruction overwrites bits 127:0, in the sense of [`Insn::overwrites`]. `movss xmm0, [rax]`
    /// overwrites these bits; `movss xmm0, xmm1` does not, because it keeps bits 127:32.
    pub fn overwrites_low(&self) -> RegSet {
        self.effects().overwrites_low
    }
}
