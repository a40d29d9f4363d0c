use super::Reg;
use crate::Access;

/// A memory operand that an instruction encodes or implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Memory {
    /// Segment register, by default or override.
    pub segment: Reg,
    /// Base register; [`Reg::RIP`] for rip-relative.
    pub base: Option<Reg>,
    /// Index register: general, or a vector register for gathers and scatters.
    pub index: Option<Reg>,
    /// Factor of the index: 1, 2, 4 or 8.
    pub scale: u8,
    /// Sign-extended displacement in bytes; EVEX's disp8 is scaled.
    pub displacement: i64,
    /// Number of bytes accessed from the operand's address on; for a repeated string instruction the size of one element; 0 if the
    /// instruction does not determine the size (`xsave`).
    pub size: u16,
    /// Address size in bytes: 2, 4 or 8.
    pub address_size: u8,
    /// How the memory is used.
    pub access: Access,
}
