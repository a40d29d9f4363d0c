//! The decoded instruction.

use super::way::Way;

/// A decoded instruction. It is cheap to copy. Everything but flow and validity is computed on request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Insn {
    pub(super) word: u32,
    pub(super) way: Way,
}

impl core::fmt::Debug for Insn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Insn({:#010x})", self.word)
    }
}

impl Insn {
    /// The instruction as a 32-bit word.
    #[inline]
    pub fn word(&self) -> u32 {
        self.word
    }
    /// The field of `width` bits from bit `low` on.
    #[inline(always)]
    pub(super) fn field(&self, low: u32, width: u32) -> u32 {
        field(self.word, low, width)
    }
    /// The field of `width` bits from bit `low` on, sign-extended.
    #[inline(always)]
    pub(super) fn signed_field(&self, low: u32, width: u32) -> i64 {
        signed_field(self.word, low, width)
    }
}

/// The field of `width` bits from bit `low` on.
#[inline(always)]
pub(super) fn field(word: u32, low: u32, width: u32) -> u32 {
    word.wrapping_shr(low) & 1u32.wrapping_shl(width).wrapping_sub(1)
}

/// The same, sign-extended.
#[inline(always)]
pub(super) fn signed_field(word: u32, low: u32, width: u32) -> i64 {
    let unused = 32u32.wrapping_sub(width);
    let top = word.wrapping_shl(unused.wrapping_sub(low)) as i32;
    i64::from(top.wrapping_shr(unused))
}
