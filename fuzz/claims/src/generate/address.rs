use arbitrary::{Arbitrary, Result, Unstructured};
use insn::x86::Bits;

/// Where something changes: zero, the halves and the end of 32-bit space, the canonical borders, the end.
const EDGES: &[u64] = &[0, 0x5555_5555_0000, 1 << 31, 1 << 32, 1 << 47, 0xffff_8000_0000_0000, 1 << 63];
/// Distances at which reach changes.
const DISTANCES: &[u64] = &[0, 1 << 12, 1 << 31, 1 << 32];

/// A site and a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    site: u64,
    slot: u64,
}

impl<'a> Arbitrary<'a> for Addresses {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Addresses> {
        let site = around(u, EDGES)?;
        let slot = match u.arbitrary::<u8>()? & 3 {
            0 => around(u, EDGES)?,
            1 => site.wrapping_sub(around(u, DISTANCES)?),
            _ => site.wrapping_add(around(u, DISTANCES)?),
        };
        Ok(Addresses { site, slot })
    }
}

impl Addresses {
    /// Both, in a space of `bits`.
    pub fn of(self, bits: Bits) -> (u64, u64) {
        let mask = if bits == Bits::B64 { u64::MAX } else { u64::from(u32::MAX) };
        (self.site & mask, self.slot & mask)
    }
}

/// A little before or behind one of the values; rarely anything.
fn around(u: &mut Unstructured<'_>, values: &[u64]) -> Result<u64> {
    if u.ratio(1, 8u8)? {
        return u.arbitrary();
    }
    let value = *u.choose(values)?;
    // Mostly within a few instructions.
    let offset = if u.arbitrary()? { i64::from(u.arbitrary::<i8>()?) } else { i64::from(u.arbitrary::<i16>()?) };
    Ok(value.wrapping_add_signed(offset))
}
