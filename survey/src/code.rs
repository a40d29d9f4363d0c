//! The code of a file.

use std::borrow::Cow;
use std::ops::Range;

use ubp_symbols::Image;
use ubp_symbols::code::Mode;

/// The source of the ranges of code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ranges {
    /// Functions, by unwind information and symbols.
    #[default]
    Functions,
    /// Whole code sections: the file describes no function.
    Sections,
}

/// The code of an image.
#[derive(Debug)]
pub struct Code<'a> {
    image: &'a Image,
    mode: Mode,
    ranges: Ranges,
    pieces: Vec<(u64, &'a [u8])>,
}

impl<'a> Code<'a> {
    /// The code of an image, which is decoded in this mode.
    pub fn of(image: &'a Image, mode: Mode) -> Code<'a> {
        let (source, ranges): (_, Cow<'_, [Range<u64>]>) = match image.code() {
            [] => (Ranges::Sections, image.text_sections().into()),
            functions => (Ranges::Functions, functions.into()),
        };
        let pieces = ranges.iter().filter_map(|range| Some((range.start, bytes(image, range)?))).collect();
        Code { image, mode, ranges: source, pieces }
    }

    /// The source of the ranges.
    pub fn ranges(&self) -> Ranges {
        self.ranges
    }

    /// How the code is decoded.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The pieces of code with their addresses, in the order of the file's description.
    pub fn pieces(&self) -> &[(u64, &'a [u8])] {
        &self.pieces
    }

    /// Whether the file has no code.
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(|(_, bytes)| bytes.is_empty())
    }

    /// Bytes of all pieces.
    pub fn size(&self) -> u64 {
        self.pieces.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// For each piece, by address: all bytes from its beginning to the end of the memory that the file fills there.
    pub(crate) fn rests(&self) -> Vec<(u64, &'a [u8])> {
        let rest = |start, bytes| self.image.bytes_at(start).unwrap_or(bytes);
        let mut rests: Vec<_> = self.pieces.iter().map(|(start, bytes)| (*start, rest(*start, *bytes))).collect();
        rests.sort_unstable_by_key(|(start, _)| *start);
        rests
    }
}

fn bytes<'a>(image: &'a Image, range: &Range<u64>) -> Option<&'a [u8]> {
    let rest = image.bytes_at(range.start)?;
    let size = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    rest.get(..size.min(rest.len()))
}
