//! Exclusive sequences: from a load-exclusive to the point where its store-exclusive is done or can no longer be reached.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use insn::Flow;
use insn::arm64::{Exclusive, LEN, decode};

/// The most bytes of a sequence (Arm ARM B2.12.5). Code farther away is not part of it.
const REACH: u64 = 252;

/// The instructions that may run in one go after a load-exclusive.
pub(super) struct Sequence {
    start: u64,
    /// Each address with the address from which it is reached first. Addresses outside the sequence are exits.
    from: BTreeMap<u64, u64>,
    inside: BTreeSet<u64>,
}

impl Sequence {
    /// The sequence of the load-exclusive at `start`; `None` if no store-exclusive follows. `read` gives the words of code.
    pub(super) fn from(start: u64, read: impl Fn(u64) -> Option<u32>) -> Option<Sequence> {
        let mut nexts: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut stores = BTreeSet::new();
        let mut waiting = vec![start];
        while let Some(at) = waiting.pop() {
            if nexts.contains_key(&at) {
                continue;
            }
            let (next, is_store) = successors(at, at == start, read(at).filter(|_| at.abs_diff(start) <= REACH));
            if is_store {
                stores.insert(at);
            } else {
                waiting.extend(&next);
            }
            nexts.insert(at, next);
        }
        // Addresses from which a store can be reached without another load.
        let mut inside = stores.clone();
        loop {
            let leads = |next: &u64| *next != start && inside.contains(next);
            let more = nexts.iter().filter(|(at, next)| !inside.contains(at) && next.iter().any(leads));
            let more: Vec<u64> = more.map(|(at, _)| *at).collect();
            if more.is_empty() {
                break;
            }
            inside.extend(more);
        }
        if !inside.contains(&start) {
            return None;
        }
        let mut from = BTreeMap::new();
        let mut waiting = VecDeque::from([start]);
        while let Some(at) = waiting.pop_front() {
            for &next in nexts.get(&at).into_iter().flatten() {
                if next != start && !from.contains_key(&next) {
                    from.insert(next, at);
                    if inside.contains(&next) && !stores.contains(&at) {
                        waiting.push_back(next);
                    }
                }
            }
        }
        // Code after a store has no store left to reach.
        let behind = |at: &u64| from.get(at).is_some_and(|before| stores.contains(before));
        inside.retain(|at| !behind(at));
        Some(Sequence { start, from, inside })
    }

    /// The addresses at which a thread leaves the sequence.
    pub(super) fn exits(&self) -> Vec<u64> {
        self.from.keys().copied().filter(|at| !self.inside.contains(at)).collect()
    }

    /// The addresses between the load and `to`, by the shortest way.
    pub(super) fn way(&self, to: u64) -> Vec<u64> {
        let mut way: Vec<u64> = std::iter::successors(self.from.get(&to).copied(), |at| self.from.get(at).copied())
            .take_while(|at| *at != self.start)
            .collect();
        way.reverse();
        way
    }
}

/// Where an instruction that runs in one go with the load may go, and whether it is a store-exclusive. Nowhere means that the recorder
/// steps the instruction instead.
fn successors(at: u64, is_start: bool, word: Option<u32>) -> (Vec<u64>, bool) {
    let Some(insn) = word.and_then(|word| decode(word).ok()) else { return (Vec::new(), false) };
    let next = at.wrapping_add(LEN as u64);
    let next = match (insn.exclusive(), insn.flow(), insn.target_address(at)) {
        (Some(Exclusive::Clear), ..) => Vec::new(),
        (Some(Exclusive::Load), ..) if !is_start => Vec::new(),
        (_, Flow::Next, _) => vec![next],
        (_, Flow::Jump, Some(target)) => vec![target],
        (_, Flow::ConditionalJump, Some(target)) => vec![next, target],
        _ => Vec::new(),
    };
    (next, insn.exclusive() == Some(Exclusive::Store))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LDXR: u32 = 0x885f_7c20;
    const STXR: u32 = 0x8802_7c20;
    const CMP: u32 = 0x6b01_001f;
    const NOP: u32 = 0xd503_201f;
    const RET: u32 = 0xd65f_03c0;
    const CLREX: u32 = 0xd503_3f5f;
    const SVC: u32 = 0xd400_0001;

    fn branch_not_equal(words: i32) -> u32 {
        0x5400_0001 | (words as u32 & 0x7_ffff) << 5
    }

    fn branch_not_zero(words: i32) -> u32 {
        0x3500_0000 | (words as u32 & 0x7_ffff) << 5 | 2
    }

    fn sequence(code: &[u32]) -> Option<Sequence> {
        Sequence::from(0x1000, |at| code.get((at.checked_sub(0x1000)? / 4) as usize).copied())
    }

    #[test]
    fn a_compare_and_swap_is_left_behind_its_store_and_where_the_values_differ() {
        let found = sequence(&[LDXR, CMP, branch_not_equal(3), STXR, branch_not_zero(-4), RET]).unwrap();
        assert_eq!(found.exits(), [0x1010, 0x1014]);
        assert_eq!(found.way(0x1010), [0x1004, 0x1008, 0x100c]);
        assert_eq!(found.way(0x1014), [0x1004, 0x1008]);
        assert_eq!(found.way(0x1008), [0x1004], "stopped by a signal");
        assert_eq!(found.way(0x1004), [0; 0]);
        assert_eq!(found.way(0x1000), [0; 0]);
    }

    #[test]
    fn a_loop_back_to_the_load_is_no_exit() {
        let found = sequence(&[LDXR, branch_not_zero(-1), STXR, RET]).unwrap();
        assert_eq!(found.exits(), [0x100c]);
        assert_eq!(found.way(0x100c), [0x1004, 0x1008]);
    }

    #[test]
    fn a_load_without_a_store_is_stepped() {
        for code in [&[LDXR, NOP, RET][..], &[LDXR, CLREX, STXR, RET], &[LDXR, SVC, STXR], &[LDXR, LDXR, STXR], &[LDXR]]
        {
            assert!(sequence(code).is_none(), "{code:x?}");
        }
    }

    #[test]
    fn what_closes_the_monitor_on_another_way_is_an_exit() {
        let found = sequence(&[LDXR, branch_not_zero(3), STXR, RET, CLREX, RET]).unwrap();
        assert_eq!(found.exits(), [0x100c, 0x1010]);
        assert_eq!(found.way(0x1010), [0x1004]);
    }
}
