//! Flags that an instruction reads, writes and overwrites.

use super::codes::attr;
use super::form::Form;
use super::{Flags, Insn};

/// Flags of an instruction: see the accessors of the same names.
#[derive(Clone, Copy)]
pub(super) struct Flagged {
    pub(super) read: Flags,
    pub(super) written: Flags,
    pub(super) overwritten: Flags,
    pub(super) undefined: Flags,
}

/// Attributes by which flags depend on more than the form.
const DEPENDS: u32 = attr::CONDITION | attr::SCC | attr::NF | attr::IMAGE | attr::COUNT | attr::REP;

impl Insn {
    /// Flags read. That a shift by cl leaves them alone when cl is 0 does not make them read.
    pub fn flags_read(&self) -> Flags {
        self.flagged().read
    }
    /// Flags that may be written, those left undefined included.
    pub fn flags_written(&self) -> Flags {
        self.flagged().written
    }
    /// Flags that get a value that the manual defines, whatever they and the operands were before.
    ///
    /// Flags of [`Insn::flags_written`] that are in neither this nor [`Insn::flags_undefined`] are left alone in some cases: by a shift by
    /// `cl`, a repeated `cmps`. `popf` and its like are taken to run in user mode.
    pub fn flags_overwritten(&self) -> Flags {
        self.flagged().overwritten
    }
    /// Flags that the manual leaves undefined. Processors leave some of them alone.
    pub fn flags_undefined(&self) -> Flags {
        self.flagged().undefined
    }
    fn flagged(&self) -> Flagged {
        let form = self.form();
        self.flags_by(&form, self.size_of(&form))
    }
    /// All flags, for the operand size.
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
        if self.is_repeated(form) || form.has(attr::COUNT) && !self.has_count(size) {
            always = 0;
        }
        // The image in memory of an operand size of 2 has the low flags.
        let image = if form.has(attr::IMAGE) && size == 2 { 0xffff } else { u32::MAX };
        let flags = |bits: u32| Flags::from_bits(bits & image);
        let read = flags(read.bits());
        Flagged { read, written: flags(written), overwritten: flags(always), undefined: flags(undefined) }
    }
    /// Whether a shift's count is known and not 0. It is taken modulo 32, of 64-bit operands modulo 64; a double shift of 16 bits by more than
    /// 16 leaves all flags undefined.
    fn has_count(&self, size: u8) -> bool {
        let Some(count) = self.immediate().map(|field| field.value as u8 & if size == 8 { 63 } else { 31 }) else {
            return false;
        };
        count != 0 && (size != 2 || count <= 16)
    }
}

/// SCC, in EVEX's fourth byte, is a condition code, but for 10 and 11: true and false (APX, conditional compare and test).
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
