//! disarm64.

use disarm64::{InsnOpcode, decoder};

use crate::tally::Tally;

pub(super) fn decode(words: &[u32]) -> Tally {
    let mut tally = Tally::default();
    for word in words {
        tally.add(decoder::decode(*word).map_or(0, |instruction| instruction.definition().mnemonic.len() as u64));
    }
    tally
}
