//! Rows in which trampolines sum hits up ([`trampoline::x86::Action::Sum`]).

use super::Shared;
use crate::core::Buckets;
use crate::{AggregationId, Operand};

/// Words before the buckets of a row, and of a row.
const BUCKETS: usize = 4;
const WORDS: usize = BUCKETS + 65;
/// Bytes of a row.
pub(in crate::ptrace) const ROW: u64 = 8 * WORDS as u64;
/// Offsets of words in bytes.
const LOW: usize = 0;
const HIGH: usize = 8;
const LEAST: usize = 16;
const LARGEST: usize = 24;
/// How often a sum is read whose halves differ in time.
const TRIES: usize = 1000;

/// How a trampoline sums arrivals up.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Sum {
    pub(in crate::ptrace) id: AggregationId,
    pub(in crate::ptrace) value: Operand,
    /// Address of the row.
    pub(in crate::ptrace) row: u64,
}

impl Sum {
    /// Address of the buckets, and their number.
    pub(in crate::ptrace) fn buckets(&self) -> (u64, usize) {
        (self.row + 8 * BUCKETS as u64, WORDS - BUCKETS)
    }
}

/// A row in memory that the tracer shares with the debuggee.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Row<'a> {
    pub(in crate::ptrace) memory: &'a Shared,
    /// Offset of the row.
    pub(in crate::ptrace) at: usize,
}

/// Why a row is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptrace) enum Reading {
    /// The row keeps what it has.
    Look,
    Take,
    /// Nothing is left for later.
    Last,
}

/// What was read of a row before.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Taken {
    sum: u128,
    buckets: [u64; WORDS - BUCKETS],
}

impl Default for Taken {
    fn default() -> Taken {
        Taken { sum: 0, buckets: [0; WORDS - BUCKETS] }
    }
}

impl Row<'_> {
    /// Takes what the row has beyond `taken`: number, sum (low word, high word), least, largest, and the buckets. `None`: it has nothing, or threads are
    /// in the midst of their additions so that it is better read later.
    pub(in crate::ptrace) fn read(self, taken: &mut Taken, reading: Reading) -> Option<Vec<u64>> {
        let is_last = reading == Reading::Last;
        let mut now = [0; WORDS - BUCKETS];
        // A thread adds to the sum first: what the buckets have, the sum has too.
        self.memory.copy(self.at + 8 * BUCKETS, &mut now);
        let buckets: Vec<u64> = now.iter().zip(&taken.buckets).map(|(now, before)| now.wrapping_sub(*before)).collect();
        let count = buckets.iter().fold(0_u64, |sum, count| sum.wrapping_add(*count));
        if count == 0 {
            return None;
        }
        let all = self.sum()?;
        let mut sum = all.wrapping_sub(taken.sum);
        let (low, high) = (bound(&buckets, false), bound(&buckets, true));
        if !(low..=high).contains(&sum) {
            // The number of a thread lacks in the high half, or is in the sum alone.
            if !is_last {
                return None;
            }
            sum = sum.clamp(low, high);
        }
        if !self.has_ends() && !is_last {
            return None;
        }
        let (mut least, mut largest) = match self.has_ends() {
            true if reading == Reading::Look => {
                (!self.memory.load(self.at + LEAST), self.memory.load(self.at + LARGEST))
            }
            true => (!self.memory.swap(self.at + LEAST), self.memory.swap(self.at + LARGEST)),
            false => (u64::MAX, 0),
        };
        if least > largest {
            // A thread was killed before it told its number.
            let mean = u64::try_from(sum / u128::from(count)).unwrap_or(u64::MAX);
            (least, largest) = (mean, mean);
        }
        if reading != Reading::Look {
            *taken = Taken { sum: all, buckets: now };
        }
        Some([count, sum as u64, (sum >> 64) as u64, least, largest].into_iter().chain(buckets).collect())
    }

    fn sum(self) -> Option<u128> {
        let high = || self.memory.load(self.at + HIGH);
        (0..TRIES).find_map(|_| {
            let (before, low, after) = (high(), self.memory.load(self.at + LOW), high());
            (before == after).then_some(u128::from(before) << 64 | u128::from(low))
        })
    }

    /// Whether a number was told to both ends: the words have the complement of the least, and the largest.
    fn has_ends(self) -> bool {
        !self.memory.load(self.at + LEAST) <= self.memory.load(self.at + LARGEST)
    }

    /// Takes a number out of the sum. `carry`: the high half lacks the carry of its addition.
    pub(in crate::ptrace) fn undo(self, value: u64, carry: bool) {
        let before = self.memory.add(self.at + LOW, value.wrapping_neg());
        let borrow = u64::from(before < value);
        self.memory.add(self.at + HIGH, u64::from(carry).wrapping_sub(borrow));
    }

    /// Tells a number to both ends.
    pub(in crate::ptrace) fn complete(self, value: u64) {
        self.memory.raise(self.at + LARGEST, value);
        self.memory.raise(self.at + LEAST, !value);
    }
}

/// The least or the largest sum of numbers in these buckets.
fn bound(buckets: &[u64], is_upper: bool) -> u128 {
    let of = |(number, count): (usize, &u64)| {
        let values = Buckets::Log2.values(number)?;
        let end = if is_upper { *values.end() } else { *values.start() };
        Some(u128::from(*count) * u128::from(end))
    };
    buckets.iter().enumerate().filter_map(of).fold(0, u128::saturating_add)
}
