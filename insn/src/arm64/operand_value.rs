//! Values in a word, for operands.

use super::insn::field;
use super::operand_codes::special;

/// The bits with these numbers as a number, the first as the highest.
pub(super) fn gather(word: u32, bits: &[u8]) -> u32 {
    bits.iter().fold(0, |value, bit| value << 1 | field(word, u32::from(*bit), 1))
}

/// The value of a function that no row of bits is.
pub(super) fn function(word: u32, number: u8) -> i64 {
    match number {
        special::MASK => {
            let mask = bit_mask(field(word, 22, 1), field(word, 16, 6), field(word, 10, 6));
            (if word >> 31 == 0 { mask & 0xffff_ffff } else { mask }) as i64
        }
        special::SVE_MASK => bit_mask(field(word, 17, 1), field(word, 11, 6), field(word, 5, 6)) as i64,
        special::BYTES => {
            let bits = field(word, 16, 3) << 5 | field(word, 5, 5);
            (0..8).fold(0u64, |value, n| value | (if bits >> n & 1 == 1 { 0xff } else { 0 }) << (8 * n)) as i64
        }
        // The highest bit of immh tells the size of an element.
        special::SHIFT_LEFT => shift(word).map_or(0, |(size, value)| value - size),
        special::SHIFT_RIGHT => shift(word).map_or(0, |(size, value)| 2 * size - value),
        _ => 0,
    }
}

/// The bits of the f32 that a function gives.
pub(super) fn float(word: u32, number: u8) -> u32 {
    let byte = match number {
        special::FLOAT_13 => field(word, 13, 8),
        special::FLOAT_5 => field(word, 5, 8),
        _ => field(word, 16, 3) << 5 | field(word, 5, 5),
    };
    // VFPExpandImm (Arm ARM J1): sign, then the opposite of bit 6 and five copies of it.
    let exponent = if byte & 0x40 == 0 { 0x80 } else { 0x7c } | byte >> 4 & 3;
    byte >> 7 << 31 | exponent << 23 | (byte & 15) << 19
}

/// The size of an element in bits that immh (bits 22 to 19) tells, and immh with immb.
fn shift(word: u32) -> Option<(i64, i64)> {
    let value = field(word, 16, 7);
    let highest = (value >> 3).checked_ilog2()?;
    Some((8i64.wrapping_shl(highest), i64::from(value)))
}

/// DecodeBitMasks (Arm ARM J1), for 64 bits.
fn bit_mask(n: u32, immr: u32, imms: u32) -> u64 {
    let Some(length) = (n << 6 | !imms & 0x3f).checked_ilog2() else { return 0 };
    let size = 1u32.wrapping_shl(length);
    let levels = size.wrapping_sub(1);
    let (ones, rotated) = (imms & levels, immr & levels);
    let element = u64::MAX.wrapping_shr(63u32.wrapping_sub(ones));
    let low = u64::MAX.wrapping_shr(64u32.wrapping_sub(size));
    let turned = if rotated == 0 {
        element
    } else {
        (element.wrapping_shr(rotated) | element.wrapping_shl(size.wrapping_sub(rotated))) & low
    };
    let (mut mask, mut width) = (turned, size);
    while width < 64 {
        mask |= mask.wrapping_shl(width);
        width = width.wrapping_mul(2);
    }
    mask
}
