//! What arm64's exclusive sequences execute once more where a store-exclusive fails, as it does where an interrupt falls between it
//! and its load.

use std::ops::RangeInclusive;

use insn::arm64::{LEN, decode};
use insn::{Flow, Target};

/// The addresses from where the branch at `address` goes back to, up to it; `None` where its word is no such branch.
fn way_back(address: u64, word: u32) -> Option<RangeInclusive<u64>> {
    let insn = decode(word).ok()?;
    match (insn.flow(), insn.target()) {
        (Flow::ConditionalJump, Target::Relative(distance)) if distance < 0 => {
            Some(address.wrapping_add_signed(distance)..=address)
        }
        _ => None,
    }
}

/// The addresses that the branches behind `refused` addresses, of a store-exclusive's sequence, make the program execute again.
pub fn retried(refused: &[u64], word: impl Fn(u64) -> Option<u32>) -> Vec<u64> {
    let behind = refused.iter().map(|address| address + LEN as u64).filter(|address| !refused.contains(address));
    let ways = behind.filter_map(|address| way_back(address, word(address)?));
    ways.flat_map(|way| way.step_by(LEN)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_behind_a_store_and_what_it_goes_back_to_are_executed_again() {
        // ldaxr w0, [x2]; cmp w0, w16; b.ne .+12; stxr w17, w1, [x2]; cbnz w17, .-16; ret
        let words = [0x885f_fc40, 0x6b10_001f, 0x5400_0061, 0x8811_7c41, 0x35ff_ff91, 0xd65f_03c0];
        let word = |address: u64| words.get(usize::try_from(address - 0x1000).ok()? / LEN).copied();
        assert_eq!(retried(&[0x1004, 0x1008, 0x100c], word), [0x1000, 0x1004, 0x1008, 0x100c, 0x1010]);
        assert_eq!(retried(&[0x1000], |_| Some(0xd65f_03c0)), [0; 0]);
        assert_eq!(retried(&[0x1000], |_| None), [0; 0]);
    }
}
