//! The flags that an instruction reads, writes and overwrites.

use super::codes::attr;
use super::form::Form;
use super::{Flags, Insn, Mode};

/// The flags of an instruction, named as the accessors of [`Insn`].
#[derive(Clone, Copy)]
pub(super) struct Flagged {
    pub(super) read: Flags,
    pub(super) written: Flags,
    pub(super) overwritten: Flags,
    pub(super) undefined: Flags,
}

impl Flagged {
    const NONE: Flagged =
        Flagged { read: Flags::EMPTY, written: Flags::EMPTY, overwritten: Flags::EMPTY, undefined: Flags::EMPTY };
}

/// The attributes of forms whose flags depend on fields of the instruction.
const DEPENDS: u32 = attr::CONDITION | attr::SCC | attr::NF | attr::IMAGE | attr::COUNT | attr::REP;

impl Insn {
    /// The flags that the instruction reads. A shift by cl does not read them, although it keeps them when cl is 0.
    pub fn flags_read(&self) -> Flags {
        self.flagged().read
    }
    /// The flags that the instruction may write, including those that it leaves undefined.
    pub fn flags_written(&self) -> Flags {
        self.flagged().written
    }
    /// The flags to which the instruction always gives a value that the manual defines.
    ///
    /// A flag of [`Insn::flags_written`] that is neither in this set nor in [`Insn::flags_undefined`] keeps its value or is undefined in some
    /// cases, as after a shift by `cl` or a repeated `cmps`. The set of `popf` is the one of user mode.
    pub fn flags_overwritten(&self) -> Flags {
        self.flagged().overwritten
    }
    /// The flags that the manual leaves undefined. Some processors keep the old value of such a flag.
    pub fn flags_undefined(&self) -> Flags {
        self.flagged().undefined
    }
    #[inline]
    pub(super) fn flagged(&self) -> Flagged {
        match self.record() {
            Some(record) => self.common_flags(record),
            None => general(u128::from_le_bytes(self.bytes), self.mode),
        }
    }
    /// The flags of the instruction. `size` is the operand size in bytes.
    #[inline]
    pub(super) fn flags_by(&self, form: &Form, size: u8) -> Flagged {
        let [read, written, always, undefined] = form.flags();
        if form.has(DEPENDS) {
            return self.flags_that_depend(form, size);
        }
        Flagged {
            read: Flags::from_bits(read),
            written: Flags::from_bits(written),
            overwritten: Flags::from_bits(always),
            undefined: Flags::from_bits(undefined),
        }
    }
    #[inline(never)]
    fn flags_that_depend(&self, form: &Form, size: u8) -> Flagged {
        let [read, mut written, mut always, mut undefined] = form.flags();
        let mut read = Flags::from_bits(read);
        if form.has(attr::SCC) {
            read = read.union(scc_flags(self.p2));
        } else if form.has(attr::CONDITION) {
            read = read.union(condition_flags(self.opcode));
        }
        if form.has(attr::NF) && self.is_evex() && self.p2 & 4 != 0 {
            (written, always, undefined) = (0, 0, 0);
        }
        if self.is_repeated(form) || form.has(attr::COUNT) && !has_count(self, size) {
            always = 0;
        }
        // A flags image of two bytes has the lower flags only.
        let image = if form.has(attr::IMAGE) && size == 2 { 0xffff } else { u32::MAX };
        let flags = |bits: u32| Flags::from_bits(bits & image);
        let read = flags(read.bits());
        Flagged { read, written: flags(written), overwritten: flags(always), undefined: flags(undefined) }
    }
}

/// The flags of a rare instruction, from its bytes alone: if the caller kept all fields in registers, every instruction would pay for it.
#[cold]
#[inline(never)]
fn general(bytes: u128, mode: Mode) -> Flagged {
    Insn::again(bytes, mode).map_or(Flagged::NONE, |insn| {
        let form = insn.form();
        insn.flags_by(&form, insn.size_of(&form))
    })
}

/// Whether a shift has an immediate count by which all its flags are defined: not 0, and less than the number of bits of the operand (SDM
/// vol. 2B, SAL/SAR/SHL/SHR, SHLD). The processor takes the count modulo 32, or modulo 64 with 64-bit operands.
pub(super) fn has_count(insn: &Insn, size: u8) -> bool {
    let Some(count) = insn.immediate().map(|field| field.value as u8 & if size == 8 { 63 } else { 31 }) else {
        return false;
    };
    count != 0 && count < 8 * size
}

/// The flags that SCC, in EVEX's fourth byte, reads: those of a condition code, except 10 and 11, which are true and false (APX, conditional
/// compare and test).
fn scc_flags(fourth: u8) -> Flags {
    match fourth & 15 {
        10 | 11 => Flags::EMPTY,
        condition => condition_flags(condition),
    }
}

/// Flags that a condition code reads (SDM vol. 1, appendix B).
fn condition_flags(code: u8) -> Flags {
    match code >> 1 & 7 {
        0 => Flags::OF,
        1 => Flags::CF,
        2 => Flags::ZF,
        3 => Flags::CF.union(Flags::ZF),
        4 => Flags::SF,
        5 => Flags::PF,
        6 => Flags::SF.union(Flags::OF),
        _ => Flags::SF.union(Flags::OF).union(Flags::ZF),
    }
}
