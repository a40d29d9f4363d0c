//! The number of bytes of modrm and what it brings along, by nibbles.

use super::super::generated::hot::HOT;

/// modrm has a SIB byte.
const SIB: u8 = 1;
/// modrm has four bytes of displacement in place of a base.
const NO_BASE: u8 = 2;
/// modrm has a SIB byte whose base 5 is four bytes of displacement.
const BASE_5: u8 = 8;

/// By the low nibble, which has rm: what rm can mean.
pub(super) static RM: [u8; 16] = [0, 0, 0, 0, SIB | BASE_5, NO_BASE, 0, 0, 0, 0, 0, 0, SIB | BASE_5, NO_BASE, 0, 0];
/// By the high nibble, which has mod: what mod admits.
pub(super) static MOD: [u8; 16] = {
    const NOTHING: u8 = SIB | NO_BASE | BASE_5;
    [NOTHING, NOTHING, NOTHING, NOTHING, SIB, SIB, SIB, SIB, SIB, SIB, SIB, SIB, 0, 0, 0, 0]
};
/// By the low nibble of the SIB byte, which has the base: what the base admits.
pub(super) static BASE: [u8; 16] = {
    const OTHER: u8 = SIB | NO_BASE;
    const FIVE: u8 = OTHER | BASE_5;
    [OTHER, OTHER, OTHER, OTHER, OTHER, FIVE, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, FIVE, OTHER, OTHER]
};
/// By what all three leave: the number of bytes.
pub(super) static EXTRA: [u8; 16] = [0, 1, 4, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0];
/// By the high nibble: the number of bytes of modrm and of the displacement that mod tells.
pub(super) static DISPLACEMENT: [u8; 16] = [1, 1, 1, 1, 2, 2, 2, 2, 5, 5, 5, 5, 1, 1, 1, 1];

// The tables here tell what the hot table tells, of every modrm and base.
const _: () = {
    let mut at = 0;
    while at < 256 * 8 {
        let (modrm, base) = (at & 255, at >> 8);
        let told = HOT.modrm[modrm] & 15;
        let told = if HOT.modrm[modrm] & 0x20 != 0 && base == 5 { told + 4 } else { told };
        let (low, high) = (modrm & 15, modrm >> 4);
        assert!(told == EXTRA[(RM[low] & MOD[high] & BASE[base]) as usize] + DISPLACEMENT[high]);
        assert!(BASE[base] == BASE[base + 8]);
        at += 1;
    }
};
