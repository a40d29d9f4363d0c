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

/// The state of a row at the last reading.
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
    /// Whether the row has hits beyond `taken`.
    pub(in crate::ptrace) fn has_more(self, taken: Option<&Taken>) -> bool {
        self.buckets() != taken.map_or([0; WORDS - BUCKETS], |taken| taken.buckets)
    }

    fn buckets(self) -> [u64; WORDS - BUCKETS] {
        let mut buckets = [0; WORDS - BUCKETS];
        self.memory.copy(self.at + 8 * BUCKETS, &mut buckets);
        buckets
    }

    /// Takes what the row has beyond `taken`, while no thread adds to it: number, sum (low word, high word), least, largest, and the buckets. `None`:
    /// nothing. What a thread has left that was killed in the midst of its addition, or that writes over the row, gives values that fit the buckets.
    pub(in crate::ptrace) fn take(self, taken: &mut Taken) -> Option<Vec<u64>> {
        let now = self.buckets();
        let buckets: Vec<u64> = now.iter().zip(&taken.buckets).map(|(now, before)| now.wrapping_sub(*before)).collect();
        let count = buckets.iter().fold(0_u64, |sum, count| sum.wrapping_add(*count));
        if count == 0 {
            return None;
        }
        let all = u128::from(self.memory.load(self.at + HIGH)) << 64 | u128::from(self.memory.load(self.at + LOW));
        let sum = all.wrapping_sub(taken.sum).clamp(bound(&buckets, false), bound(&buckets, true));
        *taken = Taken { sum: all, buckets: now };
        let (mut least, mut largest) = (!self.memory.swap(self.at + LEAST), self.memory.swap(self.at + LARGEST));
        if least > largest {
            let mean = u64::try_from(sum / u128::from(count)).unwrap_or(u64::MAX);
            (least, largest) = (mean, mean);
        }
        Some([count, sum as u64, (sum >> 64) as u64, least, largest].into_iter().chain(buckets).collect())
    }

    /// Adds the carry of the low half of the sum.
    pub(in crate::ptrace) fn carry(self) {
        self.memory.add(self.at + HIGH, 1);
    }

    /// Counts a number in its bucket.
    pub(in crate::ptrace) fn count(self, value: u64) {
        self.memory.add(self.at + 8 * (BUCKETS + Buckets::Log2.of(value)), 1);
    }

    /// Tells a number to both ends.
    pub(in crate::ptrace) fn tell(self, value: u64) {
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
