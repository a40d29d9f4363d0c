//! Registers and flags whose old values do not outlive an instruction.

use super::codes::{attr, space};
use super::form::{Form, Operand};
use super::{Flags, Insn, Reg, RegSet};

/// Registers overwritten in whole, and vector registers of which the low 128 bits are.
#[derive(Clone, Copy)]
pub(super) struct Overwritten {
    pub(super) whole: RegSet,
    pub(super) low: RegSet,
}

const GENERAL: u128 = 0xffff_ffff;
const VECTOR: u128 = GENERAL << 32;
const SEGMENTS: u128 = 0x3f << 88;

/// What has values of its own beside what an instruction writes: told apart by [`Insn::flags_overwritten`], or not the program's.
const APART: RegSet = RegSet::EMPTY.with(Reg::FLAGS).with(Reg::RIP).with(Reg::SYSTEM);
/// Loading a null selector leaves a segment's base as it is on some processors (APM vol. 2, 4.5.3).
const BASES: RegSet = RegSet::EMPTY.with(Reg::FS_BASE).with(Reg::GS_BASE);

impl Insn {
    /// Registers of which every bit, once the instruction is complete, depends on nothing but what it reads ([`Insn::reads`]) and on memory: a
    /// value that was there before is of no use any more, unless it is read.
    ///
    /// A subset of [`Insn::writes`]. What is written and not a member keeps some of its bits (`mov al, 1`, `movaps xmm0, xmm1`, of which the
    /// upper half of `ymm0` stays), or is written in some cases only. An instruction of 32 bits overwrites a general register in whole, since
    /// it clears the upper half. [`Reg::FLAGS`] is never a member: [`Insn::flags_overwritten`] tells of each flag.
    pub fn overwrites(&self) -> RegSet {
        self.overwritten_by(&self.form()).whole
    }
    /// Vector registers of which bits 127:0 are overwritten, as [`Insn::overwrites`] has it of all bits: of `movss xmm0, [rax]`, not of
    /// `movss xmm0, xmm1`, which keeps bits 127:32.
    pub fn overwrites_low(&self) -> RegSet {
        self.overwritten_by(&self.form()).low
    }
    /// Flags that get a value that the manual defines, whatever they and the operands were before.
    ///
    /// Flags of [`Insn::flags_written`] that are in neither this nor [`Insn::flags_undefined`] are left alone in some cases: by a shift by
    /// `cl`, a repeated `cmps`. `popf` and its like are taken to run in user mode.
    pub fn flags_overwritten(&self) -> Flags {
        self.flags_overwritten_by(&self.form())
    }
    /// Flags that the manual leaves undefined. Processors leave some of them alone.
    pub fn flags_undefined(&self) -> Flags {
        self.flags_undefined_by(&self.form())
    }
    pub(super) fn overwritten_by(&self, form: &Form) -> Overwritten {
        let is_word = self.size_of(form) == 2;
        let keeps_part = form.has(attr::PART) || form.has(attr::PART_OF_REGISTER) && self.is_register_form();
        let (mut whole, mut low, mut sized) = (RegSet::EMPTY, RegSet::EMPTY, form.implicit_memory() != 0);
        for operand in form.operands() {
            sized |= operand.sized;
            if operand.is_written() && (operand.is_read() || !keeps_part) {
                let registers = self.operand_registers(form, operand);
                let Overwritten { whole: all, low: half } = self.extended(registers, form, operand, is_word);
                (whole, low) = (whole.union(all), low.union(half));
            }
        }
        let (read, written) = form.implicit();
        let mut implicit = RegSet::from_bits(if keeps_part { written & read } else { written });
        if is_word && sized {
            implicit = RegSet::from_bits(implicit.bits() & !GENERAL);
        }
        if written & SEGMENTS != 0 {
            implicit = implicit.difference(BASES);
        }
        let vectors = implicit.intersection(RegSet::from_bits(VECTOR));
        low = low.union(vectors);
        if self.is_legacy() {
            implicit = implicit.difference(vectors);
        }
        Overwritten { whole: whole.union(implicit).difference(APART), low }
    }
    /// What of registers a write of an operand takes with it.
    fn extended(&self, registers: RegSet, form: &Form, operand: Operand, is_word: bool) -> Overwritten {
        let bits = registers.bits();
        let vectors = RegSet::from_bits(bits & VECTOR);
        let keeps = if bits & GENERAL != 0 {
            (operand.byte || operand.sized && is_word) && !form.has(attr::ZERO_UPPER)
        } else {
            bits & VECTOR != 0 && self.is_legacy()
        };
        Overwritten { whole: if keeps { RegSet::EMPTY } else { registers }, low: vectors }
    }
    /// Whether neither VEX, XOP nor EVEX introduces it.
    fn is_legacy(&self) -> bool {
        !(space::VEX..space::REX2).contains(&self.space)
    }
    pub(super) fn flags_overwritten_by(&self, form: &Form) -> Flags {
        let [_, _, always, _] = form.flags();
        let is_kept = self.is_repeated(form) || form.has(attr::COUNT) && !self.has_count(form);
        if is_kept { Flags::EMPTY } else { self.unless_suppressed(form, always) }
    }
    pub(super) fn flags_undefined_by(&self, form: &Form) -> Flags {
        let [_, _, _, undefined] = form.flags();
        self.unless_suppressed(form, undefined)
    }
    /// Whether a shift's count is known and not 0. It is taken modulo 32, of 64-bit operands modulo 64; a double shift of 16 bits by more than
    /// 16 leaves all flags undefined.
    fn has_count(&self, form: &Form) -> bool {
        let size = self.size_of(form);
        let Some(count) = self.immediate().map(|field| field.value as u8 & if size == 8 { 63 } else { 31 }) else {
            return false;
        };
        count != 0 && (size != 2 || count <= 16)
    }
}
