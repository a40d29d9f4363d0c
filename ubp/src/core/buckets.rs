//! Histograms of a bounded number of buckets.

use core::ops::RangeInclusive;

/// The most buckets of a linear histogram.
const MOST: u32 = 4096;

/// How a histogram divides values into buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Buckets {
    /// 65 buckets: zero, and from each power of two to the next.
    Log2,
    /// Buckets of `width` from `start` on, and one each for smaller and for larger values.
    Linear {
        /// The first value of the first bucket.
        start: u64,
        /// Values of a bucket; at least 1.
        width: u64,
        /// Number of buckets, from 1 to 4096.
        count: u32,
    },
}

impl Buckets {
    /// Whether there are such buckets: their number and width are in range, and no bucket ends above the largest number.
    pub fn is_valid(self) -> bool {
        match self {
            Buckets::Log2 => true,
            Buckets::Linear { start, width, count } => {
                let end = u64::from(count).checked_mul(width).and_then(|all| start.checked_add(all));
                width > 0 && (1..=MOST).contains(&count) && end.is_some()
            }
        }
    }

    /// The number of buckets, with those of values outside of all others.
    pub fn number(self) -> usize {
        match self {
            Buckets::Log2 => 65,
            Buckets::Linear { count, .. } => (count as usize).saturating_add(2),
        }
    }

    /// The number of the bucket that a value belongs to.
    pub fn of(self, value: u64) -> usize {
        match self {
            Buckets::Log2 => u64::BITS.saturating_sub(value.leading_zeros()) as usize,
            Buckets::Linear { start, width, count } => match value.checked_sub(start) {
                None => 0,
                Some(above) => (above.checked_div(width).unwrap_or(0).min(count.into()) as usize).saturating_add(1),
            },
        }
    }

    /// The values of a bucket by its number; `None` if no value belongs to it.
    pub fn values(self, number: usize) -> Option<RangeInclusive<u64>> {
        let number = number as u64;
        match self {
            Buckets::Log2 if number == 0 => Some(0..=0),
            Buckets::Log2 => {
                let first = 1_u64.checked_shl(number.saturating_sub(1) as u32)?;
                Some(first..=first.wrapping_sub(1).wrapping_add(first))
            }
            Buckets::Linear { start, .. } if number == 0 => Some(0..=start.checked_sub(1)?),
            Buckets::Linear { start, width, count } => {
                let first = start.checked_add(number.checked_sub(1)?.checked_mul(width)?)?;
                let last =
                    if number > u64::from(count) { u64::MAX } else { first.checked_add(width.checked_sub(1)?)? };
                Some(first..=last)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINEAR: Buckets = Buckets::Linear { start: 10, width: 5, count: 3 };

    #[test]
    fn every_value_lies_in_the_bucket_that_it_belongs_to() {
        let edges = (0..64).flat_map(|log| [(1_u64 << log) - 1, 1 << log, (1 << log) + 1]).chain([u64::MAX]);
        for value in edges.chain(0..40) {
            for buckets in [Buckets::Log2, LINEAR, Buckets::Linear { start: 0, width: 1, count: 1 }] {
                let number = buckets.of(value);
                assert!(number < buckets.number(), "{value} {buckets:?}");
                assert!(buckets.values(number).is_some_and(|values| values.contains(&value)), "{value} {buckets:?}");
            }
        }
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for buckets in [Buckets::Log2, LINEAR] {
            let ranges: Vec<_> = (0..buckets.number()).filter_map(|number| buckets.values(number)).collect();
            assert_eq!((*ranges[0].start(), *ranges.last().unwrap().end()), (0, u64::MAX));
            assert!(ranges.windows(2).all(|pair| pair[0].end() + 1 == *pair[1].start()), "{ranges:?}");
        }
    }

    #[test]
    fn buckets_without_width_or_number_or_above_all_numbers_are_none() {
        let linear = |start, width, count| Buckets::Linear { start, width, count }.is_valid();
        assert!(linear(10, 5, 3) && linear(0, 1, 4096) && Buckets::Log2.is_valid());
        assert!(!linear(0, 0, 3) && !linear(0, 1, 0) && !linear(0, 1, 4097) && !linear(u64::MAX, 1, 1));
    }
}
