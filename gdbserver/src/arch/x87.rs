//! The tag word of the x87 unit (SDM vol. 1, 8.1.7), which `FXSAVE` abridges to a bit for each register (10.5.1.1).

/// The tag word of x87 registers in `FXSAVE`'s layout: 0 valid, 1 zero, 2 special, 3 empty, for physical registers (SDM vol. 1, 8.1.7).
pub(super) fn tags(image: &[u8]) -> u16 {
    let byte = |at: usize| image.get(at).copied().unwrap_or_default();
    let (top, used) = (byte(3) >> 3 & 7, byte(4));
    let tag = |physical: u8| {
        if used >> physical & 1 == 0 {
            return 3;
        }
        let start = 32 + 16 * usize::from(physical.wrapping_sub(top) & 7);
        let exponent = u16::from_le_bytes([byte(start + 8), byte(start + 9)]) & 0x7fff;
        let is_zero = (start..start + 8).all(|at| byte(at) == 0);
        match (exponent, is_zero, byte(start + 7) >> 7) {
            (0, true, _) => 1,
            (0x7fff, ..) | (_, _, 0) | (0, ..) => 2,
            _ => 0,
        }
    };
    (0..8).fold(0, |word, physical| word | tag(physical) << (2 * physical))
}

/// The byte of `FXSAVE` for a tag word: a bit for each register that is not empty.
pub(super) fn abridged(word: &[u8]) -> u8 {
    let word = word.iter().take(2).rev().fold(0u16, |word, &byte| word << 8 | u16::from(byte));
    (0..8).fold(0, |byte, physical| byte | u8::from(word >> (2 * physical) & 3 != 3) << physical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x87_tags_follow_from_the_registers_contents() {
        let mut image = vec![0; 512];
        // Two values were pushed: TOP is 6, the physical registers 6 and 7 are used.
        image[3] = 6 << 3;
        image[4] = 0xc0;
        // st(0), register 6: 1.0; st(1), register 7: 0.0.
        image[32 + 7] = 0x80;
        image[32 + 8..32 + 10].copy_from_slice(&0x3fffu16.to_le_bytes());
        assert_eq!(tags(&image), 0x4fff);
        assert_eq!(abridged(&0x4fffu32.to_le_bytes()), 0xc0);
    }
}
