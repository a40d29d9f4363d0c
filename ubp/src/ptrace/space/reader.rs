//! The reading of a program's code.

use super::Space;
use crate::Mapping;

/// Bytes of code that are read at once.
const PIECE: u64 = 64 << 10;

/// The program's code in one mapping, read in pieces.
#[derive(Default)]
pub(super) struct Reader {
    start: u64,
    code: Vec<u8>,
}

impl Reader {
    /// The code from an address of the mapping on, up to `most` bytes and the end of the mapping.
    pub(super) fn window(&mut self, space: &Space, mapping: &Mapping, from: u64, most: usize) -> &[u8] {
        let end = (from + most as u64).min(mapping.end.0);
        let known = self.start..self.start + self.code.len() as u64;
        if from < known.start || end > known.end {
            self.start = from;
            self.code = vec![0; (mapping.end.0 - from).min(PIECE) as usize];
            let read = space.read(from, &mut self.code);
            self.code.truncate(read);
        }
        let offset = (from - self.start) as usize;
        self.code.get(offset..self.code.len().min(offset + most)).unwrap_or_default()
    }
}
