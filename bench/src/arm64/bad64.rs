//! bad64, which is Binary Ninja's decoder in C.

use crate::tally::Tally;

pub(super) fn decode(words: &[u32]) -> Tally {
    let mut tally = Tally::default();
    for word in words {
        tally.add(bad64::decode(*word, 0x1000).map_or(0, |instruction| instruction.op() as u64));
    }
    tally
}
