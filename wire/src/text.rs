//! Text and numbers without `core::fmt`.
//!
//! A kernel module cannot link the kernel's build of `core::fmt` if another compiler built the module.

use core::fmt;

/// Hexadecimal digits.
const DIGITS: [&str; 16] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"];

/// A destination for pieces of text.
pub trait Text {
    /// Why a piece could not be put.
    type Error;

    /// Appends a piece.
    ///
    /// # Errors
    /// There is no room for the piece.
    fn put(&mut self, piece: &str) -> Result<(), Self::Error>;

    /// Appends a number as four hexadecimal digits.
    ///
    /// # Errors
    /// There is no room for the digits.
    fn put_hexadecimal(&mut self, number: u16) -> Result<(), Self::Error> {
        [12, 8, 4, 0].into_iter().try_for_each(|shift| self.put(DIGITS[usize::from(number >> shift & 0xf)]))
    }

    /// Appends a number in decimal, without leading zeroes.
    ///
    /// # Errors
    /// There is no room for the digits.
    fn put_decimal(&mut self, number: u64) -> Result<(), Self::Error> {
        if number >= 10 {
            self.put_decimal(number / 10)?;
        }
        self.put(DIGITS[(number % 10) as usize])
    }
}

impl<W: fmt::Write> Text for W {
    type Error = fmt::Error;

    fn put(&mut self, piece: &str) -> fmt::Result {
        self.write_str(piece)
    }
}
