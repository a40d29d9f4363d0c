//! The buffer of a channel's events: what happens where there is no room, and when a reader is woken.

use crate::{Failure, Status};

/// The smallest size of a buffer in bytes. Every event is shorter.
pub const LEAST: u64 = 8 << 10;
/// The largest size of a buffer in bytes.
pub const MOST: u64 = 16 << 20;
/// The size of a new channel's buffer in bytes.
pub const DEFAULT: u64 = 512 << 10;

/// What happens to an event for which the buffer has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The event is lost.
    Drop,
    /// The oldest unread events are lost.
    Circular,
    /// The event's thread waits for room.
    Lossless,
}

impl Mode {
    /// All modes, in the order of their numbers from 0.
    pub const ALL: [Mode; 3] = [Mode::Drop, Mode::Circular, Mode::Lossless];

    /// The name of the mode.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Drop => "drop",
            Mode::Circular => "circular",
            Mode::Lossless => "lossless",
        }
    }
}

/// The buffer of a channel, as the command `buffer` sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// What happens to an event without room.
    pub mode: Mode,
    /// Bytes of unread events for which there is room.
    pub size: u64,
    /// Unread bytes from which a reader is woken.
    pub mark: u64,
}

impl Buffer {
    /// The buffer of a new channel.
    pub const NEW: Buffer = Buffer { mode: Mode::Drop, size: DEFAULT, mark: 1 };

    /// The buffer that the words of the command describe.
    ///
    /// # Errors
    /// [`Status::Value`] with the index of the first word that has an undefined value.
    pub fn from_words(mode: u64, size: u64, mark: u64) -> Result<Buffer, Failure> {
        let wrong = |word| Failure::new(Status::Value, word);
        let mode = usize::try_from(mode).ok().and_then(|number| Mode::ALL.get(number)).ok_or(wrong(0))?;
        let size = if size == 0 { DEFAULT } else { size };
        if !(LEAST..=MOST).contains(&size) || size % 8 != 0 {
            return Err(wrong(1));
        }
        if mark > size {
            return Err(wrong(2));
        }
        Ok(Buffer { mode: *mode, size, mark: if mark == 0 { 1 } else { mark } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_a_buffer_or_the_first_wrong_one_is_named() {
        assert_eq!(Buffer::from_words(0, 0, 0), Ok(Buffer::NEW));
        let most = Buffer { mode: Mode::Lossless, size: MOST, mark: MOST };
        assert_eq!(Buffer::from_words(2, MOST, MOST), Ok(most));
        for (words, wrong) in [
            ((3, 0, 0), 0),
            ((1 << 32, 0, 0), 0),
            ((1, LEAST - 8, 0), 1),
            ((1, LEAST + 4, 0), 1),
            ((1, MOST + 8, 0), 1),
            ((1, LEAST, LEAST + 1), 2),
        ] {
            let (mode, size, mark) = words;
            assert_eq!(Buffer::from_words(mode, size, mark), Err(Failure::new(Status::Value, wrong)), "{words:?}");
        }
    }

    #[test]
    fn modes_are_in_the_order_of_their_numbers() {
        for (number, mode) in Mode::ALL.into_iter().enumerate() {
            assert_eq!(Buffer::from_words(number as u64, 0, 0).map(|buffer| buffer.mode), Ok(mode));
        }
    }
}
