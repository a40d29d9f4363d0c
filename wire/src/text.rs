//! Text and numbers without `core::fmt`: a kernel's build of it cannot be linked by modules that another compiler has built.

use core::fmt;

/// The digits of numbers, as text.
const DIGITS: [&str; 16] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"];

/// Where text goes, piece by piece.
pub trait Text {
    /// Why a piece could not be put.
    type Error;

    /// Puts a piece behind the others.
    ///
    /// # Errors
    /// There is no room for it.
    fn put(&mut self, piece: &str) -> Result<(), Self::Error>;

    /// Puts the four hexadecimal digits of a number.
    ///
    /// # Errors
    /// There is no room for them.
    fn put_hexadecimal(&mut self, number: u16) -> Result<(), Self::Error> {
        [12, 8, 4, 0].into_iter().try_for_each(|shift| self.put(DIGITS[usize::from(number >> shift & 0xf)]))
    }

    /// Puts the decimal digits of a number, without zeroes before them.
    ///
    /// # Errors
    /// There is no room for them.
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
