use super::Reg;
use crate::Access;

/// A memory operand as the instruction encodes or implies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    /// The segment register that applies, default or override.
    pub segment: Reg,
    /// Base register; [`Reg::RIP`] for rip-relative.
    pub base: Option<Reg>,
    /// Index register: general, or a vector register for gathers and scatters.
    pub index: Option<Reg>,
    /// 1, 2, 4 or 8.
    pub scale: u8,
    /// Sign-extended displacement, EVEX's disp8 already scaled.
    pub displacement: i64,
    /// Bytes accessed from the operand's address on; 0 where the bytes of the instruction do not tell (`xsave`, `fxsave` are
    /// known, `rep` counts are not: this is the size of one element).
    pub size: u16,
    /// Bytes of the address computation: 2, 4 or 8.
    pub address_size: u8,
    /// How it is used.
    pub access: Access,
}
