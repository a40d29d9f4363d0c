//! Many small writes to code that no thread executes or writes meanwhile.

use crate::memory::ProcessMemory;

/// Pieces farther apart than this are written apart.
const FAR: u64 = 256;
/// The longest piece that is read and written at once.
const PIECE: u64 = 64 << 10;

/// Addresses and their new bytes.
#[derive(Default)]
pub(super) struct Edits {
    /// Each address, and where in `bytes` its new bytes begin and end.
    places: Vec<(u64, usize, usize)>,
    bytes: Vec<u8>,
}

impl Edits {
    /// Adds an address.
    pub(super) fn push(&mut self, address: u64, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.places.push((address, start, self.bytes.len()));
    }

    /// Drops what was added last.
    pub(super) fn pop(&mut self) {
        if let Some((_, start, _)) = self.places.pop() {
            self.bytes.truncate(start);
        }
    }

    /// Writes all. Returns whether all could be written.
    pub(super) fn write(mut self, memory: &ProcessMemory) -> bool {
        self.places.sort_unstable();
        let mut rest = self.places.as_slice();
        let mut done = true;
        let (mut piece, length) = (Vec::new(), |place: &(u64, usize, usize)| (place.2 - place.1) as u64);
        while let Some(first) = rest.first() {
            let (start, mut end) = (first.0, first.0 + length(first));
            let near = rest.iter().take_while(|place| {
                let near = place.0.saturating_sub(end) < FAR && place.0 - start < PIECE;
                end = if near { end.max(place.0 + length(place)) } else { end };
                near
            });
            let (group, tail) = rest.split_at(near.count().max(1));
            rest = tail;
            piece.clear();
            piece.resize((end - start) as usize, 0);
            let mut whole = group.len() == 1 || memory.read(start, &mut piece) == piece.len();
            for &(at, from, to) in group {
                let offset = (at - start) as usize;
                match (piece.get_mut(offset..offset + (to - from)), self.bytes.get(from..to)) {
                    (Some(place), Some(bytes)) => place.copy_from_slice(bytes),
                    _ => whole = false,
                }
            }
            done &= whole && memory.write(start, &piece) == piece.len();
        }
        done
    }
}
