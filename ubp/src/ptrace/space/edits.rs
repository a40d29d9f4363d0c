//! Many small writes to code that no thread executes or writes meanwhile.

use crate::memory::ProcessMemory;

/// Pieces farther apart than this are written apart.
const FAR: u64 = 256;
/// The longest piece that is read and written at once.
const PIECE: u64 = 64 << 10;

/// Writes `edits`, each an address and its new bytes. Returns whether all could be written.
pub(super) fn write_edits(memory: &ProcessMemory, edits: &mut [(u64, Vec<u8>)]) -> bool {
    edits.sort_unstable();
    let mut rest = &*edits;
    let mut done = true;
    while let Some((first, bytes)) = rest.first() {
        let (start, mut end) = (*first, *first + bytes.len() as u64);
        let near = rest.iter().take_while(|(at, bytes)| {
            let near = at.saturating_sub(end) < FAR && at - start < PIECE;
            end = if near { end.max(at + bytes.len() as u64) } else { end };
            near
        });
        let (group, tail) = rest.split_at(near.count().max(1));
        rest = tail;
        let mut piece = vec![0; (end - start) as usize];
        let mut whole = group.len() == 1 || memory.read(start, &mut piece) == piece.len();
        for (at, bytes) in group {
            let offset = (at - start) as usize;
            match piece.get_mut(offset..offset + bytes.len()) {
                Some(place) => place.copy_from_slice(bytes),
                None => whole = false,
            }
        }
        done &= whole && memory.write(start, &piece) == piece.len();
    }
    done
}
