//! Numbers of one to ten bytes: seven bits a byte, the lowest first, the highest bit set on all but the last (LEB128).

use crate::error::{Problem, Result};

/// Appends a number.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a difference, small in size whatever its sign.
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, (value << 1 ^ value >> 63) as u64);
}

/// Bytes that are read from their start, and where in the trace they lie.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    /// Offset of the next byte.
    pub(crate) at: usize,
    pub(crate) end: usize,
}

impl Cursor {
    pub(crate) fn is_empty(self) -> bool {
        self.at >= self.end
    }
    pub(crate) fn byte(&mut self, bytes: &[u8]) -> Result<u8, Problem> {
        let byte = bytes.get(self.at).filter(|_| self.at < self.end).ok_or(Problem::ShortRecord)?;
        self.at += 1;
        Ok(*byte)
    }
    pub(crate) fn number(&mut self, bytes: &[u8]) -> Result<u64, Problem> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(bytes)?;
            if shift == 63 && byte > 1 {
                return Err(Problem::LargeNumber(byte));
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Problem::LargeNumber(0x80))
    }
    pub(crate) fn signed(&mut self, bytes: &[u8]) -> Result<i64, Problem> {
        let value = self.number(bytes)?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }
    /// A number that must fit 32 bits.
    pub(crate) fn id(&mut self, bytes: &[u8]) -> Result<u32, Problem> {
        let value = self.number(bytes)?;
        u32::try_from(value).map_err(|_| Problem::LargeId(value))
    }
    /// All that is left.
    pub(crate) fn rest<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let rest = bytes.get(self.at..self.end).unwrap_or_default();
        self.at = self.end;
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_were() {
        for value in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put(&mut out, value);
            put_signed(&mut out, value as i64);
            let mut cursor = Cursor { at: 0, end: out.len() };
            assert_eq!(cursor.number(&out), Ok(value));
            assert_eq!(cursor.signed(&out), Ok(value as i64));
            assert!(cursor.is_empty());
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_an_error() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        let mut cursor = Cursor { at: 0, end: bytes.len() };
        assert_eq!(cursor.number(&bytes), Err(Problem::LargeNumber(2)));
    }
}
