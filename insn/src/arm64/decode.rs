//! From a word to its way: a table indexed by the top bits, then a program of bytes that tests one bit after the other.

use super::codes::step;
use super::generated::hot::{FIRSTS, HOT, OTHERS, PROGRAM, STARTS};
use super::way::Way;
use super::{Error, ErrorKind, Insn};

#[inline(always)]
fn class(word: u32) -> usize {
    HOT.first[(word >> 21) as usize].into()
}

#[inline(always)]
pub(super) fn decode(word: u32) -> Result<Insn, Error> {
    let class = class(word);
    let mut way = HOT.way[class];
    if word & HOT.masks[class] != HOT.values[class] {
        let Some(other) = rare(word) else { return Err(Error { kind: ErrorKind::Undefined, word }) };
        way = other;
    }
    Ok(Insn { word, way })
}

/// The way of a word that the table does not tell.
#[cold]
#[inline(never)]
fn rare(word: u32) -> Option<Way> {
    let class = class(word);
    let (first, end) = (usize::from(FIRSTS[class]), usize::from(FIRSTS[class + 1]));
    let others = OTHERS.get(first..end).unwrap_or_default();
    let way = match others.iter().find(|other| word & other.mask == other.value) {
        Some(other) => other.way,
        None => Way::of(run(word, STARTS[class].into())),
    };
    if way == Way::Undefined { None } else { Some(way) }
}

/// Runs the program from a byte on and returns the number of a way.
fn run(word: u32, mut at: usize) -> u8 {
    // The end of the program means that the word is not an instruction.
    let byte = |at: usize| PROGRAM.get(at).copied().unwrap_or(step::DONE << step::POSITION);
    loop {
        let asked = byte(at);
        let (first, second) = (|| byte(at.wrapping_add(1)), || byte(at.wrapping_add(2)));
        let set = word.wrapping_shr((asked & 31).into()) & 1 == 1;
        at = match asked >> step::POSITION {
            step::CLEAR if !set => at.wrapping_add(1),
            step::SET if set => at.wrapping_add(1),
            step::CLEAR | step::SET => return 0,
            step::IF_SET if set => u16::from_le_bytes([first(), second()]).into(),
            step::IF_CLEAR if !set => u16::from_le_bytes([first(), second()]).into(),
            step::IF_SET | step::IF_CLEAR => at.wrapping_add(3),
            step::SKIP_IF_SET if set => at.wrapping_add(2).wrapping_add(first().into()),
            step::SKIP_IF_SET => at.wrapping_add(2),
            step::GO => u16::from_be_bytes([asked & 31, first()]).into(),
            _ => return asked & 15,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The way that the program alone tells.
    fn asked(word: u32) -> Way {
        Way::of(run(word, STARTS[class(word)].into()))
    }

    #[test]
    fn the_program_says_of_words_what_the_sets_before_it_say() {
        let mut compared = 0;
        for word in (0..=u32::MAX).step_by(1009) {
            let class = class(word);
            let others = &OTHERS[FIRSTS[class].into()..FIRSTS[class + 1].into()];
            let known = match others.iter().find(|other| word & other.mask == other.value) {
                _ if word & HOT.masks[class] == HOT.values[class] => HOT.way[class],
                Some(other) => other.way,
                None => continue,
            };
            assert!(asked(word) == known, "{word:#010x}");
            compared += 1;
        }
        assert!(compared > 1_000_000, "{compared}");
    }
}
